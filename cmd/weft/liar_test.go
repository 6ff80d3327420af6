package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/sdk"
)

// A scheduler that lies, for daemons that are processes: the model is in the test, which answers on a socket, and the adapter is a plugin as a third party
// would write it, which asks there.

// liarLabel is the instance's name in config.hcl.
const liarLabel = "liar"

// The phases of its hooks, and the verbs of its socket.
const (
	liarProlog = "prolog"
	liarEpilog = "epilog"

	liarDescribe = "describe"
	liarAnswer   = "answer"
	liarFail     = "fail"
	liarDrain    = "drain"
)

// liarHook is what a hook of its knows.
type liarHook struct {
	Key core.Key
	UID uint32
}

// liarCall is about a job or a node.
type liarCall struct {
	Key    core.Key
	Node   string
	Reason string
}

// adapter is the plugin.
type adapter struct {
	mu     sync.Mutex
	socket string
}

var (
	_ core.Hooks        = (*adapter)(nil)
	_ core.Scheduler    = (*adapter)(nil)
	_ core.Configurable = (*adapter)(nil)
	_ core.Phased       = (*adapter)(nil)
)

// liarPlugin is the plugin's main.
func liarPlugin() { sdk.Serve(&adapter{}, sdk.WithName(liarLabel)) }

func (a *adapter) Schema() core.Schema {
	return core.Schema{Fields: []core.Field{{Name: "socket", Kind: core.KindString, Required: true}}}
}

func (a *adapter) Configure(_ context.Context, values core.Values) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.socket, _ = values["socket"].(string)
	return nil
}

func (a *adapter) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	var h liarHook
	if err := json.Unmarshal(call.Stdin, &h); err != nil {
		return core.Intent{}, core.Errorf(core.BadCall, "hook: %w", err)
	}
	action := map[string]core.Action{liarProlog: core.Prepare, liarEpilog: core.CleanUp}[call.Phase]
	return core.Intent{Action: action, Key: h.Key, UID: h.UID, Began: call.Began}, nil
}

func (a *adapter) Render(_ context.Context, _ core.HookCall, out core.Outcome) (core.HookReply, error) {
	if out.Err != nil {
		return core.HookReply{Exit: 1, Stderr: []byte(string(out.Err.Reason) + ": " + out.Err.Error())}, nil
	}
	return core.HookReply{Stdout: []byte(value(out.Environment, "SLINGSHOT_VNIS"))}, nil
}

func (a *adapter) Phases(context.Context) ([]core.HookPhase, error) {
	return []core.HookPhase{
		{Name: liarProlog, Action: core.Prepare, Root: true, Stdin: 4096, Limit: 8 * time.Second},
		{Name: liarEpilog, Action: core.CleanUp, Root: true, Stdin: 4096, Limit: 8 * time.Second},
	}, nil
}

func (a *adapter) ask(ctx context.Context, verb string, in, out any) error {
	a.mu.Lock()
	path := a.socket
	a.mu.Unlock()
	return hook.Call(ctx, path, verb, in, out)
}

func (a *adapter) Describe(ctx context.Context, key core.Key, _ []byte, _ core.Peer) (core.Job, error) {
	var job core.Job
	err := a.ask(ctx, liarDescribe, liarCall{Key: key}, &job)
	return job, err
}

// Watch asks several times a second: package poll does not ask that often.
func (a *adapter) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := tell(core.Jobs{Asking: true}); err != nil {
			return err
		}
		var jobs core.Jobs
		if err := a.ask(ctx, liarAnswer, nil, &jobs); err == nil {
			if err := tell(jobs); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (a *adapter) Fail(ctx context.Context, key core.Key, reason string) error {
	return a.ask(ctx, liarFail, liarCall{Key: key, Reason: reason}, nil)
}

func (a *adapter) Drain(ctx context.Context, node, reason string) error {
	return a.ask(ctx, liarDrain, liarCall{Node: node, Reason: reason}, nil)
}

// liar is the scheduler itself, in the test.
type liar struct {
	mu     sync.Mutex
	model  *schedulertest.Model
	random *rand.Rand
	honest bool                // from now on
	told   map[core.JobID]bool // jobs of which something was told that is not so
	lies   map[schedulertest.Lie]int
	drains []string
}

// newLiar starts the scheduler's socket, and gives what config.hcl says of it.
func newLiar(t *testing.T, d *daemons, seed uint64) *liar {
	t.Helper()
	l := &liar{
		model: schedulertest.New(liarLabel, 8), random: rand.New(rand.NewPCG(seed, 99)), told: map[core.JobID]bool{}, lies: map[schedulertest.Lie]int{},
	}
	ln, err := listener.Listen(d.path("run", "liar.sock"), 0o600)
	d.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = (&listener.Server{Bounds: listener.Root()}).Serve(ctx, ln, l.handle) })
	t.Cleanup(func() { cancel(); all.Wait() })
	program, err := filepath.EvalSymlinks(mustLook(t, "weft-liar"))
	d.must(err)
	d.more = fmt.Sprintf("scheduler %q %q {\n  command = [%q]\n  socket  = %q\n}\n", "site", liarLabel, program, d.path("run", "liar.sock"))
	d.configure()
	return l
}

func (l *liar) handle(_ context.Context, _ core.Peer, req hook.Request) (any, error) {
	var c liarCall
	if len(req.Body) > 0 {
		if err := req.Decode(&c); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch req.Verb {
	case liarDescribe:
		job, err := l.model.Describe(c.Key, l.lie(12), l.random)
		truth, none := l.model.Describe(c.Key, schedulertest.Honest, l.random)
		if (err == nil) != (none == nil) || job.Run != truth.Run || job.Gone != truth.Gone {
			l.told[c.Key.JobID] = true
		}
		if err != nil {
			return nil, err
		}
		return job, nil
	case liarAnswer:
		out := l.model.Answer(l.lie(8), l.random)
		l.compare(out)
		return out, nil
	case liarFail: // the job's user sees it; the controller of this test ends it
		return struct{}{}, nil
	case liarDrain:
		l.drains = append(l.drains, c.Node+": "+c.Reason)
		return struct{}{}, nil
	}
	return nil, core.Errorf(core.BadCall, "verb %q", req.Verb)
}

// lie is a lie once in so many times.
func (l *liar) lie(once int) schedulertest.Lie {
	if l.honest || l.random.IntN(once) > 0 {
		return schedulertest.Honest
	}
	lie := schedulertest.AnyLie(l.random)
	l.lies[lie]++
	return lie
}

// compare notes the jobs that an answer is wrong about.
func (l *liar) compare(out core.Jobs) {
	for _, want := range l.model.Truth().Jobs {
		right := 0
		for _, got := range out.Jobs {
			if got.JobID == want.JobID {
				if got.Run != want.Run || got.State != want.State {
					right = -1000
				}
				right++
			}
		}
		if right < 1 {
			l.told[want.JobID] = true
		}
	}
}

// do changes the model, or looks at it.
func (l *liar) do(f func(*schedulertest.Model)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.model)
}

// trusted reports whether a run really has a node, and nobody was ever told otherwise of its job.
func (l *liar) trusted(run core.Run, node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.told[run.JobID] && l.model.Lives(run, node)
}

func (l *liar) quiet() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.honest = true
}

// run makes a hook's call at a node, as slurmd would by weft-hook; it gives the VNIs that a prolog is told.
func (d *daemons) slurmd(ctx context.Context, h schedulertest.Hook) (vnis string, err error) {
	phase := liarProlog
	if h.Action == core.CleanUp {
		phase = liarEpilog
	}
	in, err := json.Marshal(liarHook{Key: h.Key, UID: h.UID})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	var reply core.HookReply
	err = hook.Call(ctx, d.run(h.Node).RootSocket(), "hook", core.HookCall{Scheduler: liarLabel, Phase: phase, Stdin: in}, &reply)
	if err == nil && reply.Exit != 0 {
		err = fmt.Errorf("%s of %v on %s: %s", phase, h.Key, h.Node, reply.Stderr)
	}
	return strings.TrimSpace(string(reply.Stdout)), err
}
