package server

import (
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Meter counts what the server does. Many goroutines call it, the writer among them: it must return at once. An empty Reason says that it went well.
type Meter interface {
	Reserved(scheduler string, reason core.Reason, took time.Duration)  // a node's prepare was answered; scheduler is as the node said it
	Described(scheduler string, reason core.Reason, took time.Duration) // a scheduler told of a job
	Committed(inputs int, reason core.Reason, took time.Duration)       // a batch of inputs became durable
	Answered(scheduler string)                                          // a complete answer of a scheduler's Watch came
	Denied(name string, by engine.Enforce)                              // a deny of policy was for a job
	Exceeded(quota string, by engine.Enforce)                           // a job went beyond a quota
	Degraded(scheduler string)                                          // a job runs without isolation, since no VNI was free and policy has on_failure = "degrade"
}

// unmetered counts nothing.
type unmetered struct{}

func (unmetered) Reserved(string, core.Reason, time.Duration)  {}
func (unmetered) Described(string, core.Reason, time.Duration) {}
func (unmetered) Committed(int, core.Reason, time.Duration)    {}
func (unmetered) Answered(string)                              {}
func (unmetered) Denied(string, engine.Enforce)                {}
func (unmetered) Exceeded(string, engine.Enforce)              {}
func (unmetered) Degraded(string)                              {}

// Waiting is how many inputs wait for the writer, and how many may.
func (s *Server) Waiting() (now, most int) { return len(s.queue), cap(s.queue) }
