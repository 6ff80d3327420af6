package core

import "time"

// Moment is the time of an input. Uptime is monotonic, counts from the start of the process, and drives every rule.
// Wall is for people only, since it jumps.
type Moment struct {
	Uptime time.Duration
	Wall   time.Time
}
