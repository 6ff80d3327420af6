package flux

import (
	"context"
	"slices"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// Annotate posts an event with the job's grant to its eventlog, unless the eventlog has it already, and takes the memo
// away that says why the job waits. `flux job eventlog` shows the event to the job's owner and the instance's.
func (p *Plugin) Annotate(ctx context.Context, key core.Key, g core.Grant) error {
	id, err := parseID(key.Job)
	if err != nil {
		return err
	}
	seen, err := p.seen(ctx, id)
	if err == nil && strings.HasPrefix(seen.memo, waits) {
		err = p.memo(ctx, id, nil)
	}
	same := func(a annotation) bool { return slices.Equal(a.VNIs, note(g).VNIs) }
	if err == nil && !slices.ContainsFunc(seen.grants, same) { // a call whose answer was lost may have posted it
		event := object{"id": id, "name": Exception, "context": note(g)}
		err = p.link.call(ctx, "job-manager.post-event.post", broker.AnyNode, event, nil)
	}
	switch {
	case isFault(err, syscall.ENOSYS):
		return core.Errorf(core.NotSupported, "job %s: this Flux takes no event of others: %w", key.JobID, err)
	case isFault(err, syscall.ENOENT):
		return nil
	}
	return p.away("job "+key.JobID.String()+": event", err)
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
