package election

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/store/etcd"
)

func head(epoch uint64) core.Head { return core.Head{Store: "a", Epoch: epoch, Revision: 10 * epoch} }

// A node waits until another server leads: neither for a leader that has written nothing yet, nor for one that read its
// own store again.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Election{log: slog.New(slog.DiscardHandler), changed: make(chan struct{})}
		e.state.Head = head(3)
		leads := func(term int64, epoch uint64, wrote bool) {
			e.set(func(s *State) { s.Leader, s.Head = etcd.Leader{Name: "a", Term: term, Wrote: wrote}, head(epoch) })
		}
		answered := make(chan core.Head, 1)
		ask := func(seen uint64) {
			go func() {
				h, _ := e.Await(t.Context(), head(seen))
				answered <- h
			}()
			synctest.Wait()
		}
		waits := func(why string) {
			t.Helper()
			synctest.Wait()
			select {
			case h := <-answered:
				t.Fatalf("%s: it is told %+v", why, h)
			default:
			}
		}
		told := func(epoch uint64) {
			t.Helper()
			synctest.Wait()
			select {
			case h := <-answered:
				if h != head(epoch) {
					t.Errorf("it is told %+v, want epoch %d", h, epoch)
				}
			default:
				t.Fatal("it waits")
			}
		}
		leads(100, 3, true)
		ask(2)
		told(3)
		ask(3)
		waits("the same server leads")
		leads(100, 4, true)
		waits("the leader read its store again")
		leads(0, 4, false)
		waits("no server leads")
		leads(200, 4, false)
		waits("the new leader has written nothing")
		leads(200, 5, true)
		told(5)
		ask(0)
		told(5)

		// A server that starts between a leader's key and its first commit reads the head of the leader before.
		*e = Election{log: e.log, changed: make(chan struct{})}
		leads(300, 5, false)
		ask(5)
		waits("the first leader has written nothing")
		leads(300, 6, true)
		told(6)

		// A server that cannot read the store lets the node ask another one, and keeps it for a while.
		e.tell(core.Errorf(core.StoreFailed, "no"))
		began := time.Now()
		_, err := e.Await(t.Context(), head(1))
		if core.ReasonOf(err) != core.ServerAway || time.Since(began) != awaitFault {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		e.tell(nil)
		if _, err := e.Await(ctx, head(6)); err == nil || time.Since(began) < time.Hour {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A server that could not read the store for a lease knows no leader: its name would send people to one that may have
// ended.
func TestNoLeaderIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Election{log: slog.New(slog.DiscardHandler), changed: make(chan struct{})}
		e.candidate.Time = 5 * time.Second
		e.set(func(s *State) { s.Leader, s.Read = etcd.Leader{Name: "a", Term: 7, Wrote: true}, time.Now() })
		e.tell(core.Errorf(core.StoreFailed, "no"))
		time.Sleep(5 * time.Second)
		if s := e.State(); s.Leader.Name != "a" {
			t.Errorf("after a lease %+v leads", s.Leader)
		}
		time.Sleep(time.Second)
		if s := e.State(); s.Leader.Term != 0 {
			t.Errorf("later %+v leads", s.Leader)
		}
		e.tell(nil)
		if s := e.State(); s.Leader.Name != "a" {
			t.Errorf("where the store is read again %+v leads", s.Leader)
		}
	})
}
