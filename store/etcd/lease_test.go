package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/store/etcd"
)

func candidate(m *etcdtest.Member, name string) etcd.Candidate {
	return etcd.Candidate{Client: m.Client(), Prefix: prefix, Name: name, Address: name + ":6464", Time: 2 * time.Second}
}

func win(t testing.TB, c etcd.Candidate) *etcd.Lease {
	t.Helper()
	l, err := c.Win(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// wins tries until it leads.
func wins(t testing.TB, c etcd.Candidate) *etcd.Lease {
	t.Helper()
	for {
		if l := win(t, c); l != nil {
			return l
		}
		who, err := c.Leads(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if who.Name == c.Name {
			t.Fatalf("%+v leads, and does not know", who)
		}
	}
}

// One leads while it renews its lease. When it does not, another leads, and never before the first knew that it could.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	a, b := candidate(m, "a"), candidate(m, "b")
	if who, err := a.Leads(t.Context()); err != nil || who.Term != 0 {
		t.Errorf("%+v, %v: want none", who, err)
	}
	first := win(t, a)
	kept := make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	go func() { kept <- first.Keep(ctx) }()
	for start := time.Now(); time.Since(start) < 2*a.Time; {
		if l := win(t, b); l != nil {
			t.Fatalf("b leads while a renews: %+v", l)
		}
	}
	who, err := b.Leads(t.Context())
	if err != nil || who.Name != "a" || who.Address != "a:6464" || who.Term != first.Term {
		t.Errorf("%+v, %v: want a of term %d", who, err, first.Term)
	}
	if end(); <-kept != nil {
		t.Error("Keep gives an error where it was ended")
	}
	second := wins(t, b)
	if left := first.Left(); left > 0 {
		t.Errorf("b leads %s before a knew that it could", left)
	}
	if second.Term <= first.Term {
		t.Errorf("term %d after %d", second.Term, first.Term)
	}
	refused(t, first.Keep(t.Context()), core.StoreFailed, "its lease is over")
	if err := second.Resign(t.Context()); err != nil {
		t.Error(err)
	}
	if third := win(t, a); third == nil || third.Term <= second.Term {
		t.Errorf("%+v after a resignation", third)
	}
}

// A leader that etcd does not answer knows in time.
func TestAnUnheardLeader(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	l := win(t, candidate(m, "a"))
	m.Kill()
	err := l.Keep(t.Context())
	refused(t, err, core.StoreFailed, "")
	if late := -l.Left(); late < 0 || late > 2*time.Second {
		t.Errorf("it ended %s after it could lead no longer", late)
	}
}

func TestAShortLease(t *testing.T) {
	t.Parallel()
	c := candidate(etcdtest.Start(t), "a")
	c.Time = time.Second
	_, err := c.Win(t.Context())
	refused(t, err, core.BadConfig, "etcd grants none shorter than 2s")
}

// A server whose lease is over neither writes nor reads its store again: that would hold up its end.
func TestAfterTheLease(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	lead := win(t, candidate(m, "a"))
	s := open(t, m.Client(), 0)
	if err := s.Lead(t.Context(), lead); err != nil {
		t.Fatal(err)
	}
	commit(t, s, meta(1), engine.Node{Name: "n1"})
	if err := lead.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	refused(t, lead.Keep(ctx), core.StoreFailed, "leads no longer")
	refused(t, s.Commit(ctx, []engine.Record{meta(2)}), core.StoreFailed, "leads no longer")
	refused(t, s.Load(ctx, func(engine.Record) error { return nil }), core.StoreFailed, "leads no longer")
}

// A standby believes the head of a leader that it has seen writing. A leader's key alone may come out of a copy that
// was put back.
func TestWitness(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	client := m.Client()
	lead := win(t, candidate(m, "a"))
	a, b := open(t, client, 0), open(t, client, 0)
	if err := a.Lead(t.Context(), lead); err != nil {
		t.Fatal(err)
	}
	commit(t, a, meta(1), engine.Node{Name: "n1"})
	follow := func(want core.Head) {
		t.Helper()
		who, err := b.Follow(t.Context())
		if err != nil || who.Name != "a" || who.Term != lead.Term {
			t.Errorf("%+v, %v: want a", who, err)
		}
		if d := cmp.Diff(want, b.Witness()); d != "" {
			t.Error(d)
		}
	}
	follow(core.Head{})
	follow(core.Head{})
	commit(t, a, meta(2))
	follow(meta(2).Head)
	if w := open(t, client, 0).Witness(); w != (core.Head{}) {
		t.Errorf("a store that followed nothing is a witness of %+v", w)
	}
	// An older history, which has the same key of the same leader.
	for _, key := range []string{"head", "probe"} {
		if _, err := client.Delete(t.Context(), prefix+key); err != nil {
			t.Fatal(err)
		}
	}
	follow(meta(2).Head)
}

// A leader's pulse shows that it lives and that its store is the newest, and stops with its lease.
func TestPulse(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	lead := win(t, candidate(m, "a"))
	a, b := open(t, m.Client(), 0), open(t, m.Client(), 0)
	if err := a.Lead(t.Context(), lead); err != nil {
		t.Fatal(err)
	}
	commit(t, a, meta(1))
	for b.Witness() != meta(1).Head {
		if err := a.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for lead.Left() > 0 {
		if _, err := b.Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, batch := range [][]engine.Record{nil, {meta(2)}} {
		refused(t, a.Commit(t.Context(), batch), core.StoreFailed, "its lease is over")
	}
}

// A candidate writes nothing while another server leads.
func TestACandidateOnlyReads(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	a, b := candidate(m, "a"), candidate(m, "b")
	win(t, a)
	index := func() uint64 {
		got, err := a.Client.Status(t.Context(), a.Client.Endpoints()[0])
		if err != nil {
			t.Fatal(err)
		}
		return got.RaftIndex
	}
	before := index()
	if l := win(t, b); l != nil {
		t.Fatalf("%+v leads, too", l)
	}
	if after := index(); after != before {
		t.Errorf("raft has %d more entries", after-before)
	}
}

// An administrator who removes the leader's key ends the leader, although its lease lives.
func TestALeaderWithoutItsKey(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	client := m.Client()
	lead := win(t, candidate(m, "a"))
	s := open(t, client, 0)
	if err := s.Lead(t.Context(), lead); err != nil {
		t.Fatal(err)
	}
	commit(t, s, meta(1))
	if _, err := client.Delete(t.Context(), prefix+"leader"); err != nil {
		t.Fatal(err)
	}
	refused(t, s.Commit(t.Context(), []engine.Record{meta(2)}), core.StoreFailed, "leads no longer")
	refused(t, lead.Keep(t.Context()), core.StoreFailed, "its lease is over")
}

// The leader has etcd forget what its keys were, and what they are stays.
func TestCompact(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	client := m.Client()
	s := open(t, client, etcdtest.Lead(t, client, prefix))
	commit(t, s, meta(1), engine.Node{Name: "n1"})
	before, err := s.Compact(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, meta(2))
	for range 2 { // the second finds nothing to do
		if _, err := s.Compact(t.Context(), before); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Get(t.Context(), prefix, clientv3.WithRev(before-1)); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("an old revision: %v", err)
	}
	if d := cmp.Diff([]engine.Record{meta(2), engine.Node{Name: "n1"}}, all(t, open(t, client, 0))); d != "" {
		t.Error(d)
	}
}
