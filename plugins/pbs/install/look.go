package install

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/plan"
)

// most bounds a file of PBS's, in bytes.
const most = 1 << 20

// Mom is the execution daemon of a host, by its files.
type Mom struct {
	Home   string   // PBS_HOME
	Labels []string // by which the hook may name the scheduler
}

// Home is PBS_HOME of a host, as conf, the path of its pbs.conf, has it; empty: no MOM runs there (pbs_loadconf of
// Libutil, OpenPBS 23.06.06).
func Home(conf string) string {
	text, err := file.Read(conf, most)
	if err != nil {
		return ""
	}
	says := pairs(string(text))
	if says["PBS_START_MOM"] != "1" {
		return ""
	}
	return cmp.Or(says["PBS_HOME"], "/var/spool/pbs")
}

// pairs reads lines KEY=VALUE.
func pairs(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			all[key] = strings.Trim(value, `"'`)
		}
	}
	return all
}

// Look finds what keeps MOM's copy of the hook from Weft. pbs_server sends her each hook as three files. .PY has the
// script, .CF its configuration. .HK has all attributes but defaults (hook_save of Libutil/hook.c, 23.06.06).
func (m Mom) Look() []core.Finding {
	at := filepath.Join(m.Home, "mom_priv", "hooks", NodeHook)
	one := func(s core.Severity, what, evidence, remedy string) []core.Finding {
		return []core.Finding{{Severity: s, What: what, Evidence: evidence, Remedy: remedy}}
	}
	const (
		none  = "MOM on this node does not run Weft's hook: jobs run here without a network"
		fails = "MOM's hook does not reach Weft on this node: each job is refused"
		send  = "run `weft init pbs` on pbs_server's host, and its lines through qmgr: pbs_server sends hooks to each MOM"
	)
	hook, err := file.Read(at+".HK", most)
	if err != nil {
		return one(core.Critical, none, at+".HK: "+file.Bare(err).Error(), send)
	}
	says := pairs(string(hook))
	if says["enabled"] == "false" {
		return one(core.Critical, none, at+".HK: enabled=false",
			"qmgr -c 'set hook "+NodeHook+" enabled = true' on pbs_server's host")
	}
	for e := range strings.SplitSeq(NodeEvents, ",") {
		if !slices.Contains(strings.Split(says["event"], ","), e) {
			return one(core.Critical, "MOM on this node does not run Weft's hook in "+e, at+".HK: event="+says["event"], send)
		}
	}
	var c Config
	text, err := file.Read(at+".CF", most)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return one(core.Critical, fails, at+".CF: "+file.Bare(err).Error(), send)
	}
	if !file.Runs(c.Hook) {
		return one(core.Critical, fails, at+".CF: "+c.Hook+" is no program on this node", "install weft-hook at that path")
	}
	if !slices.Contains(m.Labels, c.Scheduler) {
		return one(core.Critical, fails, at+".CF: it names scheduler "+core.Clip(c.Scheduler)+", and config.hcl "+m.Labels[0],
			"run `weft init pbs --scheduler "+m.Labels[0]+"` on pbs_server's host")
	}
	if script, err := file.Read(at+".PY", most); err != nil || !bytes.Equal(script, plan.Sealed("#", Script)) {
		return one(core.Warning, "MOM's hook on this node is of another release of Weft, or edited by hand",
			at+".PY: its text is not that of this release", send)
	}
	return nil
}
