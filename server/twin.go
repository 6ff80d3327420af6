package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// answerLimit is how long a session that a newer one would end has to show that its host lives.
const answerLimit = 5 * time.Second

// lives reports whether the host of ses answers a call to no scheduler. An agent of any release answers that it has
// none.
func (s *Server) lives(ctx context.Context, ses *session) (bool, error) {
	id, reply, ok := ses.calls.begin(false)
	if !ok {
		return false, busy("", ses.node)
	}
	defer ses.calls.end(id, false)
	ses.told(core.Orders{Calls: []core.SchedulerCall{{ID: id, Within: answerLimit}}})
	limit := time.NewTimer(answerLimit)
	defer limit.Stop()
	select {
	case <-reply:
		return true, nil
	case <-limit.C:
		return false, nil
	case <-ses.ctx.Done():
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// twin refuses a second host with the certificate of a node, which has begun next while ses goes on.
func (s *Server) twin(ctx context.Context, ses, next *session) error {
	in := engine.TwoHosts{Node: ses.node, Here: ses.host(), There: next.host()}
	if err := s.insist(ctx, work{in: in}); err != nil {
		return err
	}
	err := core.Errorf(core.NodeDrained, "node %s: %s", ses.node, engine.Twin{Here: in.Here, There: in.There}.Reason()).
		WithRemedy(core.TwinRemedy)
	s.visit(&ses.twins, slog.LevelWarn, err.Line(), core.LogNode, ses.node)
	return err
}

// replaced is why the session of old ended. The newer one may be a copied host's, which begins while old's is silent.
func replaced(old, by engine.Host, node string) *core.Error {
	if old == by {
		return core.Errorf(core.Cancelled, "node %s: it began a newer session", node)
	}
	const why = "node %s: an agent at %v began a session, and an agent at %v did not answer"
	return core.Errorf(core.Cancelled, why, node, by, old).
		WithRemedy("no action is needed after a restart of the agent or its host; otherwise " + core.TwinRemedy)
}

func (ses *session) host() engine.Host {
	return engine.Host{From: ses.from, Boot: ses.boot, Agent: ses.agent}
}
