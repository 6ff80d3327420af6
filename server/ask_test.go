package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/server"
)

// answers attends as node, and answers each ask; nil: with nothing.
func (s *system) answers(ctx context.Context, node string, answer func(core.NodeAsk) *core.NodeReply) {
	next := make(chan core.Report, 8)
	orders, _ := s.attend(ctx, node, "b", next)
	go func() {
		for {
			select {
			case o := <-orders:
				for _, ask := range o.Asks {
					if r := answer(ask); r != nil {
						r.ID += ask.ID
						next <- core.Report{Told: r}
					}
				}
			case <-ctx.Done():
				return
			}
		}
	}()
}

// TestEveryNodeIsAsked: one node that is silent, lies or is away does not keep the answers of the others.
func TestEveryNodeIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body := func(text string) func(core.NodeAsk) *core.NodeReply {
			return func(core.NodeAsk) *core.NodeReply { return &core.NodeReply{Body: []byte(text)} }
		}
		s.answers(ctx, "n1", body(`["n1"]`))
		s.answers(ctx, "n2", func(ask core.NodeAsk) *core.NodeReply {
			if ask.Cursor == "here" {
				return &core.NodeReply{Body: []byte(`["the rest"]`)}
			}
			return &core.NodeReply{Body: []byte(`["a part"]`), Next: "here"}
		})
		s.answers(ctx, "n3", body(`["not JSON`))
		s.answers(ctx, "n4", func(core.NodeAsk) *core.NodeReply { return nil })
		s.answers(ctx, "n5", func(core.NodeAsk) *core.NodeReply {
			return &core.NodeReply{Err: core.Errorf(core.BadCall, "verb: no").WithRemedy("mend it")}
		})
		s.answers(ctx, "n6", func(core.NodeAsk) *core.NodeReply {
			return &core.NodeReply{ID: 7, Body: []byte(`["another's"]`)}
		})
		s.answers(ctx, "n7", func(ask core.NodeAsk) *core.NodeReply {
			return &core.NodeReply{Body: []byte(fmt.Sprintf("[%q]", ask.Verb)), Next: ask.Cursor}
		})
		s.answers(ctx, "n9", func(ask core.NodeAsk) *core.NodeReply {
			return &core.NodeReply{Body: []byte(`[]`), Next: ask.Cursor + "x"}
		})
		gone, end := context.WithCancel(ctx)
		s.answers(gone, "n8", body(`[]`))
		end()
		synctest.Wait()

		const late = "its agent did not answer in time, or is of an older release"
		want := []string{
			`n1 ["n1"]`, `n2 ["a part"]`, `n2 ["the rest"]`, "n3 its answer cannot be understood", "n4 " + late,
			"n5 verb: no; mend it", "n6 " + late, `n7 ["services"]`, "n8 its agent has no session with the server",
		}
		want = append(want, "n9 its list is too long to be shown here")
		if d := cmp.Diff(want, s.asked(t, "services")); d != "" {
			t.Error(d)
		}
	})
}

// TestManyNodesAreAskedInPages finds each node once in the pages.
func TestManyNodesAreAskedInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var want []string
		for i := range 300 {
			node := fmt.Sprintf("n%03d", i)
			s.answers(ctx, node, func(ask core.NodeAsk) *core.NodeReply {
				return &core.NodeReply{Body: []byte(`"` + strings.Repeat("x", ask.Room-2) + `"`)}
			})
			want = append(want, node)
		}
		var got []string
		for _, row := range s.asked(t, "doctor") {
			got = append(got, strings.Fields(row)[0])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// TestLongListsAreAskedOnce: a node that is silent costs each page its time, and no list is read again and again.
func TestLongListsAreAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const nodes, long = 200, 60_000
		var asks atomic.Int64
		for i := range nodes {
			s.answers(ctx, fmt.Sprintf("n%03d", i), func(ask core.NodeAsk) *core.NodeReply {
				asks.Add(1)
				switch {
				case i == nodes-1:
					return nil
				case ask.Cursor == "":
					return &core.NodeReply{Body: []byte(`"` + strings.Repeat("x", long/2) + `"`), Next: "half"}
				}
				return &core.NodeReply{Body: []byte(`"` + strings.Repeat("y", long/2) + `"`)}
			})
		}
		if rows := s.asked(t, "services"); len(rows) != 2*nodes-1 {
			t.Errorf("%d rows, want two of each node but one", len(rows))
		}
		if n := asks.Load(); n > 4*nodes {
			t.Errorf("%d asks of %d nodes", n, nodes)
		}
	})
}

// asked are the rows of all pages.
func (s *system) asked(t *testing.T, verb string) (rows []string) {
	t.Helper()
	verbs := &server.Verbs{Server: s.Server}
	body, _ := json.Marshal(server.AskArgs{Verb: verb, Limit: time.Minute})
	for cursor := ""; ; {
		req := hook.Request{Verb: server.VerbAsk, Body: body, Cursor: cursor}
		out, err := verbs.Handle(t.Context(), core.Peer{UID: 0}, req)
		if err != nil {
			t.Fatal(err)
		}
		page := out.(listener.Page)
		if text, err := json.Marshal(page.Body); err != nil || len(text) > listener.DefaultReply {
			t.Fatalf("a page of %d bytes: %v", len(text), err)
		}
		for _, r := range page.Body.([]server.AskRow) {
			rows = append(rows, strings.TrimSpace(r.Node+" "+r.Error+string(r.Rows)))
		}
		if page.Next == "" {
			return rows
		}
		cursor = page.Next
	}
}
