package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/server"
)

// TestWhoMayDoWhat: everybody reads; root, the server's user and those whom the user database lists write and see
// other users' jobs in full. A group id that a caller brings gives no right.
func TestWhoMayDoWhat(t *testing.T) {
	const owner, listed, group = 61000, 61001, 61002
	self := uint32(os.Geteuid())
	callers := map[string]struct {
		peer                       core.Peer
		write, full, fullOfUnknown bool
	}{
		"root":                {core.Peer{}, true, true, true},
		"listed in the group": {core.Peer{UID: listed}, true, true, true},
		"in the group by gid": {core.Peer{UID: 61003, GID: group}, false, false, false},
		"the job's owner":     {core.Peer{UID: owner, GID: 61004}, false, true, false},
		"of the job's group":  {core.Peer{UID: 61005, GID: owner}, false, false, false},
		"somebody":            {core.Peer{UID: 61006, GID: 61006}, false, false, false},
		"the server's user":   {core.Peer{UID: self}, true, self == 0, self == 0},
	}
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		s.sched.uid = owner
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stray := core.Service{Device: "cxi0", ID: 9, Owner: core.UID(owner), VNIs: []core.VNI{1050}, Enabled: true}
		first := core.Report{Number: 1, Boot: "b", Agent: "b", Full: true, Devices: []string{"cxi0"}}
		first.Unknown = []core.Service{stray}
		go func() { _ = s.Attend(ctx, "n1", first, nil, func(core.Orders) {}) }()
		synctest.Wait()
		in := ask("7", "b")
		in.UID = owner
		if _, err := s.Reserve(ctx, "n1", in, core.Peer{}); err != nil {
			t.Fatal(err)
		}
		ran := map[string]int{}
		count := func(_ context.Context, _ core.Peer, req hook.Request) (any, error) {
			ran[req.Verb]++
			return nil, nil
		}
		verbs := &server.Verbs{
			Server: s.Server, AdminGroup: "admins", Sizes: func() map[string]int { return nil },
			Member: func(_ context.Context, uid uint32, group string) bool { return uid == listed && group == "admins" },
			Read:   map[string]listener.Handler{"policy": count}, More: map[string]listener.Handler{"reload": count},
		}
		var known, unknown uint64
		if err := s.Look(ctx, func(m *engine.Machine) {
			for v := range m.Reservations(0) {
				if v.Unknown {
					unknown = v.Serial
				} else {
					known = v.Serial
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		for name, c := range callers {
			do := func(verb string, args any) (any, error) {
				body, err := json.Marshal(args)
				if err != nil {
					t.Fatal(err)
				}
				return verbs.Handle(ctx, c.peer, hook.Request{Verb: verb, Body: body})
			}
			read := func(verb string, args, rows any) {
				t.Helper()
				out, err := do(verb, args)
				if err == nil {
					err = json.Unmarshal(out.(listener.Page).Body.(json.RawMessage), rows)
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for _, verb := range []string{"status", "jobs", "vnis", "nodes", "policy"} {
				if _, err := do(verb, server.JobArgs{}); err != nil {
					t.Errorf("%s: %s: %v", name, verb, err)
				}
			}
			for _, verb := range []string{"forget", "drain", "resume", "recover", "accept", "reload"} {
				before := ran["reload"]
				_, err := do(verb, server.NodeArgs{Nodes: "n9"}) // of which there is none
				refused, worked := errors.Is(err, core.Denied), ran["reload"] > before
				if refused == c.write || worked != (c.write && verb == "reload") {
					t.Errorf("%s: %s: %v", name, verb, err)
				}
			}
			_, err := do(server.VerbAsk, server.AskArgs{Verb: "services", Limit: time.Second})
			if refused := errors.Is(err, core.Denied); refused == c.write ||
				refused && !strings.HasPrefix(err.Error(), "services --all: uid ") {
				t.Errorf("%s: the services of all nodes: %v", name, err)
			}
			for serial, full := range map[uint64]bool{known: c.full, unknown: c.fullOfUnknown} {
				var facts []server.Facts
				read("explain", server.JobArgs{Serial: serial}, &facts)
				if len(facts) != 1 || (facts[0].Facts != nil) != full {
					t.Errorf("%s: explain of reservation %d: %+v; in full: %v", name, serial, facts, full)
				}
			}
			var jobs []server.JobDetail
			read("job", server.JobArgs{Serial: known}, &jobs)
			if len(jobs) != 1 || (jobs[0].Shares != nil) != c.full {
				t.Errorf("%s: job: %+v; in full: %v", name, jobs, c.full)
			}
		}
	})
}

// TestAnAnswerIsAsOldAsItsQuestion: a scheduler that answers slowly says nothing of a job that was prepared meanwhile.
func TestAnAnswerIsAsOldAsItsQuestion(t *testing.T) {
	for _, scheduler := range []string{"s", "f"} {
		t.Run(scheduler, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, atLogin)
				defer s.stop()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s.attend(ctx, "n1", "b", nil)
				login := s.half(ctx, "login")
				tell := func(jobs core.Jobs) {
					if scheduler == "s" {
						s.sched.Script <- jobs
					} else {
						login.next <- core.Report{Answer: &core.Forward{Scheduler: scheduler, Ask: 1, Jobs: jobs}}
					}
					synctest.Wait()
					time.Sleep(time.Second)
				}
				holds := func(want bool) {
					t.Helper()
					active := false
					if err := s.Look(ctx, func(m *engine.Machine) {
						for _, v := range m.Job(askOf(scheduler, "1").Key.JobID) {
							active = active || v.State == engine.Active
						}
					}); err != nil || active != want {
						t.Errorf("the job is active: %v, want %v; %v", active, want, err)
					}
				}
				tell(core.Jobs{Complete: true}) // an answer without a question
				tell(core.Jobs{Asking: true})
				made := s.reserve(ctx, "n1", askOf(scheduler, "1"))
				if scheduler == "f" {
					c := login.call(t)
					login.reply(core.SchedulerReply{ID: c.ID, Job: describedBy(c)})
				}
				if g := <-made; g.err != nil {
					t.Fatal(g.err)
				}
				time.Sleep(time.Second)
				tell(core.Jobs{Complete: true})
				for _, active := range []bool{true, false} {
					tell(core.Jobs{Asking: true})
					tell(core.Jobs{Complete: true})
					holds(active)
					time.Sleep(engine.DefaultRules.Vouch) // n1 does not say whether it sees the job
				}
			})
		})
	}
}
