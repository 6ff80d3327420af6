package liartest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// Liar is the scheduler itself, in the test.
type Liar struct {
	socket string

	mu     sync.Mutex
	model  *schedulertest.Model
	random *rand.Rand
	honest bool                // from now on
	hush   chan struct{}       // it answers when this is closed; nil: at once
	told   map[core.JobID]bool // jobs about which it has lied
	lies   map[schedulertest.Lie]int
	drains []string
}

// New starts a scheduler that answers on a socket, and draws its lies with a seed.
func New(t testing.TB, socket string, seed uint64) *Liar {
	t.Helper()
	l := &Liar{
		socket: socket, model: schedulertest.New(Label, 8), random: rand.New(rand.NewPCG(seed, 99)),
		told: map[core.JobID]bool{}, lies: map[schedulertest.Lie]int{},
	}
	ln, err := listener.Listen(socket, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = (&listener.Server{Bounds: listener.Root()}).Serve(ctx, ln, l.handle) })
	t.Cleanup(func() { l.Hush(false); cancel(); all.Wait() })
	return l
}

// Block is the scheduler's block of config.hcl, where the plugin is a command.
func (l *Liar) Block(command ...string) string {
	quoted := make([]string, len(command))
	for i, word := range command {
		quoted[i] = fmt.Sprintf("%q", word)
	}
	return fmt.Sprintf("scheduler %q %q {\n  command = [%s]\n  socket  = %q\n}\n",
		"site", Label, strings.Join(quoted, ", "), l.socket)
}

func (l *Liar) handle(ctx context.Context, _ core.Peer, req hook.Request) (any, error) {
	var c question
	if len(req.Body) > 0 {
		if err := req.Decode(&c); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	hush := l.hush
	l.mu.Unlock()
	if hush != nil {
		select {
		case <-hush:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch req.Verb {
	case verbDescribe:
		job, err := l.model.Describe(c.Key, l.lie(12), l.random)
		truth, none := l.model.Describe(c.Key, schedulertest.Honest, l.random)
		if (err == nil) != (none == nil) || job.Run != truth.Run || job.Gone != truth.Gone {
			l.told[c.Key.JobID] = true
		}
		if err != nil {
			return nil, err
		}
		return job, nil
	case verbAnswer:
		out := l.model.Answer(l.lie(8), l.random)
		l.compare(out)
		return out, nil
	case verbFail: // the job's user sees it; the controller of the test ends it
		return struct{}{}, nil
	case verbDrain:
		l.drains = append(l.drains, c.Node+": "+c.Reason)
		return struct{}{}, nil
	}
	return nil, core.Errorf(core.BadCall, "verb %q", req.Verb)
}

// lie is a lie once in so many times.
func (l *Liar) lie(once int) schedulertest.Lie {
	if l.honest || l.random.IntN(once) > 0 {
		return schedulertest.Honest
	}
	lie := schedulertest.AnyLie(l.random)
	l.lies[lie]++
	return lie
}

// compare notes the jobs that an answer is wrong about.
func (l *Liar) compare(out core.Jobs) {
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

// Do changes the model, or looks at it. The scheduler answers nothing meanwhile.
func (l *Liar) Do(f func(*schedulertest.Model)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.model)
}

// Trusted reports whether a run really has a node, and the scheduler never said otherwise of its job.
func (l *Liar) Trusted(run core.Run, node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.told[run.JobID] && l.model.Lives(run, node)
}

// Quiet ends the lies.
func (l *Liar) Quiet() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.honest = true
}

// Hush has it answer nothing, until it may speak again.
func (l *Liar) Hush(silent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hush != nil {
		close(l.hush)
		l.hush = nil
	}
	if silent {
		l.hush = make(chan struct{})
	}
}

// Lies counts the lies so far.
func (l *Liar) Lies() map[schedulertest.Lie]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.lies)
}

// Drains are the drains of nodes that Weft has asked for.
func (l *Liar) Drains() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.drains)
}

// Call runs a hook at the socket of an agent for root, as weft-hook does. It gives the VNIs in a prolog's answer.
func Call(ctx context.Context, socket string, h schedulertest.Hook) (vnis string, err error) {
	phase := prolog
	if h.Action == core.CleanUp {
		phase = epilog
	}
	in, err := json.Marshal(hookInput{Key: h.Key, UID: h.UID})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var reply core.HookReply
	err = hook.Call(ctx, socket, "hook", core.HookCall{Scheduler: Label, Phase: phase, Stdin: in}, &reply)
	if err == nil && reply.Exit != 0 {
		err = fmt.Errorf("%s of %v on %s: %s", phase, h.Key, h.Node, reply.Stderr)
	}
	return strings.TrimSpace(string(reply.Stdout)), err
}
