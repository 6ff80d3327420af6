package poll

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
)

// Callers share the next answer while one is on its way. Two are on their way at most.
func TestQuestionsAreAskedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var asked []string
		go1 := make(chan struct{})
		q := NewQuestions(func(_ context.Context, ids []string) (map[string]string, error) {
			mu.Lock()
			slices.Sort(ids)
			asked = append(asked, strings.Join(ids, ","))
			mu.Unlock()
			<-go1
			all := map[string]string{}
			for _, id := range ids {
				all[id] = "of " + id
			}
			return all, nil
		})
		var all sync.WaitGroup
		ask := func(job string) {
			all.Go(func() {
				if answer, err := q.About(t.Context(), job, time.Minute); err != nil || answer != "of "+job {
					t.Errorf("job %s: %v, %v", job, answer, err)
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
		late := errors.New("late")
		q := NewQuestions(func(ctx context.Context, _ []string) (map[string]int, error) {
			<-ctx.Done()
			return nil, late
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := q.About(ctx, "7", time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s", took)
		}
		if _, err := q.About(t.Context(), "8", 3*time.Second); !errors.Is(err, late) {
			t.Error(err)
		}
		synctest.Wait()
		time.Sleep(time.Minute) // the first question ends by itself
		synctest.Wait()
		if q.running != 0 || len(q.waiting) != 0 {
			t.Errorf("%d run and %d wait", q.running, len(q.waiting))
		}
	})
}

func TestAnErrorIsEverybodysWhoAskedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		q := NewQuestions(func(context.Context, []string) (map[string]int, error) {
			time.Sleep(time.Second)
			return nil, broken
		})
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if _, err := q.About(t.Context(), fmt.Sprint(i+1), time.Minute); !errors.Is(err, broken) {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		all.Wait()
	})
}
