package host

import (
	"slices"
	"time"

	"github.com/weft-hpc/weft/poll"
)

// breaker counts the deaths within a window.
type breaker struct {
	limits Limits
	deaths []time.Time
}

// died notes a death and says how long to wait before the next start; broken says that there were too many.
func (b *breaker) died(now time.Time) (wait time.Duration, broken bool) {
	b.deaths = append(b.deaths, now)
	if b.recent(now) >= b.limits.Deaths {
		return b.limits.Window / time.Duration(b.limits.Deaths), true
	}
	return poll.Backoff(b.limits.Backoff, b.limits.BackoffMost, len(b.deaths)-1), false
}

func (b *breaker) recent(now time.Time) int {
	b.deaths = slices.DeleteFunc(b.deaths, func(t time.Time) bool { return now.Sub(t) >= b.limits.Window })
	return len(b.deaths)
}

func (b *breaker) forgive() { b.deaths = nil }
