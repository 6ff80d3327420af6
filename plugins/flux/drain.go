package flux

import (
	"context"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// fluxsOwn begin the reasons that Flux gives by itself, and that say less than ours.
var fluxsOwn = []string{"prolog failed", "epilog failed", core.DrainPrefix}

// Drain takes a node out of service. One that another drained, also without a reason, stays as it is.
func (p *Plugin) Drain(ctx context.Context, node, reason string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	// The question comes first: Flux takes a new reason for a node that is drained without one (check_draininfo_idset
	// in drain.c, 0.88.0).
	was, is, err := p.drained(ctx, node)
	if err != nil {
		return p.away("node "+node, err)
	}
	if is && !replaceable(was) {
		return nil
	}
	drain := object{"targets": node, "reason": core.DrainPrefix + core.OneLine(reason, "its NICs are at fault")}
	if is {
		drain["mode"] = "overwrite" // without it a node that is drained already is EEXIST
	}
	// Only rank 0 knows of drained nodes; from another's socket AnyNode finds no such service.
	err = p.link.call(ctx, "resource.drain", 0, drain, nil)
	if isFault(err, syscall.EEXIST) { // another has drained it since the question
		return nil
	}
	return p.away("node "+node+": drain", err)
}

// Resume takes a node back into service that Drain took out of it, and no other.
func (p *Plugin) Resume(ctx context.Context, node string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	was, is, err := p.drained(ctx, node)
	if err != nil {
		return p.away("node "+node, err)
	}
	if !is || !strings.HasPrefix(was, core.DrainPrefix) {
		return nil
	}
	return p.away("node "+node+": undrain", p.link.call(ctx, "resource.undrain", 0, object{"targets": node}, nil))
}

func replaceable(reason string) bool {
	own := func(prefix string) bool { return strings.HasPrefix(reason, prefix) }
	return slices.ContainsFunc(fluxsOwn, own)
}

// drained is the reason for which a node is drained.
func (p *Plugin) drained(ctx context.Context, node string) (reason string, is bool, err error) {
	s, names, err := p.status(ctx)
	if err != nil {
		return "", false, err
	}
	if !known(names, node) {
		return "", false, p.lacks(node)
	}
	for ranks, d := range s.Drain {
		if on, err := among(names, ranks, node); on || err != nil {
			return d.Reason, on, err
		}
	}
	return "", false, nil
}

func (p *Plugin) lacks(node string) error {
	return core.Errorf(core.NotSupported, "node %s: instance %s has no node of that name", node, p.name)
}

// Drained lists the nodes that are drained. Flux does not tell who drained them.
func (p *Plugin) Drained(ctx context.Context) (all []core.Drained, err error) {
	s, names, err := p.status(ctx)
	for ranks, d := range s.Drain {
		var on []string
		if err == nil {
			on, err = members(names, ranks)
		}
		drain := core.Drain{Reason: d.Reason, Since: int64(d.Timestamp)}
		all = append(all, core.Drained{Hosts: hostlist.Fold(on), Drain: drain})
	}
	if err != nil {
		return nil, p.away("drained nodes", err)
	}
	return all, nil
}

// Down reports by nil that the node's broker is offline.
func (p *Plugin) Down(ctx context.Context, node string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	s, names, err := p.status(ctx)
	if err != nil {
		return p.away("node "+node, err)
	}
	if !known(names, node) {
		return p.lacks(node)
	}
	if s.Offline != "" {
		if offline, err := among(names, s.Offline, node); offline || err != nil {
			return p.away("node "+node, err)
		}
	}
	return core.NotDown(node, p.name)
}

type status struct {
	R     resources `json:"R"`
	Drain map[string]struct {
		Reason    string  `json:"reason"`
		Timestamp float64 `json:"timestamp"` // seconds since 1970
	} `json:"drain"`
	Offline string `json:"offline"` // ranks
	Exclude string `json:"exclude"` // ranks that run no jobs
}

// status is the instance's, with the names of its ranks.
func (p *Plugin) status(ctx context.Context) (s status, names map[int]string, err error) {
	if err := p.link.call(ctx, "resource.status", 0, struct{}{}, &s); err != nil {
		return s, nil, err
	}
	names, _, err = s.R.byRank()
	return s, names, err
}

func known(names map[int]string, node string) bool {
	for _, name := range names {
		if name == node {
			return true
		}
	}
	return false
}

// among reports whether node is one of ranks.
func among(names map[int]string, ranks, node string) (bool, error) {
	on, err := members(names, ranks)
	return slices.Contains(on, node), err
}

// members are the nodes of ranks.
func members(names map[int]string, ranks string) (on []string, err error) {
	spans, err := parseIDs(ranks)
	for _, rank := range slices.Sorted(maps.Keys(names)) {
		if within(spans, rank) {
			on = append(on, names[rank])
		}
	}
	return on, err
}
