package flux

import (
	"cmp"
	"context"
	"path"
	"strconv"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/plugins/flux/broker"
	"github.com/weft-hpc/weft/plugins/flux/install"
)

// place is the broker that Weft asks.
type place struct {
	level  string // of its instance; 0: the system's
	socket string // its local-uri
	initrc string // of the job shell
	jobs   bool   // its node is one that runs jobs
}

// where asks the broker about itself.
func (p *Plugin) where(ctx context.Context) (at place, err error) {
	var rank string
	for name, to := range map[string]*string{
		"instance-level": &at.level, "local-uri": &at.socket, "conf.shell_initrc": &at.initrc, "rank": &rank,
	} {
		if *to, err = p.attribute(ctx, name); err != nil && !isFault(err, syscall.ENOENT) {
			return at, err
		}
	}
	at.initrc = cmp.Or(at.initrc, install.Initrc)
	s, names, err := p.status(ctx)
	if err != nil {
		return at, err
	}
	here, err := strconv.Atoi(rank)
	if err != nil || names[here] == "" {
		return at, err
	}
	if s.Exclude == "" {
		at.jobs = true
		return at, nil
	}
	out, err := parseIDs(s.Exclude)
	at.jobs = !within(out, here)
	return at, err
}

// attribute of the broker.
func (p *Plugin) attribute(ctx context.Context, name string) (string, error) {
	var answer struct {
		Value string `json:"value"`
	}
	err := p.link.call(ctx, "attr.get", broker.AnyNode, object{"name": name}, &answer)
	return answer.Value, err
}

// loaded are the file names of the job manager's plugins: those that run, whatever its configuration names
// (jobtap_handler of modules/job-manager/jobtap.c, 0.88.0).
func (p *Plugin) loaded(ctx context.Context) (map[string]bool, error) {
	var answer struct {
		Plugins []string `json:"plugins"`
	}
	if err := p.link.call(ctx, "job-manager.jobtap", 0, object{"query_only": true}, &answer); err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, name := range answer.Plugins {
		all[path.Base(name)] = true
	}
	return all, nil
}

// installed judges the files of `weft init flux` on the broker's node.
func (p *Plugin) installed(c fluxConfig, at place) []core.Finding {
	var all []core.Finding
	here := install.Place{
		Initrc: at.initrc, URI: p.settings.uri, Labels: []string{p.name, "flux"},
		Housekeeping: c.JobManager.Housekeeping != nil,
	}
	for _, h := range c.hooks() {
		switch {
		case h.is == nil:
		case len(h.is.Command) == 0 || path.Base(h.is.Command[0]) == "flux-imp":
			here.Phases = append(here.Phases, h.name)
		case path.IsAbs(h.is.Command[0]) && !file.Runs(h.is.Command[0]):
			all = append(all, core.Finding{
				Severity: core.Critical, What: "Flux's " + h.name + " fails on this node, and Flux drains it",
				Evidence: "job-manager." + h.name + ".command: " + h.is.Command[0] + " is no program here",
				Remedy:   "bring it to this node",
			})
		}
	}
	return append(all, install.Look(here)...)
}
