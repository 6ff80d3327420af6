package settings

import (
	"context"
	"os"
	"slices"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/hook/rundir"
)

// Examined is what a node's doctor must know of the site that of gives.
func Examined(of func() *Site, checks map[string]core.Checker) agent.Site {
	return agent.Site{
		Checks:  checks,
		Ours:    func(v core.VNI) bool { return of().has(v) },
		Service: func(node string, vnis []core.VNI) string { return of().Engine.Served(node, vnis) },
		Observed: func() string {
			for _, p := range of().Config.Schedulers {
				if p.Observe {
					return p.Name
				}
			}
			return ""
		},
		Classes: func() core.Classes { return of().Policy.Classes() },
		NICs: func() int {
			if d := of().Config.Dragonfly; d != nil {
				return d.NICsPerNode
			}
			return 0
		},
	}
}

// has reports whether a VNI is of one of the pools, or of a service's block.
func (s *Site) has(v core.VNI) bool {
	return !v.IsDefault() && slices.ContainsFunc(s.Pools, func(p allocator.Pool) bool { return p.Contains(v) })
}

// Files looks for files that a daemon believes and should not.
type Files struct {
	Site func() *Site
	Of   config.Daemon
}

// Check is for `weft doctor`. The daemon runs, so a fault is a warning; it would not start again.
func (f Files) Check(context.Context) ([]core.Finding, error) {
	site, out := f.Site(), []core.Finding(nil)
	warn := func(what, remedy string) {
		out = append(out, core.Finding{Severity: core.Warning, What: what, Remedy: remedy})
	}
	for _, bad := range site.Distrusted(f.Of) {
		warn(bad.File+": "+bad.Summary, bad.Detail)
	}
	for _, k := range site.kept(f.Of) {
		if d := file.Trust(k.path); d != nil {
			warn(d.Path+": "+k.what+" depends on it: "+d.Why, d.Remedy)
		}
	}
	for _, p := range slices.Concat(site.Config.Schedulers, site.Config.Drivers) {
		if len(p.Command) == 0 || os.Geteuid() != 0 {
			continue
		}
		if d := file.Trust(p.Command[0]); d != nil {
			warn("plugin "+p.Name+": "+d.Error(), d.Remedy)
		}
	}
	if f.Of == config.OfServer {
		if what, remedy := witnessed(site.Config.Server); what != "" {
			warn(what, remedy)
		}
	}
	if f.Of == config.OfAgent {
		for _, err := range rundir.Dir(site.Config.Agent.Dir).Exposed() {
			warn(err.Error(), core.AsError(err).Remedy)
		}
	}
	if out == nil {
		good := "no other user can change the files that the daemon believes, or read its keys"
		out = append(out, core.Finding{Severity: core.Good, What: good})
	}
	return out, nil
}
