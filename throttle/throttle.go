// Package throttle bounds how many lines of one kind a log takes: a system of ten thousand nodes that comes back, or somebody who knocks all day, must not
// fill a disk, nor hide what else is said.
package throttle

import (
	"sync"
	"time"
)

// Lines lets Burst lines through at once, and one more each Every. The zero value lets nothing through. Safe for concurrent use.
type Lines struct {
	Burst int
	Every time.Duration

	mu      sync.Mutex
	begun   bool
	tokens  float64
	at      time.Time
	leftOut int
}

// Take asks for a line at now. With ok it may be written, and leftOut is how many were not since the one before: the line should say so.
func (l *Lines) Take(now time.Time) (leftOut int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		l.begun, l.tokens, l.at = true, float64(l.Burst), now
	}
	if d := now.Sub(l.at); d > 0 {
		l.tokens, l.at = min(float64(l.Burst), l.tokens+float64(d)/float64(l.Every)), now
	}
	if l.tokens < 1 {
		l.leftOut++
		return 0, false
	}
	l.tokens--
	leftOut, l.leftOut = l.leftOut, 0
	return leftOut, true
}
