package election

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/etcdtest"
)

// roll is some servers with one etcd.
type roll struct {
	t    *testing.T
	etcd config.Etcd
}

func newRoll(t *testing.T) roll {
	endpoints := etcdtest.Start(t).Client().Endpoints()
	return roll{t, config.Etcd{Endpoints: endpoints, Prefix: "/weft/", Lease: time.Minute}}
}

func (r roll) server(name, address string, log *slog.Logger) *Election {
	r.t.Helper()
	e, err := Open(r.t.Context(), r.etcd, "", name, address, log)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = e.Close() })
	return e
}

// Two servers that have one name are both in the list, and both say so once. One that ends leaves the list at once.
func TestTwoServersOfOneName(t *testing.T) {
	r := newRoll(t)
	var log [2]bytes.Buffer
	var all [2]*Election
	var seats [2]seat
	addresses := []string{"a:6464", "b:6464"}
	for i, address := range addresses {
		all[i] = r.server("weft1", address, slog.New(slog.NewTextHandler(&log[i], nil)))
	}
	sit := func(i int) {
		t.Helper()
		all[i].sit(t.Context(), &seats[i])
	}
	sit(0)
	sit(1)
	if got := all[1].Twin(); len(all[1].Members()) != 2 || got.Name != "" {
		t.Errorf("a key can be of a server that was killed, and %+v counts as one", got)
	}
	for _, i := range []int{0, 1, 0} {
		sit(i)
	}
	for i, e := range all {
		if got := e.Twin().Address; len(e.Members()) != 2 || got != addresses[1-i] {
			t.Errorf("server %d has %+v, and the twin %q", i, e.Members(), got)
		}
		if n := strings.Count(log[i].String(), "another server has this one's name"); n != 1 {
			t.Errorf("server %d says it %d times: %s", i, n, &log[i])
		}
	}
	all[1].leave(t.Context(), seats[1])
	all[0].sit(t.Context(), &seats[0])
	if got := all[0].Members(); len(got) != 1 || all[0].Twin().Name != "" || seats[0].twin {
		t.Errorf("the other has ended, and the list is %+v", got)
	}
}

// A standby tells how many writes of the leader it lacks in the moment in which it tells. A list that could not be read
// again is not shown.
func TestLag(t *testing.T) {
	r := newRoll(t)
	quiet := slog.New(slog.DiscardHandler)
	leader, standby := r.server("a", "", quiet), r.server("b", "", quiet)
	lease, err := leader.Win(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	revision := uint64(0)
	commit := func() {
		t.Helper()
		revision++
		head := core.Head{Store: "s", Epoch: 1, Revision: revision}
		if err := leader.Store().Commit(t.Context(), []engine.Record{engine.Meta{Head: head}}); err != nil {
			t.Fatal(err)
		}
	}
	commit()
	leader.Leads(lease, leader.Store().Head())
	lag := func(want int64) {
		t.Helper()
		for _, e := range []*Election{leader, standby} {
			e.enrol(t.Context(), "v1", 0)
		}
		commit() // a list does not count what came after
		standby.members(t.Context())
		got := standby.Members()
		if len(got) != 2 || got[0].Lag != 0 || got[1].Lag != want {
			t.Errorf("%+v, want the second to lack %d", got, want)
		}
	}
	lag(1)
	lag(2)
	if _, err := standby.Store().Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	lag(0)
	standby.roster.read = time.Now().Add(-knownFor - time.Second)
	if got := standby.Members(); got != nil {
		t.Errorf("etcd is away, and the list has %+v", got)
	}
}
