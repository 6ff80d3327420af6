package server

import (
	"cmp"
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Check finds why nothing is granted, the nodes whose certificate two hosts have, and the schedulers that do not tell
// their jobs.
func (s *Server) Check(ctx context.Context) ([]core.Finding, error) {
	var found []core.Finding
	critical := func(what, evidence, remedy string) {
		found = append(found, core.Finding{Severity: core.Critical, What: what, Evidence: evidence, Remedy: remedy})
	}
	err := s.Look(ctx, func(m *engine.Machine) {
		if why := m.Withheld(); why != nil {
			evidence := why.What
			if nodes := m.Awaited(); len(nodes) > 0 {
				evidence += ": " + some(nodes)
			}
			critical("nothing is granted", evidence, why.Remedy)
		}
		for _, n := range m.Twins() {
			critical("node "+n.Name+": nothing of it is freed or granted", n.Twin.Reason(), core.TwinRemedy)
		}
	})
	if err != nil {
		critical("nothing is granted", core.AsError(err).What, core.AsError(err).Remedy)
	}
	for _, one := range s.Silent() {
		found = append(found, core.Finding{
			Severity: core.Warning, What: "scheduler " + one.Scheduler + " does not tell its jobs: nothing of it is freed",
			Evidence: cmp.Or(one.Why, "no complete answer since "+one.Since.Format(time.DateTime)),
			Remedy:   "run its commands as the user of the Weft server; Weft goes on by itself when they answer",
		})
	}
	return found, nil
}
