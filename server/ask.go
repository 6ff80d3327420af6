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
	askNodes = 128         // in one page
	maxParts = 16          // of one node's list: 4 MiB
	askSpare = time.Second // of a caller's time that is left for the answer
)

// ask gives a page: the lists of the next nodes, which it asks at the same time. Where a node's list goes on, the page
// ends, and the next one is of that node alone.
func (d *Verbs) ask(ctx context.Context, _ core.Peer, req hook.Request) (any, error) {
	var args AskArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	limit := min(args.Limit, maxAsk)
	if until, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(until)-askSpare)
	}
	at, rest, parts := strings.Cut(req.Cursor, " ")
	number, place, _ := strings.Cut(rest, " ")
	part, err := strconv.Atoi(cmp.Or(number, "0"))
	if err != nil {
		return nil, badCursor(req)
	}
	names := []string{at}
	more := false
	if !parts {
		if names, more, err = d.nodesAfter(ctx, at); err != nil {
			return nil, err
		}
	}
	room := cmp.Or(req.Room, listener.DefaultReply) / max(1, len(names)) * 3 / 4
	rows, next := make([]AskRow, len(names)), make([]string, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			ask := core.NodeAsk{Verb: args.Verb, Within: limit, Room: min(room, core.MaxNodeReply), Cursor: place}
			rows[i], next[i] = d.Server.askNode(ctx, name, ask)
		})
	}
	all.Wait()
	for i := range rows {
		switch {
		case next[i] == "":
		case part < maxParts:
			return listener.Page{Body: rows[:i+1], Next: fmt.Sprintf("%s %d %s", names[i], part+1, next[i])}, nil
		default:
			rows[i] = AskRow{Node: names[i], Error: "its list has no end"}
		}
	}
	page := listener.Page{Body: rows}
	if more || parts {
		page.Next = names[len(names)-1]
	}
	return page, nil
}

// nodesAfter gives the nodes of the next page.
func (d *Verbs) nodesAfter(ctx context.Context, after string) (names []string, more bool, err error) {
	err = d.Server.Look(ctx, func(m *engine.Machine) {
		for n := range m.Nodes(after) {
			if more = len(names) == askNodes; more {
				return
			}
			names = append(names, n.Name)
		}
	})
	return names, more, err
}

// askNode asks one node, and gives where its list goes on.
func (s *Server) askNode(ctx context.Context, node string, ask core.NodeAsk) (AskRow, string) {
	fail := func(why string) (AskRow, string) { return AskRow{Node: node, Error: why}, "" }
	s.mu.Lock()
	ses := s.sessions[node]
	s.mu.Unlock()
	if ses == nil {
		return fail("its agent has no session with the server")
	}
	id, told, ok := ses.asks.begin(false)
	if !ok {
		return fail("its agent is busy with other questions")
	}
	defer ses.asks.end(id, false)
	ctx, cancel := context.WithTimeout(ctx, ask.Within)
	defer cancel()
	ask.ID = id
	ses.told(core.Orders{Asks: []core.NodeAsk{ask}})
	select {
	case r := <-told:
		switch {
		case r.Err != nil:
			return fail(core.Cut(r.Err.Line(), maxWhy))
		case !json.Valid(r.Body) || r.Next != "" && r.Next == ask.Cursor:
			return fail("its answer cannot be understood")
		}
		return AskRow{Node: node, Rows: r.Body}, r.Next
	case <-ses.ctx.Done():
		return fail("its session ended")
	case <-ctx.Done():
		return fail("its agent did not answer in time, or is of an older release")
	}
}
