package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// TestARefusedJobIsShown: to its owner and to root, for a day, also by the next server.
func TestARefusedJobIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := server.Refused{JobID: core.JobID{Scheduler: "s", Job: "7"}, UID: 1000, Node: "n2", Why: "before the start"}
		old.At = time.Now()
		s := start(t, func(n *server.Needs) {
			n.Policy, n.Refused = generous{deny: 1000}, []server.Refused{old}
		})
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		if _, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{}); core.ReasonOf(err) != core.PolicyDenied {
			t.Fatal(err)
		}
		verbs := &server.Verbs{Server: s.Server}
		shown := func(job string, uid uint32) string {
			body, err := json.Marshal(server.JobArgs{Job: job})
			if err != nil {
				t.Fatal(err)
			}
			page, err := verbs.Handle(ctx, core.Peer{UID: uid}, hook.Request{Verb: "job", Body: body})
			if err != nil {
				return core.AsError(err).What
			}
			text, err := json.Marshal(page)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		const other = 1001
		const denied = "uid 1000 gets nothing"
		for job, why := range map[string]string{"1": denied, "s/1": denied, "7": "before the start"} {
			for _, uid := range []uint32{0, 1000} {
				if got := shown(job, uid); !strings.Contains(got, why) || !strings.Contains(got, `"refused"`) {
					t.Errorf("job %s, to uid %d: %s", job, uid, got)
				}
			}
			if got := shown(job, other); !strings.Contains(got, "nothing is held for it") {
				t.Errorf("job %s, to another: %s", job, got)
			}
		}
		time.Sleep(server.KeepRefused)
		if got := shown("1", 0); !strings.Contains(got, "nothing is held for it") {
			t.Errorf("after a day: %s", got)
		}
	})
}
