package agent_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// tasks is an adapter whose every hook asks for the environment of the job that it names.
type tasks struct{}

func (tasks) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	return core.Intent{Action: core.Environment, Key: core.Key{JobID: core.JobID{Scheduler: "s", Job: call.Args[0]}}, UID: call.Peer.UID}, nil
}

func (tasks) Render(_ context.Context, _ core.HookCall, out core.Outcome) (core.HookReply, error) {
	if out.Err != nil {
		return core.HookReply{Exit: 1}, nil
	}
	return core.HookReply{}, nil
}

// events gives the audit's lines that have an event.
func (l *journal) events(t *testing.T, event string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, line := range l.with("") {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m["msg"] == event {
			out = append(out, m)
		}
	}
	return out
}

func TestWhatWentByWithoutWeftIsInTheAudit(t *testing.T) {
	dir := rundir.Dir(t.TempDir())
	if err := os.Chmod(string(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := dir.NoteBypass(time.Now(), "slurm prolog job 7: went by"); err != nil {
		t.Fatal(err)
	}
	if err := dir.Exempt(core.JobID{Scheduler: "s", Job: "7"}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		audit := &journal{}
		a, _ := run(t, agent.Needs{
			Authority: &authority{}, Rundir: dir, Hooks: map[string]core.Hooks{"s": tasks{}}, Audit: slog.New(slog.NewJSONHandler(audit, nil)),
		})
		time.Sleep(10 * time.Minute)
		found := audit.events(t, "bypass")
		if len(found) != 1 || found[0]["count"] != 1.0 || found[0]["node"] != "n1" {
			t.Fatalf("one hook went by while no agent ran; the audit says %v", found)
		}
		if err := dir.NoteBypass(time.Now(), "slurm prolog job 8: went by"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if found = audit.events(t, "bypass"); len(found) != 2 || found[1]["count"] != 2.0 {
			t.Fatalf("a second hook went by; the audit says %v", found)
		}
		for job, exit := range map[string]int{"7": 0, "9": 1} {
			reply, err := a.Hook(t.Context(), core.HookCall{ID: "c" + job, Scheduler: "s", Phase: "task", Args: []string{job}, Peer: core.Peer{UID: 1000, PID: 5}})
			if err != nil || reply.Exit != exit {
				t.Errorf("job %s: exit %d, %v", job, reply.Exit, err)
			}
		}
		if found = audit.events(t, "bypass"); len(found) != 3 || found[2]["job"] != "s/7" || found[2]["uid"] != 1000.0 || found[2]["call"] != "c7" {
			t.Errorf("a task of an exempt job ran; the audit says %v", found)
		}
	})
}
