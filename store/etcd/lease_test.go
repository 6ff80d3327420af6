package etcd_test

import (
	"context"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
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
	if now := time.Now(); now.Before(first.Until()) {
		t.Errorf("b leads %s before a knew that it could", first.Until().Sub(now))
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
	if late := time.Since(l.Until()); late < 0 || late > l.Until().Sub(l.Since) {
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
