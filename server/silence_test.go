package server_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
)

// TestSilent: status names a scheduler that does not list its jobs, and why, until its next complete answer.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, atLogin)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		silent := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			got := s.Silent()
			if len(got) != len(want) {
				t.Fatalf("%s: %+v", when, got)
			}
			for i, one := range got {
				name, why, _ := strings.Cut(want[i], ": ")
				if one.Scheduler != name || !strings.Contains(one.Why, why) || why == "" && one.Why != "" {
					t.Errorf("%s: %+v, want %s", when, one, want[i])
				}
			}
		}
		login := s.half(ctx, "login")
		answers := map[string]func(core.Jobs){
			"s": func(j core.Jobs) { s.sched.Script <- j },
			"f": func(j core.Jobs) { login.next <- core.Report{Answer: &core.Forward{Scheduler: "f", Ask: 1, Jobs: j}} },
		}
		for name, tell := range answers {
			tell(core.Jobs{Asking: true})
			silent("a question was asked a moment ago")
			tell(core.Jobs{Silent: "squeue: no answer; see why"})
			silent("no answer", name+": squeue: no answer; see why")
			tell(core.Jobs{Asking: true})
			silent("another question", name+": squeue: no answer; see why")
			tell(core.Jobs{Complete: true})
			silent("an answer")
		}
		time.Sleep(6 * time.Minute)
		silent("no word for long", "f: ", "s: ")
		cancel()
		silent("the agent is gone", "f: node login: its agent", "s: ")
	})
}
