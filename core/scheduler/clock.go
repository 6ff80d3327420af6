package scheduler

import (
	"strconv"
	"strings"
)

// Clock reads a time limit such as 1-02:30:00, 26:30:00 or 30:00, in seconds.
func Clock(text string) (seconds int64, ok bool) {
	days, clock, ok := strings.Cut(text, "-")
	if !ok {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	if len(parts) == 2 {
		parts = []string{"0", parts[0], parts[1]}
	}
	if len(parts) != 3 {
		return 0, false
	}
	parts = append([]string{days}, parts...)
	for i, unit := range []int64{24 * 60 * 60, 60 * 60, 60, 1} {
		n, err := strconv.ParseUint(parts[i], 10, 31) // so that the sum fits
		if err != nil {
			return 0, false
		}
		seconds += int64(n) * unit
	}
	return seconds, true
}
