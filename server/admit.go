package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/throttle"
)

// names are the nodes that config.hcl names. It may have no such list: then every node is of the system.
type names map[string]bool

func nameAll(nodes []string) *names {
	n := make(names, len(nodes))
	for _, name := range nodes {
		n[name] = true
	}
	return &n
}

func (s *Server) named(node string) bool {
	n := *s.names.Load()
	return n[node] || len(n) == 0
}

func unnamed(node string) *core.Error {
	return core.Errorf(core.NodeUnnamed, "node %s: `nodes` in the server's config.hcl does not name it", node)
}

// admit refuses a session to a node that config.hcl does not name. One that holds something, by its own word or by the store's, is heard all the same: what it
// says can free what it holds, and a VNI that stands on it must not be given to others meanwhile. It gets no new job, see Reserve.
func (s *Server) admit(ctx context.Context, node string, first core.Report) error {
	if s.named(node) {
		return nil
	}
	holds := len(first.Held)
	if holds == 0 {
		if err := s.Look(ctx, func(m *engine.Machine) { holds = m.Open(node) }); err != nil {
			return err
		}
	}
	text, err := "a node that config.hcl does not name is heard until nothing is left on it; it gets no new job", error(nil)
	if holds == 0 {
		e := unnamed(node)
		text, err = "a node was refused: "+e.Line(), e
	}
	s.visit(s.strangers, slog.LevelWarn, text, core.LogNode, node, core.LogReason, string(core.NodeUnnamed), core.LogCount, holds)
	return err
}

// dropUnnamed ends the sessions of nodes that config.hcl names no longer: they come again, and are admitted or not.
func (s *Server) dropUnnamed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for node, ses := range s.sessions {
		if !s.named(node) {
			ses.cancel(unnamed(node))
		}
	}
}

// came says that a node's session began.
func (s *Server) came(node string, again bool) {
	if again {
		s.visit(s.visits, slog.LevelWarn, "the node began a session while it had one, which was ended; if this goes on, see whether two agents run with its certificate", core.LogNode, node)
		return
	}
	s.visit(s.visits, slog.LevelInfo, "the node's session began", core.LogNode, node)
}

// left says that it ended, unless that is because everything does.
func (s *Server) left(node string, took time.Duration, err error) {
	if s.context().Err() != nil {
		return
	}
	attrs := []any{core.LogNode, node, core.LogTook, took.Round(time.Millisecond)}
	if err != nil {
		attrs = append(attrs, core.LogReason, string(core.ReasonOf(err)), core.LogError, err)
	}
	s.visit(s.visits, slog.LevelInfo, "the node's session ended", attrs...)
}

// visit writes a line of a kind that comes once for every node of a system.
func (s *Server) visit(of *throttle.Lines, level slog.Level, text string, attrs ...any) {
	leftOut, ok := of.Take(time.Now())
	if !ok {
		return
	}
	if leftOut > 0 {
		attrs = append(attrs, core.LogLeftOut, leftOut)
	}
	s.log.Log(context.Background(), level, text, attrs...)
}
