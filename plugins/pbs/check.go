package pbs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs/install"
)

// Qmgr asks qmgr, as root on pbs_server's host may.
func (p *Plugin) Qmgr(ctx context.Context, directive string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "qmgr", "-c", directive)
	return text, command.Away(err)
}

// hookLimit is within how many seconds the hook file answers PBS, whatever weft-hook does.
const hookLimit = 10

// conf is where PBS's programs look for their configuration, without PBS_CONF_FILE.
const conf = "/etc/pbs.conf"

// Check looks for what in PBS's own configuration stands in Weft's way, and at MOM's copy of the hook where one runs.
func (p *Plugin) Check(ctx context.Context) ([]core.Finding, error) {
	if _, err := p.jobs(ctx); err != nil {
		e := core.AsError(err)
		return []core.Finding{{Severity: core.Critical, What: "pbs_server does not answer", Evidence: e.What, Remedy: e.Remedy}}, nil
	}
	home := install.Home(conf)
	var all []core.Finding
	if home != "" {
		all = install.Mom{Home: home, Labels: []string{p.name, "pbs"}}.Look()
	}
	site, err := install.Ask(ctx, p.Qmgr)
	switch e := core.AsError(err); {
	case err == nil:
		all = append(all, findings(site)...)
		if slices.ContainsFunc(all, func(f core.Finding) bool { return f.Severity != core.Good }) {
			all = slices.DeleteFunc(all, func(f core.Finding) bool { return f.Severity == core.Good })
		}
	case home == "":
		all = []core.Finding{{
			Severity: core.Notice, What: "pbs_server answers, and its hooks cannot be seen from here", Evidence: e.What, Remedy: "run `weft init pbs` as root on pbs_server's host",
		}}
	case len(all) == 0:
		all = []core.Finding{{
			Severity: core.Good, What: "pbs_server answers, and MOM on this node has Weft's hook", Evidence: home + "/mom_priv/hooks",
		}}
	}
	return all, nil
}

func findings(s *install.Site) []core.Finding {
	var all []core.Finding
	add := func(sev core.Severity, what, evidence, remedy string) {
		all = append(all, core.Finding{Severity: sev, What: what, Evidence: evidence, Remedy: remedy})
	}
	const remedy = "run `weft init pbs`, and its lines through qmgr"
	h := s.Hooks[install.NodeHook]
	switch {
	case h == nil:
		add(core.Critical, "PBS has no hook "+install.NodeHook+": no job gets a VNI", "list hook", remedy)
	case h["enabled"] == "false":
		add(core.Critical, "PBS's hook "+install.NodeHook+" is switched off: no job gets a VNI", "enabled = false", "qmgr -c 'set hook "+install.NodeHook+" enabled = true'")
	default:
		for e := range strings.SplitSeq(install.NodeEvents, ",") {
			if !strings.Contains(h["event"], e) {
				add(core.Critical, "PBS does not run Weft's hook in "+e, "event = "+h["event"], remedy)
			}
		}
		// Killed by its alarm the hook answers nothing, and fail_action takes the node out.
		if alarm, err := strconv.Atoi(h["alarm"]); err == nil && alarm <= hookLimit {
			add(core.Warning, fmt.Sprintf("PBS kills Weft's hook after %d s, which may take %d s to answer: the node is set offline for a server that is slow", alarm, hookLimit),
				"alarm = "+h["alarm"], "qmgr -c 'set hook "+install.NodeHook+" alarm = 30'")
		}
		if h["fail_action"] != "offline_vnodes" {
			add(core.Warning, "a node whose hook cannot even start draws job after job and lets PBS hold each", "fail_action = "+h["fail_action"],
				"qmgr -c 'set hook "+install.NodeHook+" fail_action = offline_vnodes'")
		}
	}
	h = s.Hooks[install.ServerHook]
	switch {
	case h == nil || h["enabled"] == "false" || !strings.Contains(h["event"], install.RoomEvent):
		add(core.Warning, "PBS does not ask Weft whether a VNI is free before it starts a job: where none is, the job is tried 21 times and held", "hook "+install.ServerHook, remedy)
	case !strings.Contains(h["event"], install.TextEvent):
		add(core.Notice, "qsub takes options of Weft's with bad values, and the job ends when it starts", "event = "+h["event"], remedy)
	}
	for _, name := range s.Foreign() {
		add(core.Warning, "PBS's hook "+name+" is of another release of Weft, or edited by hand: the doctor cannot tell whether jobs run",
			"export hook "+name, remedy)
	}
	if spins := s.Spins(); spins != "" && h != nil && strings.Contains(h["event"], install.RoomEvent) {
		add(core.Warning, install.Spin, spins, install.NoSpin)
	}
	if len(all) == 0 {
		add(core.Good, "pbs_server answers, and its hooks are set", "list hook", "")
	}
	return all
}
