package server

import "github.com/weft-hpc/weft/core/engine"

// Shadow hears what policy decided. A grant waits for it, so it must return at once.
type Shadow interface {
	Saw(facts engine.Facts, got engine.Decision)
}

// SetShadow has sh hear every decision from now on; nil: nobody does.
func (s *Server) SetShadow(sh Shadow) {
	if sh == nil {
		s.shadow.Store(nil)
		return
	}
	s.shadow.Store(&sh)
}

func (s *Server) saw(facts engine.Facts, got engine.Decision) {
	if sh := s.shadow.Load(); sh != nil {
		(*sh).Saw(facts, got)
	}
}
