package compare

import "time"

// MaxSpans is how many spans of a pool or a quota are named.
const MaxSpans = 10

// Span is a time in which something did not suffice.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"` // zero: to the end of what is known
}

// Spans are the first of them, and how many there are beyond. Those that touch are one.
type Spans struct {
	Spans []Span `json:"spans,omitempty"`
	More  int    `json:"more_spans,omitempty"`
	last  Span   // of those in More
}

// add takes spans in the order in which they begin.
func (s *Spans) add(from, to time.Time) {
	last := &s.last
	if s.More == 0 && len(s.Spans) > 0 {
		last = &s.Spans[len(s.Spans)-1]
	}
	switch known := s.More > 0 || len(s.Spans) > 0; {
	case known && (last.To.IsZero() || !from.After(last.To)):
		if to.IsZero() || !last.To.IsZero() && to.After(last.To) {
			last.To = to
		}
	case len(s.Spans) < MaxSpans:
		s.Spans = append(s.Spans, Span{from, to})
	default:
		s.More++
		s.last = Span{from, to}
	}
}
