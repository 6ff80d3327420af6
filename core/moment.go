package core

import "time"

// Moment is when an input happened: Run is monotonic time since the process began to work and drives every rule; Wall is for people only, since it jumps.
type Moment struct {
	Uptime time.Duration
	Wall   time.Time
}
