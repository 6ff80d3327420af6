package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Whoever asks while an answer is on its way shares the next one, and two are on their way at most.
func TestQuestionsAreAskedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var asked []string
		go1 := make(chan struct{})
		q := &questions{ask: func(_ context.Context, ids []string) ([]row, error) {
			mu.Lock()
			slices.Sort(ids)
			asked = append(asked, strings.Join(ids, ","))
			mu.Unlock()
			<-go1
			var all []row
			for _, id := range ids {
				all = append(all, row{job: id})
			}
			return all, nil
		}}
		var all sync.WaitGroup
		ask := func(job string) {
			all.Go(func() {
				rows, err := q.of(t.Context(), job, time.Minute)
				if err != nil || len(rows) != 1 || rows[0].job != job {
					t.Errorf("job %s: %v, %v", job, rows, err)
				}
			})
			synctest.Wait()
		}
		for _, job := range []string{"1", "2", "3", "4", "3", "1"} {
			ask(job)
		}
		close(go1)
		all.Wait()
		// 1 and 2 were on their way; the second 1 asked after that answer had begun, and must not have it.
		if got := fmt.Sprint(asked); got != "[1 2 1,3,4]" {
			t.Errorf("asked %v", got)
		}
	})
}

func TestQuestionsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &questions{ask: func(ctx context.Context, _ []string) ([]row, error) {
			<-ctx.Done()
			return nil, core.Errorf(core.SchedulerAway, "squeue: %w", ctx.Err())
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := q.of(ctx, "7", time.Minute)
		checkError(t, err, core.SchedulerAway, "slurmctld did not answer squeue in time")
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s", took)
		}
		_, err = q.of(t.Context(), "8", 3*time.Second)
		checkError(t, err, core.SchedulerAway, "squeue")
		synctest.Wait()
		time.Sleep(time.Minute) // the first one's command ends by itself
		synctest.Wait()
		if q.running != 0 || len(q.waiting) != 0 {
			t.Errorf("%d run and %d wait", q.running, len(q.waiting))
		}
	})
}

func TestAnErrorIsEverybodysWhoAskedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		q := &questions{ask: func(context.Context, []string) ([]row, error) { time.Sleep(time.Second); return nil, broken }}
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if _, err := q.of(t.Context(), fmt.Sprint(i+1), time.Minute); !errors.Is(err, broken) {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		all.Wait()
	})
}
