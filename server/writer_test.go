package server_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// A job whose scheduler answers at once can share the commit of others that the writer makes next. On a busy machine
// the writer is sometimes faster than the scheduler.
func TestAQuickSchedulerCostsNoCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		s.attend(t.Context(), "n1", "b", nil)
		commits := 0 // the writer's, and this test's while the writer waits
		var gate chan struct{}
		s.store.Before = func([]engine.Record) error {
			if commits++; gate != nil {
				<-gate
			}
			return nil
		}
		var group sync.WaitGroup
		reserve := func(job string) {
			group.Go(func() {
				if _, err := s.Reserve(t.Context(), "n1", ask(job, "b"), core.Peer{}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		const rounds = 20
		for i := range rounds {
			hang := make(chan struct{})
			s.sched.hang = hang
			reserve(fmt.Sprint("second", i)) // is being described
			s.sched.hang = nil
			gate = make(chan struct{})
			reserve(fmt.Sprint("first", i)) // its commit is under way
			close(hang)
			reserve(fmt.Sprint("third", i)) // waits for the writer, as the second's description does
			open := gate
			gate = nil
			close(open)
			group.Wait()
			synctest.Wait()
		}
		if commits >= 3*rounds {
			t.Errorf("%d rounds took %d commits", rounds, commits)
		}
	})
}
