package daemon

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
)

func TestWatchdog(t *testing.T) {
	late := func(ctx context.Context) error {
		<-ctx.Done()
		return core.Errorf(core.TimedOut, "no answer: %w", context.Cause(ctx))
	}
	asked := 0
	for name, c := range map[string]struct {
		look func(context.Context) error
		told int
	}{
		"the writer answers":               {func(context.Context) error { return nil }, 10},
		"the store failed, and it says so": {func(context.Context) error { return core.Errorf(core.StoreFailed, "the disk is full") }, 10},
		"so many ask that few get in": {func(context.Context) error {
			if asked++; asked%5 != 0 {
				return core.Errorf(core.Overloaded, "many wait")
			}
			return nil
		}, 7},
		"the writer hangs": {late, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := 0
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					Watchdog{Every: 3 * time.Second, Tell: func() { told++ }}.run(ctx, c.look, slog.New(slog.DiscardHandler))
				}()
				time.Sleep(9*time.Second + 500*time.Millisecond)
				cancel()
				<-done
				if told != c.told {
					t.Errorf("it was told %d times in 9.5 s, not %d", told, c.told)
				}
			})
		})
	}
	Watchdog{}.run(t.Context(), late, nil) // there is none: it returns
}
