package host

import (
	"math/rand/v2"
	"slices"
	"time"
)

// breaker counts the deaths within a window.
type breaker struct {
	limits Limits
	deaths []time.Time
}

// died notes a death and says how long to wait before the next start; broken says that there should be none.
func (b *breaker) died(now time.Time) (wait time.Duration, broken bool) {
	b.deaths = append(b.deaths, now)
	if b.recent(now) >= b.limits.Deaths {
		return 0, true
	}
	wait = b.limits.Backoff
	for range len(b.deaths) - 1 {
		wait = min(2*wait, b.limits.BackoffMost)
	}
	return wait/2 + rand.N(wait/2+1), false
}

func (b *breaker) recent(now time.Time) int {
	b.deaths = slices.DeleteFunc(b.deaths, func(t time.Time) bool { return now.Sub(t) >= b.limits.Window })
	return len(b.deaths)
}

func (b *breaker) forgive() { b.deaths = nil }
