package pbs_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/pbs/pbstest"
)

// TestDescribesShareQuestions: a few questions are enough for many jobs that begin at once. A job that PBS does not
// know spoils no other's answer.
func TestDescribesShareQuestions(t *testing.T) {
	const jobs = 40
	for name, most := range map[string]int{"all known": 3, "one unknown": 3 + jobs} {
		synctest.Test(t, func(t *testing.T) {
			c := pbstest.New(jobs)
			var mu sync.Mutex
			asked := 0
			p := pbs.NewWith("tioga", func(ctx context.Context, name string, args ...string) ([]byte, error) {
				if name == "qstat" {
					mu.Lock()
					asked++
					mu.Unlock()
					time.Sleep(time.Second)
				}
				return c.Command(ctx, name, args...)
			})
			ids := make([]string, jobs)
			for i := range ids {
				ids[i] = c.Submit(pbstest.Job{}).ID
			}
			c.Schedule()
			if name == "one unknown" {
				ids = append(ids, "999.pbs1")
			}
			var all sync.WaitGroup
			for _, id := range ids {
				all.Go(func() {
					job, err := p.Describe(t.Context(), key(id, 1), nil, core.Peer{})
					switch {
					case id == "999.pbs1" && reason(err) != core.JobUnknown:
						t.Errorf("%s: a job that never was: %v", name, err)
					case id != "999.pbs1" && (err != nil || job.Job != id || job.Gone):
						t.Errorf("%s: job %s: %+v, %v", name, id, job, err)
					}
				})
			}
			all.Wait()
			if asked > most {
				t.Errorf("%s: %d questions, want at most %d", name, asked, most)
			}
		})
	}
}
