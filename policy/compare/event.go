package compare

import (
	"cmp"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core/engine"
)

// event is a change of use.
type event struct {
	at   time.Time
	kind int
	of   int // its stay
}

// The kinds of events, in the order that they have at one time: a job leaves its quotas, leaves its pools, comes.
const (
	leaves = iota
	rested
	comes
)

// events are those of all jobs that policy itself does not deny, in order.
func events(stays []stay, pools []Pool) []event {
	var out []event
	for i, s := range stays {
		if s.gets.Deny != nil {
			continue
		}
		out = append(out, event{s.made, comes, i})
		if s.ended.IsZero() {
			continue
		}
		end := s.ended
		if end.Before(s.made) {
			end = s.made
		}
		out = append(out, event{end, leaves, i}, event{end.Add(quarantine(s.gets, pools)), rested, i})
	}
	slices.SortStableFunc(out, func(a, b event) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.kind, b.kind)) })
	return out
}

// quarantine is the longest of the pools that a job has VNIs of.
func quarantine(d *engine.Decision, pools []Pool) time.Duration {
	longest := 0.0
	for _, p := range pools {
		if slices.ContainsFunc(d.VNIs, func(w engine.Wanted) bool { return w.Pool == p.Name }) {
			longest = max(longest, p.Quarantine)
		}
	}
	return time.Duration(longest * float64(time.Second))
}
