package node

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
)

// doctorAll is `weft doctor --all`.
func doctorAll(ctx context.Context, o *cli.Options, limit time.Duration) error {
	nodes, err := everyNode[agent.FindingRow](ctx, o, agent.VerbDoctor, limit)
	if err != nil {
		return unexamined(err)
	}
	code := 0
	for i := range nodes {
		n := &nodes[i]
		if n.Error != "" {
			what := "the node's agent gives no answer: " + n.Error
			n.Rows = []agent.FindingRow{{Severity: core.Critical.String(), Of: "server", What: what}}
		}
		code = max(code, worst(n.Rows))
	}
	slices.SortStableFunc(nodes, func(a, b asked[agent.FindingRow]) int {
		return cmp.Compare(first(b.Rows), first(a.Rows))
	})
	if err := cli.Print(o, nodes, printNodeFindings); err != nil {
		return err
	}
	if code > 0 {
		return cli.Exit(code, nil)
	}
	return nil
}

// first is how bad the first finding is, which is the worst.
func first(rows []agent.FindingRow) int {
	if len(rows) == 0 {
		return -1
	}
	return rank(rows[0])
}

// printNodeFindings prints one line for nodes with the same worst finding.
func printNodeFindings(w io.Writer, nodes []asked[agent.FindingRow]) {
	var lines folded
	for _, n := range nodes {
		line := []string{"", ""}
		if len(n.Rows) > 0 {
			line[0], line[1] = n.Rows[0].Severity, n.Rows[0].What
		}
		bad := 0
		for _, r := range n.Rows {
			bad += min(1, worst([]agent.FindingRow{r}))
		}
		if bad > 1 {
			line[1] += fmt.Sprintf(", and %d more", bad-1)
		}
		lines.add(n.Node, line)
	}
	cli.Table(w, "NODE WORST FINDING", lines.order, lines.line)
}
