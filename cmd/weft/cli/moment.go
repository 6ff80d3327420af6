package cli

import (
	"fmt"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Moment reads a time of the past: how long ago, a day or a time; empty: the zero time.
func Moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	const how = `write how long ago, as 36h, or a day, as 2026-01-31, or a time, as "2026-01-31 12:00:00"`
	return time.Time{}, fmt.Errorf("since %q: "+how, core.Clip(text))
}
