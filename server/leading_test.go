package server_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// A server that was paused after a commit, and leads no longer, tells schedulers nothing. Hooks may ask again.
func TestALateWordToAScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late atomic.Bool
		s := start(t, func(n *server.Needs) {
			n.Config.Nodes = []string{"n1", "n2", "n3"}
			n.Leads = func() bool { return !late.Load() }
		})
		defer s.stop()
		for _, n := range []string{"n1", "n2", "n3"} {
			s.attend(t.Context(), n, "b", nil)
		}
		verbs := &server.Verbs{Server: s.Server}
		drain := func(node string) {
			t.Helper()
			body := fmt.Appendf(nil, `{"nodes": %q, "reason": "fan"}`, node)
			if _, err := verbs.Handle(t.Context(), core.Peer{}, hook.Request{Verb: "drain", Body: body}); err != nil {
				t.Fatal(err)
			}
		}
		drain("n3")
		s.store.After = func([]engine.Record) error {
			late.Store(true)
			return nil
		}
		drain("n2")
		synctest.Wait()
		if diff := cmp.Diff([]string{"n3: fan"}, s.sched.drained); diff != "" {
			t.Errorf("the scheduler was told (-want +got):\n%s", diff)
		}
		_, err := s.Reserve(t.Context(), "n1", ask("1", "b"), core.Peer{})
		if core.ReasonOf(err) != core.ServerAway || s.sched.asked != 0 {
			t.Errorf("a job: %v, and the scheduler was asked %d times", err, s.sched.asked)
		}
	})
}
