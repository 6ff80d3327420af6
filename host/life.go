package host

import (
	"context"
	"sync"

	"github.com/weft-hpc/weft/core"
)

// life is a plugin from one start to its end: a process and its connection, or the value in the daemon.
type life struct {
	nic       core.NICDriver
	fabric    core.FabricBackend
	hooks     core.Hooks
	scheduler core.SchedulerClient
	checker   core.Checker
	abilities []core.Ability // as it told at its start
	guard     *guard         // nil: it is a process

	pid     int
	version string
	health  func(context.Context) error // nil: there is nothing to ask
	drain   func(context.Context) error
	stop    func()              // tells it to end, politely; it returns at once
	kill    func(reason string) // ends it; it returns at once. nil: it cannot be
	ended   <-chan struct{}     // its program has ended; nil: it has none
	dead    <-chan struct{}     // it is gone for good
	why     func() string       // once it is dead

	ctx   context.Context // of calls that have no end of their own; ends with the life
	close context.CancelFunc

	mu     sync.Mutex
	calls  int
	ending bool
	idle   chan struct{} // closed when it is ending and no call is in flight
}

func newLife() *life {
	l := &life{idle: make(chan struct{})}
	l.ctx, l.close = context.WithCancel(context.Background())
	return l
}

// enter counts a call; false when the life takes no more.
func (l *life) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return false
	}
	l.calls++
	return true
}

func (l *life) alive() bool {
	select {
	case <-l.ended:
		return false
	case <-l.dead:
		return false
	default:
		return true
	}
}

func (l *life) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls--
	if l.ending && l.calls == 0 {
		close(l.idle)
	}
}

func (l *life) inFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

// refuse takes no more calls.
func (l *life) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ending {
		l.ending = true
		if l.calls == 0 {
			close(l.idle)
		}
	}
}
