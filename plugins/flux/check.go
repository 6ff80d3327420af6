package flux

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// fluxConfig is what of Flux's configuration concerns Weft. config.get shows it to every user.
type fluxConfig struct {
	Slingshot  map[string]any `json:"cray-slingshot"`
	JobManager struct {
		Plugins []struct {
			Load string `json:"load"`
		} `json:"plugins"`
		Prolog *perilog `json:"prolog"`
		Epilog *perilog `json:"epilog"`
		// Without the table Flux runs no housekeeping (0.88).
		Housekeeping *struct{} `json:"housekeeping"`
	} `json:"job-manager"`
	Exec struct {
		IMP string `json:"imp"`
	} `json:"exec"`
}

type perilog struct {
	Command []string `json:"command"`
	PerRank bool     `json:"per-rank"`
	Timeout any      `json:"timeout"` // FSD, "30m", or seconds
}

// prologTimeout is Flux's own limit of a prolog where its configuration has none.
const prologTimeout = 30 * time.Minute

// usualWait is how long the prolog's scriptlet tries again, as `weft init flux` writes it when it is told nothing else.
const usualWait = 10 * time.Minute

// Check looks at the rights that Weft has with the broker, at what the job manager has loaded, and at the files that
// Flux and the job shell find on the broker's node.
func (p *Plugin) Check(ctx context.Context) ([]core.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	var all []core.Finding
	add := func(s core.Severity, what, evidence, remedy string) {
		all = append(all, core.Finding{Severity: s, What: what, Evidence: evidence, Remedy: remedy})
	}
	if _, err := p.attribute(ctx, "rank"); err != nil {
		e := core.AsError(p.away("broker", err))
		add(core.Critical, "no Flux broker answers", e.What, e.Remedy)
		return all, nil
	}
	// Owners alone may ask for what is loaded.
	loaded, err := p.loaded(ctx)
	if e := core.AsError(p.away("job manager", err)); isFault(err, syscall.EPERM) {
		add(core.Critical, "the broker takes Weft for a guest: it tells no jobs, ends none and drains no node", e.What, e.Remedy)
	} else if e != nil {
		add(core.Critical, "the instance's job manager does not answer: no job starts", e.What, e.Remedy)
		return all, nil
	}
	at, err := p.where(ctx)
	if err != nil {
		return all, unless(len(all) > 0, p.away("broker's attributes", err))
	}
	if at.level != "0" {
		add(core.Critical, "the broker is one of a sub-instance, whose jobs are no jobs of the system", "instance-level = "+at.level, "set `"+fieldURI+"` to the system instance's socket, "+broker.SystemURI)
	}
	if at.socket != p.settings.uri {
		add(core.Critical, "the broker spells its socket in another way: a job's shell takes it for an instance that Weft does not serve, "+
			"so the job has no network", "local-uri = "+at.socket+", and `"+fieldURI+"` is "+p.settings.uri,
			"set `"+fieldURI+"` to the broker's local-uri, and run `weft init flux --write --uri "+at.socket+"` on every node")
	}
	var c fluxConfig
	var raw json.RawMessage
	if err := p.link.call(ctx, "config.get", broker.AnyNode, nil, &raw); err != nil {
		return all, unless(len(all) > 0, p.away("Flux's configuration", err))
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		add(core.Warning, "Flux's configuration is not understood, so nothing is said of it", "its job-manager, exec or cray-slingshot is not of flux-core 0.88's form", "compare it with docs/flux.md")
		return all, nil
	}
	all = append(all, p.configured(c, loaded)...)
	if at.jobs {
		all = append(all, p.installed(c, at)...)
	}
	if len(all) == 0 {
		add(core.Good, "the broker answers its owner, and its hooks are set", "job-manager.prolog and epilog", "")
	}
	return all, nil
}

// unless is err, but where there is something to tell already: an error would hide it.
func unless(told bool, err error) error {
	if told {
		return nil
	}
	return err
}

// hook is one of those in which Weft takes part.
type hook struct {
	name string
	is   *perilog
	miss string // what follows where Flux does not run it
	how  core.Severity
}

func (c *fluxConfig) hooks() []hook {
	return []hook{
		{PhaseProlog, c.JobManager.Prolog, "no job gets a VNI, and each fails", core.Critical},
		{PhaseEpilog, c.JobManager.Epilog, "services stay until the server learns of the job's end", core.Warning},
	}
}

// configured judges Flux's configuration, and the plugins that the job manager has loaded; nil: it does not say.
func (p *Plugin) configured(c fluxConfig, loaded map[string]bool) []core.Finding {
	var all []core.Finding
	add := func(s core.Severity, what, evidence, remedy string) {
		all = append(all, core.Finding{Severity: s, What: what, Evidence: evidence, Remedy: remedy})
	}
	const remedy = "`weft init flux` prints the lines; then `flux config reload`"
	named := map[string]bool{}
	for _, l := range c.JobManager.Plugins {
		named[path.Base(l.Load)] = true
	}
	if loaded == nil {
		loaded = named
	}
	if loaded["cray-slingshot.so"] || named["cray-slingshot.so"] || c.Slingshot["cxi-enable"] == true {
		add(core.Critical, "flux-coral2 gives out VNIs by itself, beside Weft: two jobs can get one VNI", "cray-slingshot.so is loaded, or cray-slingshot.cxi-enable is true",
			"take both out of Flux's configuration, and `flux jobtap remove cray-slingshot.so`")
	}
	switch {
	case !loaded["perilog.so"] && named["perilog.so"]:
		add(core.Critical, "Flux runs no prolog: no job gets a VNI, and each fails", "perilog.so is in job-manager.plugins, and is not loaded", "`flux jobtap load perilog.so`, as the instance's owner")
	case !loaded["perilog.so"]:
		add(core.Critical, "Flux runs no prolog: no job gets a VNI, and each fails", "perilog.so is not loaded, and job-manager.plugins does not name it", remedy+"; `flux jobtap load perilog.so`")
	case !named["perilog.so"]:
		add(core.Warning, "Flux runs no prolog after its next start: no job will get a VNI, and each will fail", "perilog.so is loaded, and job-manager.plugins does not name it", remedy)
	}
	for _, h := range c.hooks() {
		if h.is == nil || len(h.is.Command) == 0 && c.Exec.IMP == "" {
			add(h.how, "Flux runs no "+h.name+": "+h.miss, "job-manager."+h.name+" has no command, and exec.imp is not set", remedy)
		} else if !h.is.PerRank {
			add(core.Critical, "Flux runs its "+h.name+" on rank 0 alone", "job-manager."+h.name+".per-rank is not true", remedy)
		}
	}
	if c.JobManager.Prolog != nil {
		limit, ok := c.JobManager.Prolog.limit()
		switch {
		case ok && p.settings.prolog >= limit:
			add(core.Critical, fmt.Sprintf("Flux ends a prolog after %s, and Weft's may wait %s: the node would be drained when the server is away", limit, p.settings.prolog),
				"job-manager.prolog.timeout", "lower `"+fieldProlog+"` in config.hcl, or raise the timeout")
		case ok && p.settings.prolog+usualWait >= limit:
			add(core.Warning, fmt.Sprintf("Flux ends a prolog after %s; Weft's may wait %s in tries, unless its scriptlet says less, and %s in the last: the node would be drained when the server is away",
				limit, usualWait, p.settings.prolog), "job-manager.prolog.timeout", "raise the timeout above both, as `weft init flux --prolog-timeout "+p.settings.prolog.String()+"` prints it, or give that a shorter --wait")
		}
	}
	return all
}

// limit is how long Flux lets a prolog run; false for no limit, or one that is not understood.
func (p *perilog) limit() (time.Duration, bool) {
	switch v := p.Timeout.(type) {
	case nil:
		return prologTimeout, true
	case float64:
		return time.Duration(v * float64(time.Second)), v > 0
	case string:
		return parseFSD(v)
	}
	return 0, false
}

// parseFSD reads a Flux Standard Duration (RFC 23): a number with ms, s, m, h or d, or seconds. 0, inf and infinity are no limit.
func parseFSD(text string) (time.Duration, bool) {
	text = strings.ToLower(text)
	for _, u := range []struct {
		suffix string
		is     time.Duration
	}{{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}, {"", time.Second}} {
		if digits, ok := strings.CutSuffix(text, u.suffix); ok {
			n, err := strconv.ParseFloat(digits, 64)
			d := n * float64(u.is)
			return time.Duration(d), err == nil && n > 0 && d < float64(1<<62)
		}
	}
	return 0, false
}
