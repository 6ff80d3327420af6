package poll_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/poll"
)

func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, asks := poll.NewKept[int](), 0
		answer := map[string]int{"n1": 4}
		about := func(want, asked int, names ...string) {
			t.Helper()
			got := k.About(t.Context(), slices.Values(names), func(context.Context) map[string]int { asks++; return answer })
			if len(got) != want || asks != asked {
				t.Errorf("%v after %d questions, want %d names after %d", got, asks, want, asked)
			}
		}
		about(0, 0)
		about(1, 1, "n1")
		about(1, 1, "n1", "n2") // at most one question in a minute
		time.Sleep(time.Minute)
		about(1, 1, "n1")
		answer = map[string]int{"n1": 4, "n2": 4}
		about(2, 2, "n1", "n2")
		answer = nil
		time.Sleep(10 * time.Minute)
		about(2, 2)
		about(2, 3, "n1")
		about(2, 3, "n1", "n3")
	})
}

// All who need an answer wait for one question, and for no longer than they have.
func TestKeptWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, answer, got := poll.NewKept[int](), make(chan map[string]int), make(chan map[string]int)
		about := func(ctx context.Context) map[string]int {
			return k.About(ctx, slices.Values([]string{"n1"}), func(context.Context) map[string]int { return <-answer })
		}
		for range 3 {
			go func() { got <- about(t.Context()) }()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if of := about(ctx); of != nil {
			t.Errorf("%v while nobody has answered", of)
		}
		answer <- map[string]int{"n1": 4}
		for range 3 {
			if of := <-got; of["n1"] != 4 {
				t.Errorf("%v", of)
			}
		}
	})
}
