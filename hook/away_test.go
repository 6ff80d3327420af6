package hook

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
)

// TestAgainWaitsForAnAgentThatRestarts, for its time and no longer, and for no other failure.
func TestAgainWaitsForAnAgentThatRestarts(t *testing.T) {
	const limit = 10 * time.Second
	away := core.Errorf(core.ServerAway, "there is no socket")
	for name, c := range map[string]struct {
		call        func(try int) error
		want        error
		least, most time.Duration
	}{
		"there":       {func(int) error { return nil }, nil, 0, 0},
		"it refuses":  {func(int) error { return errors.ErrUnsupported }, errors.ErrUnsupported, 0, 0},
		"never there": {func(int) error { return away }, away, Away(limit) - mostPause, Away(limit)},
		"back": {func(try int) error {
			if try < 4 {
				return away
			}
			return nil
		}, nil, 7 * firstPause, 7 * firstPause},
		// The time for its return begins when it goes.
		"hangs and restarts": {func(try int) error {
			if try == 1 {
				time.Sleep(time.Minute)
			}
			return away
		}, away, time.Minute + Away(limit) - mostPause, time.Minute + Away(limit)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, tries := time.Now(), 0
				err := Again(t.Context(), limit, func() error {
					tries++
					return c.call(tries)
				})
				if took := time.Since(began); !errors.Is(err, c.want) || took < c.least || took > c.most {
					t.Errorf("%v after %s and %d tries", err, took, tries)
				}
			})
		})
	}
}
