package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/weft-hpc/weft/core"
)

var fabricCases = []Case{
	{"one key has one reservation, however often it is asked for", "F1", OfFabric, func(t *T) {
		key := t.key()
		first := t.reserve(key)
		for range 3 {
			if again := t.reserve(key); again != first {
				t.Errorf("first %v, then %v", first, again)
			}
		}
		t.has(key, 1, "")
	}},
	{"callers at the same time get one reservation for one key", "C1", OfFabric, func(t *T) {
		key := t.key()
		var mu sync.Mutex
		var got []core.Collective
		var all sync.WaitGroup
		for range 8 {
			t.beside(&all, func() {
				c, err := t.Fabric.Reserve(t.ctx, key, 1)
				t.should(err, "Reserve")
				mu.Lock()
				got = append(got, c)
				mu.Unlock()
			})
		}
		all.Wait()
		for _, c := range got {
			if c != got[0] {
				t.Errorf("one caller has %v, another %v", got[0], c)
			}
		}
		t.has(key, 1, "")
	}},
	{"keys have reservations of their own, a job's runs too", "F1", OfFabric, func(t *T) {
		a, b := t.key(), t.key()
		c := a
		c.Generation++
		t.Cleanup(func(ctx context.Context) { _ = t.Fabric.Release(ctx, c) })
		first, second, third := t.reserve(a), t.reserve(b), t.reserve(c)
		if first.JobID == second.JobID || first.JobID == third.JobID {
			t.Errorf("%s, %s and %s are %s, %s and %s", a, b, c, first.JobID, second.JobID, third.JobID)
		}
		t.must(t.Fabric.Release(t.ctx, b), "Release")
		if t.holds(a) != 1 || t.holds(b) != 0 || t.holds(c) != 1 {
			t.Errorf("of three, the second was released, and Collectives has them %d, %d and %d times", t.holds(a), t.holds(b), t.holds(c))
		}
	}},
	{"a reservation has all that a job is told, and as many addresses as were asked for", "F1", OfFabric, func(t *T) {
		c := t.reserve(t.key())
		if c.JobID == "" || c.Token == "" || c.URL == "" || c.Addresses < 1 {
			t.Errorf("job id %q, a token of %d bytes, URL %q, %d addresses", c.JobID, len(c.Token), c.URL, c.Addresses)
		}
	}},
	{"everything that is reserved is told, until it is released", "F2", OfFabric, func(t *T) {
		key := t.key()
		t.reserve(key)
		t.has(key, 1, ", and it is reserved: an orphan would never be found")
		t.must(t.Fabric.Release(t.ctx, key), "Release")
		t.has(key, 0, ", and it is released")
	}},
	{"another instance tells it too, and gives the same", "C6", OfFabric, func(t *T) {
		if t.Site.InMemory {
			t.Skipf("its fabric exists in each instance's memory only")
		}
		key := t.key()
		first := t.reserve(key)
		next := t.Another()
		f, err := next.Fabric.Collectives(t.ctx)
		if err != nil || !slices.Contains(f.Collectives, key) {
			t.Errorf("the next one's Collectives (%v) lacks what the first reserved: after a restart it would be nobody's", err)
		}
		if again, err := next.Fabric.Reserve(t.ctx, key, 1); err != nil || again != first {
			t.Errorf("the next one's Reserve: %v, %v; want %v", again, err, first)
		}
	}},
	{"what is not reserved is released, and so is a step of it", "F3", OfFabric, func(t *T) {
		key := t.key()
		for range 2 {
			t.should(t.Fabric.Release(t.ctx, key), "Release of what was never reserved")
			t.should(t.Fabric.ReleaseStep(t.ctx, key, "0"), "ReleaseStep of what was never reserved")
		}
		t.reserve(key)
		for range 2 {
			t.should(t.Fabric.ReleaseStep(t.ctx, key, "0"), "ReleaseStep of a step that has nothing")
		}
		t.has(key, 1, " after a step of it was released")
		for n := range 3 {
			t.should(t.Fabric.Release(t.ctx, key), "Release, time %d", n+1)
		}
	}},
	{"more addresses than there are is told as exhausted", "F4", OfFabric, func(t *T) {
		f, err := t.Fabric.Collectives(t.ctx)
		t.here("Collectives", err)
		t.must(err, "Collectives")
		if f.Total < 1 {
			t.Skipf("it does not tell how many addresses there are")
		}
		key := t.key()
		_, err = t.Fabric.Reserve(t.ctx, key, f.Total+1)
		t.code("Reserve of more than all", err, core.Exhausted)
		t.has(key, 0, ", and its reservation failed")
	}},
	{"no token is in its log", "C7", OfFabric, func(t *T) {
		logged := t.log()
		c := t.reserve(t.key())
		if _, err := t.Fabric.Collectives(t.ctx); err != nil {
			t.Errorf("Collectives: %v", err)
		}
		if c.Token != "" && strings.Contains(logged(), c.Token) {
			t.Errorf("the token of a reservation is in its log")
		}
	}},
	{"nothing is reserved when there is no time for it", "C3", OfFabric, func(t *T) {
		key := t.key()
		ended, end := context.WithCancel(t.ctx)
		end()
		if _, err := t.Fabric.Reserve(ended, key, 1); err == nil {
			t.Errorf("Reserve after its end: no error")
		}
		t.has(key, 0, ", and Reserve began after its end")
	}},
}

// key is one that nobody else has; what it holds is released with the case.
func (t *T) key() core.Key {
	k := core.Key{JobID: core.JobID{Scheduler: "weft-verify", Job: "v" + strings.ToLower(rand.Text())}}
	t.Cleanup(func(ctx context.Context) {
		t.should(t.Fabric.Release(ctx, k), "what the case reserved may be left: Release %s", k)
	})
	return k
}

// reserve takes one address.
func (t *T) reserve(k core.Key) core.Collective {
	c, err := t.Fabric.Reserve(t.ctx, k, 1)
	t.here("Reserve", err)
	if err != nil && errors.Is(core.AsError(err), core.Exhausted) {
		t.Skipf("the fabric has no address left: %v", err)
	}
	t.must(err, "Reserve")
	return c
}

// holds is how often the fabric manager has a key.
func (t *T) holds(k core.Key) int {
	f, err := t.Fabric.Collectives(t.ctx)
	t.must(err, "Collectives")
	if f.Addresses > f.Total {
		t.Errorf("Collectives: %d addresses are in use of %d", f.Addresses, f.Total)
	}
	n := 0
	for _, each := range f.Collectives {
		if each == k {
			n++
		}
	}
	return n
}

// has checks how often the fabric manager has a key.
func (t *T) has(k core.Key, want int, when string) {
	if n := t.holds(k); n != want {
		t.Errorf("Collectives has the key %d times%s", n, when)
	}
}
