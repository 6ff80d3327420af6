package flux

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// Exception is the type of the exception by which Weft ends a job, and the name of the event by which it tells in the job's eventlog what it gave.
const Exception = "weft"

// Fail ends a job that cannot have what it asked for by an exception of severity 0, whose note is the reason: `flux job attach`, `flux jobs` and the job's
// eventlog show it. One that is over already is left alone.
func (p *Plugin) Fail(ctx context.Context, key core.Key, reason string) error {
	id, err := parseID(key.Job)
	if err != nil {
		return err
	}
	err = p.link.call(ctx, "job-manager.raise", broker.AnyNode, object{
		"id": id, "type": Exception, "severity": 0, "note": core.OneLine(reason, "it cannot run"),
	}, nil)
	if isFault(err, syscall.ENOENT) {
		return nil
	}
	return p.away("job "+key.JobID.String()+": exception", err)
}

// fluxsOwn begin the reasons that Flux gives by itself, and that say less than ours.
var fluxsOwn = []string{"prolog failed", "epilog failed", "housekeeping failed", core.DrainPrefix}

// Drain takes a node out of service. A reason that somebody else gave for it stays.
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
	for _, own := range fluxsOwn {
		if strings.HasPrefix(reason, own) {
			return true
		}
	}
	return reason == ""
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

// Annotate posts an event to the job's eventlog that says what it was given, unless the eventlog says so already: `flux job eventlog` shows it to the job's
// owner and the instance's.
func (p *Plugin) Annotate(ctx context.Context, key core.Key, g core.Grant) error {
	id, err := parseID(key.Job)
	if err != nil {
		return err
	}
	if shown, err := p.shows(ctx, id, g); isFault(err, syscall.ENOENT) {
		return nil
	} else if err != nil {
		return p.away("job "+key.JobID.String()+": eventlog", err)
	} else if shown {
		return nil
	}
	err = p.link.call(ctx, "job-manager.post-event.post", broker.AnyNode, object{"id": id, "name": Exception, "context": note(g)}, nil)
	switch {
	case isFault(err, syscall.ENOSYS):
		return core.Errorf(core.NotSupported, "job %s: this Flux takes no event of others: %w", key.JobID, err)
	case isFault(err, syscall.ENOENT):
		return nil
	}
	return p.away("job "+key.JobID.String()+": event", err)
}

// shows reports whether the job's eventlog has the event that tells of g: it may have been posted by a call whose answer was lost.
func (p *Plugin) shows(ctx context.Context, id uint64, g core.Grant) (bool, error) {
	var f facts
	err := p.link.call(ctx, "job-info.lookup", broker.AnyNode, object{"id": id, "keys": []string{"eventlog"}, "flags": 0}, &f)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(f.Eventlog) {
		var e event
		var a annotation
		if json.Unmarshal([]byte(line), &e) == nil && e.Name == Exception && json.Unmarshal(e.Context, &a) == nil && slices.Equal(a.VNIs, note(g).VNIs) {
			return true, nil
		}
	}
	return false, nil
}

// annotation is the event's context: VNIs in the order of SLINGSHOT_VNIS, and what the service on each NIC admits and reserves. Nothing in it is secret.
type annotation struct {
	VNIs        []core.VNI           `json:"vnis"`
	Classes     []string             `json:"tcs,omitempty"`
	NICs        []string             `json:"nics,omitempty"`
	Limits      map[string]limitNote `json:"limits,omitempty"`
	Collectives int                  `json:"multicast_addresses,omitempty"`
	Warnings    []string             `json:"warnings,omitempty"`
}

type limitNote struct {
	Reserved uint16 `json:"reserved"`
	Max      uint16 `json:"max"`
}

// note is what of a grant may be seen.
func note(g core.Grant) annotation {
	a := annotation{VNIs: g.VNIs, Warnings: g.Warnings}
	if len(g.VNIs) == 0 {
		a.VNIs = []core.VNI{}
		return a
	}
	a.Classes, a.NICs, a.Limits = g.Classes.Names(), g.Inventory, map[string]limitNote{}
	for i, l := range g.Limits {
		if l != (core.Limit{}) {
			a.Limits[core.Resource(i).String()] = limitNote{l.Reserved, l.Max} //nolint:gosec // fewer than NumResources
		}
	}
	if g.Collective != nil {
		a.Collectives = g.Collective.Addresses
	}
	return a
}
