package server

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Silent is a scheduler that does not tell its jobs. Weft frees nothing of it.
type Silent struct {
	Scheduler string    `json:"scheduler"`
	Since     time.Time `json:"since"`         // its last complete answer, or the server's start
	Why       string    `json:"why,omitempty"` // with the remedy; empty: Weft waits for its answer
}

// longAnswer is the age of an answer from which a scheduler that gave no error is silent. Adapters wait a minute for an
// answer (poll.Patience).
const longAnswer = 5 * time.Minute

// silence is when each scheduler that can be watched has told all its jobs, and why it does not.
type silence struct {
	mu sync.Mutex
	of map[string]Silent
}

// answered notes a complete answer, or the server's start.
func (s *silence) answered(name string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]Silent{}
	}
	s.of[name] = Silent{Scheduler: name, Since: now}
}

// failed notes why a scheduler gave no answer.
func (s *silence) failed(name, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.of[name]; ok {
		one.Why = why
		s.of[name] = one
	}
}

// ended forgets a scheduler that cannot be watched.
func (s *silence) ended(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, name)
}

// Silent lists the schedulers that do not tell their jobs.
func (s *Server) Silent() []Silent {
	now := s.now().Wall
	s.silence.mu.Lock()
	of := maps.Clone(s.silence.of)
	s.silence.mu.Unlock()
	attached := func(node string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.sessions[node] != nil
	}
	var out []Silent
	for _, name := range slices.Sorted(maps.Keys(of)) {
		one := of[name]
		if at := s.needs.At[name]; at != "" && !attached(at) {
			one.Why = "node " + at + ": its agent, which asks this scheduler, is not connected; see whether it runs: " +
				"`systemctl status weft-agent` there"
		}
		if one.Why != "" || now.Sub(one.Since) > longAnswer {
			out = append(out, one)
		}
	}
	return out
}
