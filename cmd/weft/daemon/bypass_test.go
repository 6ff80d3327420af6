package daemon

import (
	"testing"
	"time"
)

func TestParseUntil(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 3, 1, 12, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"13:00": "2026-03-01T13:00:00+01:00", "12:30": "2026-03-02T12:30:00+01:00", "4h": "2026-03-01T16:30:00+01:00",
		"2026-03-03 08:00": "2026-03-03T08:00:00+01:00", "2026-03-03T08:00": "2026-03-03T08:00:00+01:00", "2026-03-03T08:00:00Z": "2026-03-03T08:00:00Z",
		"": "", "tomorrow": "", "25:00": "", "4": "",
	} {
		at, err := parseUntil(text, now)
		if got := at.Format(time.RFC3339); (err != nil) != (want == "") || want != "" && got != want {
			t.Errorf("%q is %s, %v; it should be %q", text, got, err, want)
		}
	}
}
