package server_test

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// TestADrainThatEndedIsAgreed: a person's resume counts, also where the server crashes before it and as soon as the
// verb has ended.
func TestADrainThatEndedIsAgreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &mirrored{scheduler: scheduler{Script: make(schedulertest.Script)}, shown: map[string]core.Drain{}}
		kept.slow = time.Millisecond
		needs := func(n *server.Needs) {
			n.Config.Nodes = []string{"n1"}
			n.Schedulers["kept"] = core.Dispatcher{Of: kept}
			n.Config.Schedulers = append(n.Config.Schedulers, "kept")
		}
		before := start(t, needs)
		var crashed atomic.Bool
		before.store.Before = func([]engine.Record) error {
			time.Sleep(10 * time.Millisecond)
			if crashed.Load() {
				return errors.New("crashed")
			}
			return nil
		}
		body, _ := json.Marshal(server.NodeArgs{Nodes: "n1", Reason: "fan"})
		verbs := &server.Verbs{Server: before.Server}
		got, err := verbs.Handle(t.Context(), core.Peer{}, hook.Request{Verb: "drain", Body: body})
		crashed.Store(true)
		want := []server.Told{{Scheduler: "kept", Nodes: "n1", Done: true, Why: "drained: weft: fan"}}
		if diff := cmp.Diff(want, got.(server.Count).Told); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
		before.stop()
		if err := kept.Resume(t.Context(), "n1"); err != nil {
			t.Fatal(err)
		}

		after := start(t, func(n *server.Needs) {
			needs(n)
			n.Store = before.store.Store
		})
		defer after.stop()
		time.Sleep(2 * server.DefaultLimits.Mirror)
		synctest.Wait()
		if got := row(t, &server.Verbs{Server: after.Server}, "n1"); got.Drained != "" || len(kept.shown) > 0 {
			t.Errorf("n1 is drained for %q, and in its scheduler %v", got.Drained, kept.shown)
		}
	})
}
