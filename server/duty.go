package server

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// duty is a node as one scheduler knows it.
type duty struct{ scheduler, node string }

// drain takes a node out of service in every scheduler.
func (s *Server) drain(a engine.Drain) {
	s.everywhere(a.Node, "drain", func(ctx context.Context, sched core.Scheduler) error { return sched.Drain(ctx, a.Node, a.Reason) })
}

// resume takes a node back into service in every scheduler that can.
func (s *Server) resume(a engine.Resume) {
	s.everywhere(a.Node, "resume", func(ctx context.Context, sched core.Scheduler) error {
		r, ok := sched.(core.Resumer)
		if !ok {
			return core.Errorf(core.NotSupported, "node %s: its scheduler takes no node back into service", a.Node)
		}
		return r.Resume(ctx, a.Node)
	})
}

// everywhere tells every scheduler something of a node. What it was told of the node before comes first, with all its tries: the newest word is to be the last.
func (s *Server) everywhere(node, what string, f func(context.Context, core.Scheduler) error) {
	for name := range s.schedulers {
		of := duty{name, node}
		before, over := s.duties[of], make(chan struct{})
		told := s.tellScheduler(name, what, func(ctx context.Context, sched core.Scheduler) error {
			if before != nil {
				select {
				case <-before:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return f(ctx, sched)
		}, func(bool) { close(over) })
		if told != nil {
			s.duties[of] = over
		}
	}
}
