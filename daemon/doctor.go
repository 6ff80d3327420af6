package daemon

import (
	"context"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// VerbDoctor is `weft doctor` on the server's host. The server looks at its files and for nodes with two hosts; each
// agent examines its node.
const VerbDoctor = "doctor"

func doctor(checks ...core.Checker) listener.Handler {
	return func(ctx context.Context, _ core.Peer, _ hook.Request) (any, error) {
		rows := []agent.FindingRow{}
		for _, c := range checks {
			found, err := c.Check(ctx)
			if err != nil {
				return nil, err
			}
			for _, f := range found {
				rows = append(rows, agent.FindingRow{
					Severity: f.Severity.String(), Of: "server", What: f.What, Evidence: f.Evidence, Remedy: f.Remedy,
				})
			}
		}
		return rows, nil
	}
}
