package flux

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// Annotate posts an event with the job's grant to its eventlog, unless the eventlog has it already.
// `flux job eventlog` shows it to the job's owner and the instance's.
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
	event := object{"id": id, "name": Exception, "context": note(g)}
	err = p.link.call(ctx, "job-manager.post-event.post", broker.AnyNode, event, nil)
	switch {
	case isFault(err, syscall.ENOSYS):
		return core.Errorf(core.NotSupported, "job %s: this Flux takes no event of others: %w", key.JobID, err)
	case isFault(err, syscall.ENOENT):
		return nil
	}
	return p.away("job "+key.JobID.String()+": event", err)
}

// shows reports whether the job's eventlog has the event of g. A call whose answer was lost may have posted it.
func (p *Plugin) shows(ctx context.Context, id uint64, g core.Grant) (bool, error) {
	var f facts
	eventlog := object{"id": id, "keys": []string{"eventlog"}, "flags": 0}
	err := p.link.call(ctx, "job-info.lookup", broker.AnyNode, eventlog, &f)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(f.Eventlog) {
		var e event
		var a annotation
		ours := json.Unmarshal([]byte(line), &e) == nil && e.Name == Exception && json.Unmarshal(e.Context, &a) == nil
		if ours && slices.Equal(a.VNIs, note(g).VNIs) {
			return true, nil
		}
	}
	return false, nil
}

// annotation is the event's context: VNIs in the order of SLINGSHOT_VNIS, and the classes and limits of the service on
// each NIC. It has no secret.
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

// note is the part of a grant that others may see.
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
