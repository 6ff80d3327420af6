package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// Verbs gives the verbs for the sockets of a's node. From now on the server gets some of their lists, too.
func (a *Agent) Verbs(site Site, more map[string]listener.Handler) *Verbs {
	d := &Verbs{Agent: a, Site: site, More: more}
	a.lists.Store(d)
	return d
}

// ask answers one of Orders.Asks through the session that it came with, while the session goes on.
func (a *Agent) ask(ctx context.Context, s *session, ask core.NodeAsk) {
	began := time.Now()
	select {
	case a.asks <- struct{}{}:
	default:
		busy := core.Errorf(core.Overloaded, "node %s: %d lists are under way", a.needs.Node, cap(a.asks))
		select { // where there is no room for the reply, the server's own deadline ends its wait
		case s.reports <- core.Report{Told: &core.NodeReply{ID: ask.ID, Err: busy}}:
		default:
		}
		return
	}
	a.beside.Go(func() {
		defer func() { <-a.asks }()
		within, cancel := context.WithDeadline(ctx, began.Add(min(ask.Within, doctorLimit)))
		defer cancel()
		r := core.NodeReply{ID: ask.ID}
		page, err := a.listed(within, ask)
		if r.Err = core.AsError(err); err == nil {
			r.Body, r.Next = page.Body.(json.RawMessage), page.Next
		}
		select {
		case s.reports <- core.Report{Told: &r}:
		case <-within.Done():
		}
	})
}

// listed is a page for the server, which has checked that its caller may see it.
func (a *Agent) listed(ctx context.Context, ask core.NodeAsk) (listener.Page, error) {
	d := a.lists.Load()
	if d == nil {
		return listener.Page{}, core.Errorf(core.ServerAway, "node %s: its agent is still starting", a.needs.Node)
	}
	req := hook.Request{Verb: ask.Verb, Cursor: ask.Cursor, Room: ask.Room}
	switch ask.Verb {
	case VerbServices:
		return d.services(ctx, req)
	case VerbDoctor:
		rows := Fitting(req, a.Doctor(ctx, d.Site, ask.Within*9/10))
		return listener.Slice(req, rows, func(r FindingRow) string { return r.What })
	}
	err := core.Errorf(core.BadCall, "verb %q: node %s gives the server no such list", core.Clip(ask.Verb), a.needs.Node)
	return listener.Page{}, err.WithRemedy("install the same release on the server and on every node")
}
