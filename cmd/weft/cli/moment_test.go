package cli

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	now := time.Date(2026, 2, 1, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"": {}, "36h": now.Add(-36 * time.Hour),
		"2026-01-31": time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local), "2026-01-31 12:00:00": now.Add(-24 * time.Hour),
	} {
		if got, err := Moment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"soon", "-1h", "31.1.2026"} {
		if got, err := Moment(text, now); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
