package poll

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause waits for d and reports whether ctx still lives then. It returns at once when ctx ends.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Backoff doubles a pause so many times, up to most. It draws the pause between the half and the whole, so that many
// hosts do not come at once.
func Backoff(pause, most time.Duration, doublings int) time.Duration {
	for ; doublings > 0 && pause < most; doublings-- {
		pause *= 2
	}
	pause = min(pause, most)
	return pause/2 + rand.N(pause/2+1)
}
