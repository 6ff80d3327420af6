package server

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Change is what a reload brings: all of it together, or nothing.
type Change struct {
	Config    engine.Config
	Policy    engine.Policy
	Allocator func(engine.Config) (engine.Allocator, error) // as Needs has it
	Sizes     func() map[string]int                         // as Needs has it
	Resize    func(engine.Allocator) error                  // makes the pools of the one in use those of Config; it changes nothing when it fails
}

// decider is the policy in force, and what it may know of the system.
type decider struct {
	engine.Policy
	system engine.System
	text   engine.Text
}

// Reload puts a Change in force without dropping a job: what live reservations hold outside the new pools stays held. It is in force when it returns.
func (s *Server) Reload(ctx context.Context, c Change) error {
	done := make(chan error, 1)
	if err := s.insist(ctx, work{change: func() error { return s.change(c) }, told: done}); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-s.done:
		return core.Errorf(core.ServerAway, "server: it is stopping")
	case <-ctx.Done():
		return core.Errorf(core.TimedOut, "server: it did not reload in time: %w", context.Cause(ctx))
	}
}

// change runs in the writer's turn, before the machine is told.
func (s *Server) change(c Change) error {
	if err := c.Resize(s.alloc); err != nil {
		return err
	}
	s.needs.Config, s.needs.Policy, s.needs.Allocator = c.Config, c.Policy, c.Allocator
	s.needs.Sizes = c.Sizes
	s.observer.reconfigure(s.observeConfig(), c.Config.Observe)
	s.policy.Store(&decider{c.Policy, c.Config.System, c.Config.Policy})
	s.names.Store(nameAll(c.Config.Nodes))
	s.dropUnnamed()
	return nil
}
