package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// VerbAsk asks every node for one of its lists.
const VerbAsk = "ask"

// AskArgs say for which list.
type AskArgs struct {
	Verb  string        `json:"verb"`
	Limit time.Duration `json:"limit"` // that a node may take; at most maxAsk
}

// AskRow holds rows of one node's list, or why it gave none. A node may have several.
type AskRow struct {
	Node  string          `json:"node"`
	Error string          `json:"error,omitempty"`
	Rows  json.RawMessage `json:"rows,omitempty"`
}

const (
	maxAsk   = 20 * time.Second
	askNodes = 128         // in one page; fewer after a page that could not hold the lists of all
	maxParts = 16          // of one node's list
	askSpare = time.Second // of a caller's time that is left for the answer
)

// ask gives a page: the lists of the next nodes, which it asks at the same time.
func (d *Verbs) ask(ctx context.Context, _ core.Peer, req hook.Request) (any, error) {
	var args AskArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	limit := min(args.Limit, maxAsk)
	if until, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(until)-askSpare)
	}
	after, number, _ := strings.Cut(req.Cursor, " ")
	count, err := strconv.Atoi(cmp.Or(number, strconv.Itoa(askNodes)))
	if err != nil || count < 1 || count > askNodes {
		return nil, badCursor(req)
	}
	names, more, err := d.nodesAfter(ctx, after, count)
	if err != nil {
		return nil, err
	}
	room := cmp.Or(req.Room, listener.DefaultReply) * 3 / 4
	lists := make([][]AskRow, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			within, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			lists[i] = d.Server.askNode(within, name, core.NodeAsk{Verb: args.Verb}, room)
		})
	}
	all.Wait()
	page := listener.Page{}
	rows := []AskRow{}
	for i := range lists {
		if room -= size(lists[i]); room < 0 && i > 0 { // the next page asks only as many nodes as this one holds
			page.Next = fmt.Sprintf("%s %d", names[i-1], i)
			break
		}
		rows = append(rows, lists[i]...)
	}
	if page.Next == "" && more {
		page.Next = fmt.Sprintf("%s %d", names[len(names)-1], min(2*count, askNodes))
	}
	page.Body = rows
	return page, nil
}

// size is at least the size of rows in JSON, in bytes.
func size(rows []AskRow) (n int) {
	for _, r := range rows {
		n += 64 + len(r.Node) + 6*len(r.Error) + len(r.Rows)
	}
	return n
}

// nodesAfter gives the nodes of the next page.
func (d *Verbs) nodesAfter(ctx context.Context, after string, count int) (names []string, more bool, err error) {
	err = d.Server.Look(ctx, func(m *engine.Machine) {
		for n := range m.Nodes(after) {
			if more = len(names) == count; more {
				return
			}
			names = append(names, n.Name)
		}
	})
	return names, more, err
}

// askNode asks one node for a whole list, which may have so many bytes.
func (s *Server) askNode(ctx context.Context, node string, ask core.NodeAsk, room int) (rows []AskRow) {
	fail := func(why string) []AskRow { return []AskRow{{Node: node, Error: why}} }
	s.mu.Lock()
	ses := s.sessions[node]
	s.mu.Unlock()
	if ses == nil {
		return fail("its agent has no session with the server")
	}
	for {
		r, why := ses.ask(ctx, ask)
		switch {
		case why != "":
			return fail(why)
		case r.Err != nil:
			return fail(core.Cut(r.Err.Line(), maxWhy))
		case !json.Valid(r.Body):
			return fail("its answer cannot be understood")
		}
		rows = append(rows, AskRow{Node: node, Rows: r.Body})
		switch {
		case size(rows) > room || len(rows) > maxParts:
			return fail("its list is too long to be shown here")
		case r.Next == "":
			return rows
		}
		ask.Cursor = r.Next
	}
}

// ask asks for a part of a list. why is empty where there is a reply.
func (ses *session) ask(ctx context.Context, ask core.NodeAsk) (r core.NodeReply, why string) {
	id, told, ok := ses.asks.begin(false)
	if !ok {
		return r, "its agent is busy with other questions"
	}
	defer ses.asks.end(id, false)
	until, _ := ctx.Deadline()
	ask.ID, ask.Within, ask.Room = id, time.Until(until), core.MaxNodeReply
	if ask.Within > 0 {
		ses.told(core.Orders{Asks: []core.NodeAsk{ask}})
	}
	select {
	case r = <-told:
		return r, ""
	case <-ses.ctx.Done():
		return r, "its session ended"
	case <-ctx.Done():
		return r, "its agent did not answer in time, or is of an older release"
	}
}
