package compare

import (
	"sync"
	"time"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
)

// Bounds of a Shadow: what it keeps is at most maxGroups times Examples pairs of texts, whatever jobs come and however long it is there.
const (
	waiting   = 1024 // jobs that wait to be decided on again
	maxGroups = 256
	maxText   = 300 // bytes of what a job gets
)

// Shadow decides beside the policy in force and counts what would be otherwise. It changes nothing.
type Shadow struct {
	queue chan seen
	done  chan struct{}

	mu       sync.Mutex
	of, live *policy.Policy
	report   Shadowed
	groups   groups
}

// Shadowed is what a Shadow has seen.
type Shadowed struct {
	Policy  string    `json:"policy"`  // hash of the one that decides beside; empty: none does
	Against string    `json:"against"` // hash of the one in force
	Since   time.Time `json:"since,omitzero"`
	Jobs    int       `json:"jobs"`    // that both decided on
	Changed int       `json:"changed"` // that would have got something else
	Dropped int       `json:"dropped"` // that were not looked at: too many came at once, or the policy in force changed meanwhile
	More    int       `json:"more"`    // differences beyond the groups that are kept
	Groups  []Group   `json:"groups"`
}

type seen struct {
	facts engine.Facts
	got   engine.Decision
}

// NewShadow starts p beside live, which is in force. Close must be called.
func NewShadow(p, live *policy.Policy) *Shadow {
	s := newShadow(p, live)
	go s.run()
	return s
}

func newShadow(p, live *policy.Policy) *Shadow {
	s := &Shadow{queue: make(chan seen, waiting), done: make(chan struct{})}
	s.Turn(p, live)
	return s
}

// Turn takes both policies as they are after a reload. Where another is in force by then, the count begins anew: it would be of two things.
func (s *Shadow) Turn(p, live *policy.Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of, s.live = p, live
	if s.report.Policy != p.Hash() || s.report.Against != live.Hash() {
		s.report, s.groups = Shadowed{Policy: p.Hash(), Against: live.Hash(), Since: time.Now()}, groups{}
	}
}

// Saw takes a decision of the policy in force. It returns at once.
func (s *Shadow) Saw(facts engine.Facts, got engine.Decision) {
	select {
	case <-s.done:
	case s.queue <- seen{facts, got}:
	default:
		s.drop()
	}
}

func (s *Shadow) drop() {
	s.mu.Lock()
	s.report.Dropped++
	s.mu.Unlock()
}

// Close ends it.
func (s *Shadow) Close() { close(s.done) }

func (s *Shadow) run() {
	for {
		select {
		case <-s.done:
			return
		case w := <-s.queue:
			s.look(w)
		}
	}
}

func (s *Shadow) look(w seen) {
	defer func() {
		if recover() != nil { // it must never take the server with it
			s.drop()
		}
	}()
	s.mu.Lock()
	of, live := s.of, s.live
	s.mu.Unlock()
	if live.Hash() != w.got.Policy {
		s.drop()
		return
	}
	next := of.Decide(w.facts)
	var found []Group
	if !alike(&w.got, &next) {
		x, y := live.Explain(w.facts), of.Explain(w.facts)
		found = differences(&x, &y)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.report.Against != w.got.Policy {
		s.report.Dropped++
		return
	}
	s.report.Jobs++
	if len(found) > 0 {
		s.report.Changed++
	}
	for _, d := range found {
		if s.groups[d.key] == nil && len(s.groups) == maxGroups {
			s.report.More++
			continue
		}
		job, was := w.facts.Job, d.Some[0]
		s.groups.of(d).add(Change{
			hclfile.Printable(job.Scheduler+"/"+job.Job, maxText), hclfile.Printable(was.Old, maxText), hclfile.Printable(was.New, maxText),
		})
	}
}

// Report is what it has seen so far.
func (s *Shadow) Report() Shadowed {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.report
	out.Groups = s.groups.sorted()
	return out
}
