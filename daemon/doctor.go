package daemon

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// VerbDoctor is `weft doctor` on the server's host. The server looks at its files and for nodes with two hosts; each
// agent examines its node.
const VerbDoctor = "doctor"

func doctor(checks ...core.Checker) listener.Handler {
	return func(ctx context.Context, _ core.Peer, req hook.Request) (any, error) {
		var found []core.Finding
		for _, c := range checks {
			more, err := c.Check(ctx)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
		slices.SortStableFunc(found, func(a, b core.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
		rows := make([]agent.FindingRow, len(found))
		for i, f := range found {
			rows[i] = agent.FindingRow{
				Severity: f.Severity.String(), Of: "server", What: f.What, Evidence: f.Evidence, Remedy: f.Remedy,
			}
		}
		return agent.Fitting(req, rows), nil
	}
}
