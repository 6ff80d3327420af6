package server

import "time"

// Refusal is a reload that was refused: what was in force before it still is.
type Refusal struct {
	At  time.Time `json:"at"`
	Why string    `json:"why"` // the first thing that is wrong, on one line
}
