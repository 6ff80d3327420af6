package throttle_test

import (
	"testing"
	"time"

	"github.com/weft-hpc/weft/throttle"
)

func TestLines(t *testing.T) {
	l := throttle.Lines{Burst: 3, Every: time.Minute}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		after   time.Duration
		leftOut int
		ok      bool
	}{
		{0, 0, true}, {0, 0, true}, {0, 0, true}, {0, 0, false}, {59 * time.Second, 0, false},
		{time.Second, 2, true}, {0, 0, false},
		{-time.Hour, 0, false}, // a clock that is set back gives nothing and takes nothing
		{2 * time.Hour, 2, true}, {0, 0, true}, {0, 0, true}, {0, 0, false},
	} {
		now = now.Add(tt.after)
		if leftOut, ok := l.Take(now); leftOut != tt.leftOut || ok != tt.ok {
			t.Errorf("at %s: %d, %v; want %d, %v", now.Format(time.TimeOnly), leftOut, ok, tt.leftOut, tt.ok)
		}
	}
	if _, ok := new(throttle.Lines).Take(now); ok {
		t.Error("the zero value lets a line through")
	}
}
