package daemon

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/store/bolt"
)

// verbatim is an adapter whose hook says what it wants in so many words: the job is the first argument, and the phase the action.
type verbatim struct{}

func (verbatim) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	job, err := strconv.Atoi(call.Args[0])
	if err != nil {
		return core.Intent{}, err
	}
	action := core.Prepare
	if call.Phase == "cleanup" {
		action = core.CleanUp
	}
	ask := askFor(job, action, "")
	ask.Began, ask.Call = call.Began, call.ID
	return ask, nil
}

func (verbatim) Render(_ context.Context, _ core.HookCall, out core.Outcome) (core.HookReply, error) {
	if out.Err != nil {
		return core.HookReply{Stderr: []byte(out.Err.Line()), Exit: 1}, nil
	}
	var text []byte
	for _, v := range out.Environment {
		text = append(text, v.Name+"="+v.Value+"\n"...)
	}
	return core.HookReply{Stdout: text}, nil
}

// median reports the middle and the 99th of a hundred of durations.
func median(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-99th")
}

// BenchmarkPrepare prepares jobs on one node with 4 simulated NICs that take no time, through the node's socket, with a server whose store is synced, a
// node whose ledger and NICs lie on a tmpfs as a run directory does, and a driver within the agent. What a process of its own for hook and driver takes comes on top of it. The parts are measured by themselves below.
func BenchmarkPrepare(b *testing.B) {
	name := nodeName(0)
	dir := runDir(b)
	store := openBolt(b, b.TempDir())
	r := serve(b, store, newBatch(), nil)
	defer func() { r.stop(); _ = store.Close() }()
	l, err := bolt.OpenLedger(filepath.Join(dir, "ledger.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	driver := sim.New(sim.Options{Dir: filepath.Join(dir, "nics"), Boot: name, NoSync: true})
	a := r.agent(b, agent.Needs{
		Node: name, Driver: driver, Store: l, Environ: filepath.Join(dir, "env"),
		Hooks: map[string]core.Hooks{scheduler: verbatim{}}, Machine: node.Config{SelfService: []string{scheduler}},
	})
	ctx := r.ctx
	socket := filepath.Join(dir, "agent.sock")
	ln, err := listener.Listen(socket, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	verbs := &agent.Verbs{Agent: a, More: map[string]listener.Handler{
		"nothing": func(context.Context, core.Peer, hook.Request) (any, error) { return core.HookReply{}, nil },
	}}
	answers := &listener.Server{Log: slog.New(slog.DiscardHandler)}
	r.group.Go(func() { _ = answers.Serve(ctx, ln, verbs.Handle) })
	r.attendFrom(b, 1, 2)
	r.attached(b, 2)

	job := 0
	call := func(phase string) {
		var reply core.HookReply
		in := core.HookCall{Scheduler: scheduler, Phase: phase, Args: []string{strconv.Itoa(job)}}
		if err := hook.Call(ctx, socket, "hook", in, &reply); err != nil || reply.Exit != 0 {
			b.Fatalf("%s of job %d: %v %s", phase, job, err, reply.Stderr)
		}
	}
	do := func(action core.Action) {
		if out := a.Do(ctx, askFor(job, action, ""), core.Peer{UID: owner}); out.Err != nil {
			b.Fatalf("%s of job %d: %v", action, job, out.Err)
		}
	}
	// lives measures what begins a job and, apart from it, ends the job.
	lives := func(b *testing.B, begin, end func()) {
		var took []time.Duration
		first := job
		for b.Loop() {
			began := time.Now()
			begin()
			took = append(took, time.Since(began))
			b.StopTimer()
			end()
			if job++; job%256 == 0 {
				r.sched.end(first, job)
				first = job
				r.settle(b, 0)
			}
			b.StartTimer()
		}
		r.sched.end(first, job)
		r.settle(b, 0)
		median(b, took)
	}
	b.Run("whole", func(b *testing.B) {
		lives(b, func() { call("prepare") }, func() { call("cleanup"); r.confirmed(b, job) })
		b.ReportMetric(3, "budget-ms")
	})
	b.Run("cleanup", func(b *testing.B) {
		var took []time.Duration
		lives(b, func() { call("prepare") }, func() {
			began := time.Now()
			call("cleanup")
			took = append(took, time.Since(began))
			r.confirmed(b, job)
		})
		median(b, took)
	})
	b.Run("part=socket", func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			began := time.Now()
			var reply core.HookReply
			if err := hook.Call(ctx, socket, "nothing", core.HookCall{}, &reply); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		median(b, took)
	})
	b.Run("part=agent", func(b *testing.B) {
		lives(b, func() { do(core.Prepare) }, func() { do(core.CleanUp); r.confirmed(b, job) })
	})
	b.Run("part=server", func(b *testing.B) {
		other := nodeName(1)
		lives(b, func() {
			if _, err := r.Reserve(ctx, other, askFor(job, core.Prepare, other), core.Peer{}); err != nil {
				b.Fatal(err)
			}
		}, func() {})
	})
	b.Run("part=driver", func(b *testing.B) {
		var took []time.Duration
		specs := make([]core.ServiceSpec, 4)
		for i := range specs {
			specs[i] = core.ServiceSpec{Device: "cxi" + strconv.Itoa(i), Owner: core.UID(owner), VNIs: []core.VNI{1024}, Classes: core.BestEffort}
		}
		for b.Loop() {
			began := time.Now()
			if _, err := driver.Devices(ctx); err != nil {
				b.Fatal(err)
			}
			if _, err := driver.Services(ctx); err != nil {
				b.Fatal(err)
			}
			made, err := driver.Create(ctx, specs)
			if err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
			b.StopTimer()
			var services []core.Service
			for _, m := range made {
				if m.Err != nil {
					b.Fatal(m.Err)
				}
				services = append(services, m.Service)
			}
			if _, err := driver.Destroy(ctx, services); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		median(b, took)
	})
}
