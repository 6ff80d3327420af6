package server_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/server"
)

// mirrored is a scheduler that keeps drains and lists them.
type mirrored struct {
	scheduler
	shown   map[string]core.Drain
	away    error
	keeps   bool // it takes a resume and changes nothing
	lacks   string
	refused int
	slow    time.Duration // until a drain has an effect
}

func (m *mirrored) Drain(_ context.Context, node, reason string) error {
	time.Sleep(m.slow)
	return m.change(node, func() { m.shown[node] = core.Drain{Reason: core.DrainPrefix + reason} })
}

func (m *mirrored) Resume(_ context.Context, node string) error {
	return m.change(node, func() {
		if !m.keeps {
			delete(m.shown, node)
		}
	})
}

func (m *mirrored) change(node string, change func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if node == m.lacks {
		m.refused++
		return core.Errorf(core.NotSupported, "node %s: it has none of that name", node)
	}
	d, is := m.shown[node]
	if m.away == nil && (!is || (core.Drained{Drain: d}).Ours()) { // another's stays, as in every adapter
		change()
	}
	return m.away
}

// as lets it be as f makes it. The server's goroutines read it too.
func (m *mirrored) as(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *mirrored) Drained(context.Context) (all []core.Drained, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for node, d := range m.shown {
		all = append(all, core.Drained{Hosts: node, Drain: d})
	}
	return all, m.away
}

// TestDrainSaysWhatSchedulersDid: the list that a scheduler shows afterwards counts, not its answer.
func TestDrainSaysWhatSchedulersDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := map[string]*mirrored{"good": {}, "silent": {}, "stuck": {keeps: true}, "without": {lacks: "n1"}}
		s := start(t, func(n *server.Needs) {
			n.Config.Nodes = []string{"n1"}
			for name, m := range all {
				m.scheduler, m.shown = scheduler{Script: make(schedulertest.Script)}, map[string]core.Drain{}
				n.Schedulers[name] = core.Dispatcher{Of: m}
				n.Config.Schedulers = append(n.Config.Schedulers, name)
			}
		})
		defer s.stop()
		verbs := &server.Verbs{Server: s.Server}
		do := func(verb string, args server.NodeArgs) (n server.Count) {
			t.Helper()
			body, _ := json.Marshal(args)
			got, err := verbs.Handle(t.Context(), core.Peer{}, hook.Request{Verb: verb, Body: body})
			if err != nil {
				t.Fatal(err)
			}
			return got.(server.Count)
		}
		want := []server.Told{
			{Scheduler: "good", Nodes: "n1", Done: true, Why: "drained: weft: fan"},
			{Scheduler: "silent", Nodes: "n1", Why: "it does not answer: it is down"},
			{Scheduler: "stuck", Nodes: "n1", Done: true, Why: "drained: weft: fan"},
		}
		silent, stuck, good := all["silent"], all["stuck"], all["good"]
		silent.as(func() { silent.away = core.Errorf(core.SchedulerAway, "it is down") })
		if diff := cmp.Diff(want, do("drain", server.NodeArgs{Nodes: "n1", Reason: "fan"}).Told); diff != "" {
			t.Error(diff)
		}
		want = []server.Told{
			{Scheduler: "good", Nodes: "n1", Done: true},
			{Scheduler: "silent", Nodes: "n1", Why: "it does not answer: it is down"},
			{Scheduler: "stuck", Nodes: "n1", Why: "drained: weft: fan"},
		}
		n := do("resume", server.NodeArgs{Nodes: "n1", Reason: "the verb takes none"})
		if diff := cmp.Diff(want, n.Told); diff != "" || n.Away != "n1" {
			t.Errorf("away %q: %s", n.Away, diff)
		}

		// They agree within 10 s after any change.
		agree := func(drained string) {
			t.Helper()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			for name, m := range all {
				m.as(func() {
					if got := strings.TrimPrefix(m.shown["n1"].Reason, core.DrainPrefix); got != drained && name != "without" {
						t.Errorf("%s: n1 is drained for %q, want %q", name, got, drained)
					}
				})
			}
			if got := row(t, verbs, "n1"); got.Drained != drained {
				t.Errorf("n1 is drained for %q, want %q", got.Drained, drained)
			}
		}
		silent.as(func() { silent.away = nil })
		stuck.as(func() { stuck.keeps = false })
		agree("")
		do("drain", server.NodeArgs{Nodes: "n1", Reason: "cable"})
		agree("cable")
		_ = good.Resume(t.Context(), "n1")
		agree("")

		// A drain by a person who gave no reason is a drain, and none of Weft's.
		for _, m := range all {
			m.as(func() { m.away = core.Errorf(core.SchedulerAway, "it is down") })
		}
		good.as(func() { good.shown["n1"], good.away = core.Drain{}, nil })
		find := func(n server.Count) server.Told {
			return n.Told[slices.IndexFunc(n.Told, func(t server.Told) bool { return t.Scheduler == "good" })]
		}
		told := server.Told{
			Scheduler: "good", Nodes: "n1", Done: true, Kept: true, Why: "drained already, not by Weft: no reason given",
		}
		if diff := cmp.Diff(told, find(do("drain", server.NodeArgs{Nodes: "n1", Reason: "fan"}))); diff != "" {
			t.Error(diff)
		}
		time.Sleep(10 * time.Second)
		got := do("drain", server.NodeArgs{Nodes: "n1", Reason: "blade"}).Before
		if len(got) != 1 || !strings.HasPrefix(got[0], "n1: fan, by root, since ") {
			t.Errorf("before: %q", got)
		}
		if got := do("drain", server.NodeArgs{Nodes: "n1", Reason: "blade"}).Before; got != nil {
			t.Errorf("the same reason: %q", got)
		}
		told.Done, told.Kept, told.Why = false, false, "drained: no reason given"
		if diff := cmp.Diff(told, find(do("resume", server.NodeArgs{Nodes: "n1"}))); diff != "" {
			t.Error(diff)
		}
		if got := row(t, verbs, "n1").Schedulers; len(got) != 1 || got[0].Reason != "no reason given" {
			t.Errorf("shown as %+v", got)
		}
	})
}

func row(t *testing.T, verbs *server.Verbs, node string) server.NodeRow {
	t.Helper()
	got, err := verbs.Handle(t.Context(), core.Peer{}, hook.Request{Verb: "nodes"})
	if err != nil {
		t.Fatal(err)
	}
	var rows []server.NodeRow
	text, _ := json.Marshal(got.(listener.Page).Body)
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Node == node {
			return r
		}
	}
	t.Fatalf("%s is not among the nodes", node)
	return server.NodeRow{}
}

// TestAVerbGoesOnBehindANodeThatRefusesIt, and names that node.
func TestAVerbGoesOnBehindANodeThatRefusesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { n.Config.Nodes = []string{"n1", "n2", "n3"} })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		next := make(chan core.Report)
		s.attend(ctx, "n1", "b", next)
		verbs := &server.Verbs{Server: s.Server}
		do := func(verb, reason string) (server.Count, error) {
			body, _ := json.Marshal(server.NodeArgs{Nodes: "n[1-3]", Reason: reason})
			got, err := verbs.Handle(t.Context(), core.Peer{}, hook.Request{Verb: verb, Body: body})
			return got.(server.Count), err
		}
		if n, err := do("drain", "fan"); err != nil || n.Count != 3 {
			t.Fatalf("%+v %v", n, err)
		}
		next <- core.Report{Number: 2, Boot: "b", Changed: true, Fault: core.UnreadPrefix + "cxi0 fails"}
		synctest.Wait()
		n, err := do("resume", "")
		if err != nil || n.Count != 2 || len(n.Refused) != 1 ||
			!strings.HasPrefix(n.Refused[0], "node n1: it stays drained: "+core.UnreadPrefix) {
			t.Errorf("resumed %+v %v", n, err)
		}
		if why := row(t, verbs, "n3").Drained; why != "" || n.Away != "n[2-3]" {
			t.Errorf("n3 is drained for %q; away are %q", why, n.Away)
		}
		if n, err := do("accept", ""); err != nil || len(n.Refused) != 3 {
			t.Errorf("accepted %+v %v", n, err)
		}
	})
}
