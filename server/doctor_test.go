package server_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/server"
)

// The server's doctor says why nothing is granted, as long as nothing is.
func TestTheDoctorSaysThatNothingIsGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { n.Config.Nodes = []string{"n1", "n2"} })
		defer s.stop()
		finds := func(want ...string) {
			t.Helper()
			time.Sleep(2 * server.DefaultLimits.Tick)
			found, err := s.Check(t.Context())
			if err != nil || len(found) != min(len(want), 1) {
				t.Fatalf("got %+v and %v, want %q", found, err, want)
			}
			for _, f := range found {
				text := f.What + ": " + f.Evidence
				if f.Severity != core.Critical || f.Remedy == "" || !strings.Contains(text, want[0]) {
					t.Errorf("got %+v, want %q", f, want[0])
				}
			}
		}
		s.attend(t.Context(), "n1", "b", nil)
		finds("the store is new; nodes that have not reported yet: 1: n2")
		s.attend(t.Context(), "n2", "b", nil)
		finds()
		s.store.Before = func([]engine.Record) error { return errors.New("no space left on device") }
		_, _ = s.Reserve(t.Context(), "n1", ask("1", "b"), core.Peer{})
		finds("nothing is granted: store: no space left on device")
	})
}
