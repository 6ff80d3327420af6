package server_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/observe"
	"github.com/weft-hpc/weft/server"
)

// keeper keeps an account as a file does.
type keeper struct {
	state observe.State
	err   error
	saves int
}

func (k *keeper) Load() (observe.State, error) { return k.state, k.err }
func (k *keeper) Save(s observe.State) error   { k.state, k.saves = s, k.saves+1; return nil }

// observing starts a server that only observes the jobs of its scheduler.
func observing(t *testing.T, k *keeper, log *bytes.Buffer) *system {
	return start(t, func(n *server.Needs) {
		n.Kept, n.Log, n.Policy = k, slog.New(slog.NewTextHandler(log, nil)), generous{deny: 66}
		n.Config.Observe = map[string]engine.Observed{"s": {}}
		n.Sizes = func() map[string]int { return map[string]int{"jobs": 76} }
	})
}

// shown is a complete answer with one job of a user, whom Describe tells too.
func (s *system) shown(id string, uid uint32) {
	s.sched.mu.Lock()
	s.sched.uid = uid
	s.sched.mu.Unlock()
	run := core.Run{
		Key:         core.Key{JobID: core.JobID{Scheduler: "s", Job: id}},
		Fingerprint: core.Fingerprint{UID: uid, Submitted: 1},
	}
	job := core.JobStatus{Run: run, State: core.JobRunning, Hosts: "n[1-4]"}
	s.sched.Script <- core.Jobs{Complete: true, Jobs: []core.JobStatus{job}}
	synctest.Wait()
}

// TestTheAccountOutlivesTheServer, and a job that it has is counted once. Weft makes nothing for the job meanwhile.
func TestTheAccountOutlivesTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		k := &keeper{}
		s := observing(t, k, &log)
		s.shown("7", 1000)
		s.shown("8", 66)
		if row := s.Observed(); row.Jobs != 2 || row.Granted != 1 || row.Refused != 1 {
			t.Errorf("%+v", row)
		}
		if _, err := s.Reserve(t.Context(), "n1", ask("8", "n1"), core.Peer{}); err == nil {
			t.Error("an observed job has a VNI")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if k.saves == 0 {
			t.Error("the account is not kept while the server runs")
		}
		s.shown("9", 1000)
		s.stop()

		s = observing(t, k, &log)
		s.shown("9", 1000)
		if row := s.Observed(); row.Jobs != 3 || row.Granted != 2 {
			t.Errorf("after a restart: %+v", row)
		}
		s.stop()
		if strings.Contains(log.String(), "account") {
			t.Error(log.String())
		}
	})
}

// TestAnAccountThatCannotBeRead is in the log, and another one begins: a server that did not start would fail jobs.
func TestAnAccountThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		some := observe.State{Hours: []observe.Hour{{At: time.Now(), Counts: observe.Counts{Jobs: 5}}}}
		k := &keeper{err: errors.New("damaged"), state: some}
		s := observing(t, k, &log)
		s.shown("7", 1000)
		said := log.String()
		told := strings.Contains(said, "begins again") && strings.Contains(said, "damaged")
		if row := s.Observed(); row.Jobs != 1 || !told {
			t.Errorf("%+v\n%s", row, said)
		}
		s.stop()
		if k.saves == 0 || len(k.state.Jobs) != 1 {
			t.Errorf("the account that began is not kept: %+v", k.state)
		}
	})
}
