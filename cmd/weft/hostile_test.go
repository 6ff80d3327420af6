package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/cmd/weft/sim"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/server"
)

// TestHostile says to a system's sockets what no verb of weft would: each is refused, for the reason that it should be, and nothing of it is held.
func TestHostile(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "weft") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &sim.System{Config: "../../config.hcl"}
	opts, err := d.Options(filepath.Join(dir, "s"), version, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	sys, err := dev.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Stop()
	o := &cli.Options{Dir: opts.Dir}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	nobody := core.NoUID
	prepare := func(scheduler string, in any) core.HookCall {
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		return core.HookCall{Scheduler: scheduler, Phase: local.PhasePrepare, Stdin: body}
	}
	for name, c := range map[string]struct {
		verb string
		in   any
		want core.Reason // of the call's error; empty where the hook's answer is an exit code
	}{
		"job of uid 4294967295":                  {"hook", prepare("local", local.Call{Job: "n1.1", UID: &nobody}), ""},
		"job id with a newline":                  {"hook", prepare("local", local.Call{Job: "n1.1\nn1.2"}), ""},
		"job id that climbs":                     {"hook", prepare("local", local.Call{Job: "../../n1.1"}), ""},
		"job id of MiBs":                         {"hook", prepare("local", local.Call{Job: string(make([]byte, 1<<20))}), core.BadCall},
		"job that never began":                   {"hook", prepare("local", local.Call{Job: "n1.77"}), ""},
		"scheduler that is not there":            {"hook", prepare("slurm", local.Call{Job: "n1.1"}), core.BadCall},
		"phase that is not there":                {"hook", core.HookCall{Scheduler: "local", Phase: "epilogue", Stdin: []byte("{}")}, ""},
		"input that is no JSON":                  {"hook", core.HookCall{Scheduler: "local", Phase: local.PhasePrepare, Stdin: []byte("\x00")}, ""},
		"environment of a job that climbs":       {"env", agent.EnvArgs{Scheduler: "local", Job: "../n1.1"}, core.BadCall},
		"environment of a scheduler that climbs": {"env", agent.EnvArgs{Scheduler: "../local", Job: "n1.1"}, core.NoRecord},
		"environment with a newline":             {"env", agent.EnvArgs{Scheduler: "local", Job: "n1.1\n"}, core.BadCall},
		"begin on a node of no system":           {"begin", dev.Begin{Hosts: []string{"n1", "n9"}}, core.NotThere},
		"begin on a node that climbs":            {"begin", dev.Begin{Hosts: []string{"n1", "../n2"}}, core.NotThere},
		"begin on one node twice":                {"begin", dev.Begin{Hosts: []string{"n1", "n1"}}, core.BadCall},
		"begin from another node":                {"begin", dev.Begin{Hosts: []string{"n2", "n1"}}, core.BadCall},
		"begin with options of no kind":          {"begin", dev.Begin{Wish: local.Wish{Options: []string{"x=1"}}}, core.BadRequest},
		"begin as nobody known":                  {"begin", dev.Begin{Wish: local.Wish{User: "no such user"}}, core.BadRequest},
		"join of no job":                         {"join", dev.Join{Job: "n1.77", PID: 1}, core.JobUnknown},
		"join of a job that climbs":              {"join", dev.Join{Job: "../n1.1", PID: 1}, core.JobUnknown},
		"body of another shape":                  {"begin", []int{1}, core.BadCall},
		"verb that is not there":                 {"reboot", nil, core.BadCall},
	} {
		t.Run(name, func(t *testing.T) {
			var reply core.HookReply
			err := o.AskNode(ctx, "n1", c.verb, c.in, &reply)
			if c.want == "" {
				if err != nil || reply.Exit != cli.ExitRun || len(reply.Stderr) == 0 || len(reply.Stdout) > 0 {
					t.Errorf("err %v, exit %d, said %q and printed %q", err, reply.Exit, reply.Stderr, reply.Stdout)
				}
				return
			}
			if got := core.AsError(err); got == nil || got.Reason != c.want {
				t.Errorf("got %v, want reason %s", err, c.want)
			}
		})
	}
	for name, c := range map[string]struct {
		verb string
		in   any
		want core.Reason
	}{
		"job that climbs":        {"job", server.JobArgs{Job: "../n1.1"}, core.NotThere},
		"job with a newline":     {"forget", server.JobArgs{Job: "n1.1\n"}, core.NotThere},
		"nodes without end":      {"drain", server.NodeArgs{Nodes: "n[1-999999999]", Reason: "x"}, core.BadCall},
		"nodes of no system":     {"recover", server.NodeArgs{Nodes: "x1"}, core.NotThere},
		"reason that is missing": {"drain", server.NodeArgs{Nodes: "n1"}, core.BadCall},
		"reason with a newline":  {"drain", server.NodeArgs{Nodes: "n1", Reason: "\x1b[2J"}, core.BadCall},
		"no nodes":               {"resume", server.NodeArgs{}, core.BadCall},
		"VNI above all":          {"vnis", map[string]int{"vni": 70000}, core.BadCall},
		"verb that is not there": {"reboot", nil, core.BadCall},
	} {
		t.Run("server/"+name, func(t *testing.T) {
			if got := core.AsError(o.Ask(ctx, c.verb, c.in, nil)); got == nil || got.Reason != c.want {
				t.Errorf("got %v, want reason %s", got, c.want)
			}
		})
	}

	var s server.Status
	if err := o.Ask(ctx, "status", nil, &s); err != nil || len(s.Live) > 0 || s.Drained > 0 || s.Pools[0].Used > 0 {
		t.Errorf("after all that the system has %+v, %v", s, err)
	}
	if left, err := filepath.Glob(filepath.Join(opts.Dir, "nodes", "*", "env", "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("environments are left: %v, %v", left, err)
	}
	if _, err := hook.List[server.JobRow](ctx, filepath.Join(opts.Dir, "server.sock"), "jobs", nil); err != nil {
		t.Error(err)
	}
}
