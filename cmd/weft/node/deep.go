package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/cmd/weft/run"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// trialBudget is the time that a trial of one NIC may take.
const trialBudget = 100 * time.Millisecond

// trialUser is whose job a trial is: a user of each system, who has no rights.
const trialUser = "nobody"

// withTrial adds a trial's findings to those of an examination. Neither calls a NIC good that the other calls critical.
func withTrial(
	ctx context.Context, o *cli.Options, node string, limit time.Duration, path string, seen []agent.FindingRow,
) []agent.FindingRow {
	find := func(what string) int {
		return slices.IndexFunc(seen, func(r agent.FindingRow) bool { return r.What == what })
	}
	if find(agent.NoSession) >= 0 {
		return append(seen, agent.FindingRow{
			Severity: core.Warning.String(), Of: "deep", What: "the NICs were not tried: no job starts without the server",
			Remedy: "`weft status` on the server's host; try again once the node has a session",
		})
	}
	if at := find(agent.OutOfService); at >= 0 {
		return append(seen, agent.FindingRow{
			Severity: core.Warning.String(), Of: "deep", What: "the NICs were not tried: a drained node takes no job",
			Evidence: seen[at].Evidence,
			Remedy: "drain the node in its scheduler with your own reason, which keeps jobs away; " +
				"then `weft resume` the node, and try again",
		})
	}
	rows := deep(ctx, o, node, limit, path, seen)
	if worst(rows) == 2 {
		seen = slices.DeleteFunc(seen, func(r agent.FindingRow) bool {
			return r.Of == agent.OfNode && rank(r) == int(core.Good)
		})
	}
	return append(seen, rows...)
}

// blamed reports whether a critical finding is of the NIC.
func blamed(seen []agent.FindingRow, nic string) bool {
	return slices.ContainsFunc(seen, func(r agent.FindingRow) bool {
		return rank(r) == int(core.Critical) && slices.Contains(r.NICs, nic)
	})
}

// deep starts a job of a user without rights, which opens a service on each NIC, and gives the result of each.
func deep(
	ctx context.Context, o *cli.Options, node string, limit time.Duration, path string, seen []agent.FindingRow,
) []agent.FindingRow {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := []string{"--dir", o.Dir, run.TryVerb, "--node", node, "--config", path}
	if os.Geteuid() == 0 {
		args = append(args, "--user", trialUser)
	}
	var out, said bytes.Buffer
	child := exec.CommandContext(ctx, "/proc/self/exe", args...)
	child.Args[0], child.Stdout, child.Stderr, child.WaitDelay = "weft", &out, &said, time.Second
	err := child.Run()
	var tried run.Tried
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &tried)
	}
	if err != nil {
		row := agent.FindingRow{
			Severity: core.Critical.String(), Of: "deep", What: "no job can start on this node: a trial got no service",
			Evidence: core.OneLine(said.String(), err.Error()), Remedy: "fix the fault in the evidence, and try again",
		}
		if slices.ContainsFunc(seen, func(r agent.FindingRow) bool { // the examination has told the fault
			return rank(r) == int(core.Critical) && slices.ContainsFunc(r.NICs, func(nic string) bool {
				return strings.Contains(row.Evidence, nic+" ")
			})
		}) {
			row.Severity, row.Remedy = core.Notice.String(), "mend what is critical of the NIC, and try again"
		}
		if child.ProcessState != nil && child.ProcessState.ExitCode() == run.TryNone {
			row.Severity, row.What = core.Warning.String(), "a trial cannot be made here"
			row.Remedy = "change config.hcl as the evidence says; the NICs were not tried"
		}
		if ctx.Err() != nil {
			row.What, row.Evidence = "a trial did not end", fmt.Sprintf("it was killed after %v", limit)
			if text := core.OneLine(said.String(), ""); text != "" {
				row.Evidence += ": " + text
			}
			row.Remedy = "`weft doctor` shows what the node waits for; the kernel's log, whether a NIC hangs"
		}
		return []agent.FindingRow{row}
	}
	return append(judge(tried, seen), gone(ctx, o, node, tried)...)
}

// judge says what the trials show; NICs with the same result share a row. A NIC that the examination calls critical is
// none that an application can use: libfabric may leave it out where a service can be opened.
func judge(tried run.Tried, seen []agent.FindingRow) (rows []agent.FindingRow) {
	slowest := map[string]time.Duration{} // by the finding
	for _, t := range tried.Trials {
		var found []agent.FindingRow
		failed, all := t.Failed()
		for _, s := range failed {
			meaning, remedy := s.Meaning()
			row := agent.FindingRow{
				Severity: core.Warning.String(), Of: "deep", What: "NIC %s: an application cannot send in class " + s.Name,
				Evidence: s.Name + ": " + s.Errno + ": " + meaning, Remedy: remedy,
			}
			if all {
				row.Severity, row.What = core.Critical.String(), "NIC %s: no application can use it"
			}
			found = append(found, row)
		}
		if len(failed) == 0 {
			var opened []string
			for _, s := range t.Steps {
				opened = append(opened, s.Name)
			}
			found = []agent.FindingRow{{
				Severity: core.Good.String(), Of: "deep", What: "NIC %s: a user's application can use it",
				Evidence: "opened by " + tried.User + ": " + strings.Join(opened, ", "),
			}}
			switch {
			case blamed(seen, t.Device):
				found[0].Severity = core.Notice.String()
				found[0].What = "NIC %s: a user can open a service on it; its critical finding stays"
				found[0].Remedy = "mend what is critical of the NIC, and try again"
			case t.Took > trialBudget:
				found[0].Severity = core.Warning.String()
				found[0].What = "NIC %s: a user's application can use it, and waits for it too long"
				found[0].Remedy = "look for the NIC in the kernel's log; try again while the node is idle"
			}
		}
		for _, f := range found {
			at := slices.IndexFunc(rows, func(r agent.FindingRow) bool {
				return r.Severity == f.Severity && r.What == f.What && r.Evidence == f.Evidence && r.Remedy == f.Remedy
			})
			if at < 0 {
				at, rows = len(rows), append(rows, f)
			}
			rows[at].NICs = append(rows[at].NICs, t.Device)
			if len(failed) == 0 {
				slowest[f.What] = max(slowest[f.What], t.Took)
			}
		}
	}
	for i := range rows {
		r := &rows[i]
		if took, opened := slowest[r.What]; opened {
			r.Evidence += fmt.Sprintf("; at most %v a NIC", took.Round(time.Microsecond))
		}
		slices.SortFunc(r.NICs, hostlist.Compare)
		r.What = fmt.Sprintf(r.What, hostlist.Fold(r.NICs))
	}
	return rows
}

// gone waits until the services of the trial's job are removed, and says so where some are left.
func gone(ctx context.Context, o *cli.Options, node string, tried run.Tried) []agent.FindingRow {
	for {
		rows, err := cli.ListNode[agent.ServiceRow](ctx, o, node, "services", nil)
		if err == nil && !slices.ContainsFunc(rows, func(r agent.ServiceRow) bool { return r.Job == tried.Job }) {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return []agent.FindingRow{{
				Severity: core.Warning.String(), Of: "deep", What: "services of the trial are not removed yet",
				Evidence: "job " + tried.Job, Remedy: "`weft doctor` shows what the job waits for; the node goes on trying",
			}}
		}
	}
}
