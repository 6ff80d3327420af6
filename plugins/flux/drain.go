package flux

import (
	"context"
	"slices"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// fluxsOwn begin the reasons that Flux gives by itself, and that say less than ours.
var fluxsOwn = []string{"prolog failed", "epilog failed", "housekeeping failed", core.DrainPrefix}

// Drain takes a node out of service. A reason that another gave for it stays.
func (p *Plugin) Drain(ctx context.Context, node, reason string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	drain := object{"targets": node, "reason": core.DrainPrefix + core.OneLine(reason, "its NICs are at fault")}
	// Only rank 0 knows of drained nodes; from another's socket AnyNode finds no such service.
	err := p.link.call(ctx, "resource.drain", 0, drain, nil)
	if isFault(err, syscall.EEXIST) {
		was, known, asked := p.drained(ctx, node)
		if asked != nil {
			return p.away("node "+node, asked)
		}
		err = nil
		if known && replaceable(was) {
			drain["mode"] = "overwrite" // without it a node that is drained already is EEXIST
			err = p.link.call(ctx, "resource.drain", 0, drain, nil)
		}
	}
	if isFault(err, syscall.EINVAL) {
		return core.Errorf(core.NotSupported, "node %s: instance %s has no node of that name", node, p.name)
	}
	return p.away("node "+node+": drain", err)
}

// Resume takes a node back into service that Drain took out of it, and no other.
func (p *Plugin) Resume(ctx context.Context, node string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	was, known, err := p.drained(ctx, node)
	if err != nil {
		return p.away("node "+node, err)
	}
	if !known || !strings.HasPrefix(was, core.DrainPrefix) {
		return nil
	}
	return p.away("node "+node+": undrain", p.link.call(ctx, "resource.undrain", 0, object{"targets": node}, nil))
}

func replaceable(reason string) bool {
	own := func(prefix string) bool { return strings.HasPrefix(reason, prefix) }
	return reason == "" || slices.ContainsFunc(fluxsOwn, own)
}

// drained is the reason for which a node is drained.
func (p *Plugin) drained(ctx context.Context, node string) (reason string, known bool, err error) {
	var s struct {
		R     resources `json:"R"`
		Drain map[string]struct {
			Reason string `json:"reason"`
		} `json:"drain"`
	}
	if err := p.link.call(ctx, "resource.status", 0, struct{}{}, &s); err != nil {
		return "", false, err
	}
	list, err := hostlist.Parse(s.R.hosts())
	if err != nil {
		return "", false, err
	}
	names, err := list.ExpandMax(maxIDs) // the instance's R has every rank
	if err != nil {
		return "", false, err
	}
	for ranks, d := range s.Drain {
		spans, err := parseIDs(ranks)
		if err != nil {
			return "", false, err
		}
		for _, s := range spans {
			if slices.Contains(names[min(s.low, len(names)):min(s.high+1, len(names))], node) {
				return d.Reason, true, nil
			}
		}
	}
	return "", false, nil
}
