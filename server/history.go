package server

import (
	"time"

	"github.com/weft-hpc/weft/core/engine"
)

// History hears which reservations are made and end, once that is durable. The writer calls it: it must return at once.
type History interface {
	Made(engine.Reservation)
	Ended(serial uint64, at time.Time) // the job is over; may come again when the VNIs are free
}

// remember tells the history of one Step that is durable. What was found on nodes was decided by no policy, and is no part of it.
func (s *Server) remember(d done) {
	if s.needs.History == nil {
		return
	}
	for _, rec := range d.records {
		switch r := rec.(type) {
		case engine.Reservation:
			if !r.Unknown && !r.Adopted {
				s.needs.History.Made(r)
			}
		case engine.Transition:
			if r.State == engine.Draining {
				s.needs.History.Ended(r.Serial, r.Since)
			}
		case engine.Tombstone:
			s.needs.History.Ended(r.Serial, s.now().Wall)
		}
	}
}
