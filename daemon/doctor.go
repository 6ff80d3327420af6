package daemon

import (
	"context"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// VerbDoctor is `weft doctor` on the server's host. The server looks at its files; each agent examines its node.
const VerbDoctor = "doctor"

func doctor(c core.Checker) listener.Handler {
	return func(ctx context.Context, _ core.Peer, _ hook.Request) (any, error) {
		found, err := c.Check(ctx)
		rows := []agent.FindingRow{}
		for _, f := range found {
			rows = append(rows, agent.FindingRow{Severity: f.Severity.String(), Of: "server", What: f.What, Remedy: f.Remedy})
		}
		return rows, err
	}
}
