package server

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/poll"
)

const (
	maxDown     = 1024 // nodes of one round
	downAtATime = 8
	downEvery   = 30 * time.Second // also the time that nodes have to report after a start
)

// down are those nodes that the server waits for and that their schedulers call down. If there is none, it says why.
func (s *Server) down(ctx context.Context) (names []string, why string, err error) {
	var awaited []string
	if err := s.Look(ctx, func(m *engine.Machine) { awaited = m.Awaited() }); err != nil {
		return nil, "", err
	}
	if len(awaited) == 0 {
		return nil, awaitsNone, nil
	}
	if len(awaited) > maxDown {
		return nil, "", core.Errorf(core.NotAllowed, "recover: nodes that have not reported yet: %d: "+
			"the server asks schedulers about %d at most", len(awaited), maxDown).
			WithRemedy("wait for more nodes, or name those that are off")
	}
	var told atomic.Bool
	isDown := make([]bool, len(awaited))
	slots := make(chan struct{}, downAtATime)
	var asked sync.WaitGroup
	for i, node := range awaited {
		slots <- struct{}{}
		asked.Go(func() {
			defer func() { <-slots }()
			isDown[i] = s.isDown(ctx, node, &told)
		})
	}
	asked.Wait()
	for i, node := range awaited {
		if isDown[i] {
			names = append(names, node)
		}
	}
	switch {
	case len(names) > 0:
	case !told.Load():
		why = "no scheduler here can tell whether " + some(awaited) + " is down: name those that are off"
	default:
		why = "no scheduler calls one of " + some(awaited) + " down, or another differs or is silent"
	}
	return names, why, nil
}

const awaitsNone = "the server waits for no node"

// idle says why a recovery without these nodes changes less than it seems; empty: the server waits for all of them.
func (s *Server) idle(ctx context.Context, names []string) (why string, err error) {
	var left, here []string
	err = s.Look(ctx, func(m *engine.Machine) {
		awaited := m.Awaited()
		if len(awaited) == 0 {
			why = awaitsNone
			return
		}
		for _, n := range names {
			switch _, waits := slices.BinarySearch(awaited, n); {
			case m.LeftOut(n):
				left = append(left, n)
			case !waits:
				here = append(here, n)
			}
		}
	})
	if len(left) > 0 {
		why = "left out already: " + some(left)
	}
	if len(here) > 0 {
		why = strings.TrimPrefix(why+"; reported already: "+some(here), "; ")
	}
	return why, err
}

// leaveOut goes on without nodes that are down, as long as only a missing witness stops grants.
func (s *Server) leaveOut(ctx context.Context) {
	for poll.Pause(ctx, downEvery) {
		waits := false
		if s.Look(ctx, func(m *engine.Machine) { waits = m.Unwitnessed() }) == nil && !waits {
			return
		}
		names, _, err := s.down(ctx)
		if err == nil && len(names) > 0 {
			_, err = s.Do(ctx, func(call uint64) engine.Input {
				return engine.Recover{Call: call, Without: names, Unwitnessed: true}
			})
		}
		switch {
		case err != nil:
			s.log.Warn("nodes that are down are still waited for", core.LogError, err)
		case len(names) > 0:
			s.log.Warn("nodes that their schedulers call down are no longer waited for", core.LogNode, hostlist.Fold(names))
		}
	}
}

// isDown reports whether a scheduler calls the node down and no other that has it differs, or is silent. It sets told
// if one of them has the node.
func (s *Server) isDown(ctx context.Context, node string, told *atomic.Bool) (down bool) {
	for name, scheduler := range s.schedulers {
		ctx, cancel := context.WithTimeout(ctx, s.limits.Describe)
		_, err := scheduler.Call(ctx, core.SchedulerCall{Scheduler: name, Verb: core.CallDown, Node: node})
		cancel()
		switch {
		case err == nil:
			told.Store(true)
			down = true
		case core.ReasonOf(err) != core.NotSupported:
			told.Store(true)
			return false
		}
	}
	return down
}
