package server

import (
	"context"
	"sync"
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

// down are those nodes that the server waits for and that their schedulers call down.
func (s *Server) down(ctx context.Context) ([]string, error) {
	var awaited []string
	if err := s.Look(ctx, func(m *engine.Machine) { awaited = m.Awaited() }); err != nil {
		return nil, err
	}
	if len(awaited) > maxDown {
		return nil, core.Errorf(core.NotAllowed, "recover: nodes that have not reported yet: %d: "+
			"the server asks schedulers about %d at most", len(awaited), maxDown).
			WithRemedy("wait for more nodes, or name those that are off")
	}
	isDown := make([]bool, len(awaited))
	slots := make(chan struct{}, downAtATime)
	var asked sync.WaitGroup
	for i, node := range awaited {
		slots <- struct{}{}
		asked.Go(func() {
			defer func() { <-slots }()
			isDown[i] = s.isDown(ctx, node)
		})
	}
	asked.Wait()
	var names []string
	for i, node := range awaited {
		if isDown[i] {
			names = append(names, node)
		}
	}
	return names, nil
}

// leaveOut goes on without nodes that are down, as long as only a missing witness stops grants.
func (s *Server) leaveOut(ctx context.Context) {
	for poll.Pause(ctx, downEvery) {
		waits := false
		if s.Look(ctx, func(m *engine.Machine) { waits = m.Unwitnessed() }) == nil && !waits {
			return
		}
		names, err := s.down(ctx)
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

// isDown reports whether a scheduler calls the node down and no other that has it differs, or is silent.
func (s *Server) isDown(ctx context.Context, node string) (down bool) {
	for name, scheduler := range s.schedulers {
		ctx, cancel := context.WithTimeout(ctx, s.limits.Describe)
		_, err := scheduler.Call(ctx, core.SchedulerCall{Scheduler: name, Verb: core.CallDown, Node: node})
		cancel()
		switch {
		case err == nil:
			down = true
		case core.ReasonOf(err) != core.NotSupported:
			return false
		}
	}
	return down
}
