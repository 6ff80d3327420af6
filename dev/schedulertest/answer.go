package schedulertest

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Lie is a way in which an answer is not the truth.
type Lie uint8

// The lies of schedulers. Silence and errors are no answers and need no model.
const (
	Honest     Lie = iota
	Stale          // from before the question: a controller that answers from a cache, or has just come back with an older state
	Lacking        // some jobs are not in it: another partition, a federation's other half, a page that was cut
	Empty          // no job at all: a controller that started with an empty state
	Doubled        // a job is in it twice, the second time as it was before
	CountEarly     // restart counts are one too high
	CountLate      // restart counts are one too low
	numLies
)

func (l Lie) String() string {
	return [...]string{"honest", "stale", "lacking", "empty", "doubled", "count too early", "count too late", "unknown"}[min(l, numLies)]
}

// AnyLie picks one of them, never Honest.
func AnyLie(r *rand.Rand) Lie { return 1 + Lie(r.IntN(int(numLies)-1)) }

// Truth is the complete answer as it should be now.
func (m *Model) Truth() core.Jobs {
	out := core.Jobs{Complete: true, Jobs: make([]core.JobStatus, len(m.jobs))}
	for i, j := range m.jobs {
		out.Jobs[i] = core.JobStatus{Run: j.Run, State: j.State, Hosts: strings.Join(j.Hosts, ",")}
	}
	return out
}

// Answer is a complete answer with a lie in it.
func (m *Model) Answer(lie Lie, r *rand.Rand) core.Jobs {
	truth := m.Truth()
	switch lie {
	case Stale:
		if len(m.past) > 0 {
			return m.past[r.IntN(len(m.past))]
		}
	case Lacking:
		truth.Jobs = slices.DeleteFunc(truth.Jobs, func(core.JobStatus) bool { return r.IntN(2) == 0 })
	case Empty:
		truth.Jobs = nil
	case Doubled:
		if len(m.past) > 0 {
			truth.Jobs = append(truth.Jobs, m.past[r.IntN(len(m.past))].Jobs...)
		}
		truth.Jobs = append(truth.Jobs, truth.Jobs...)
	case CountEarly, CountLate:
		for i := range truth.Jobs {
			truth.Jobs[i].Generation = shift(truth.Jobs[i].Generation, lie)
		}
	default: // the truth
	}
	return truth
}

// Describe tells a job's facts with a lie in them. The error is core.JobUnknown for a job that it does not know.
func (m *Model) Describe(key core.Key, lie Lie, r *rand.Rand) (core.Job, *core.Error) {
	j := m.find(key.JobID)
	if j == nil || lie == Empty || lie == Lacking && r.IntN(2) == 0 {
		return core.Job{}, core.Errorf(core.JobUnknown, "job %s: the scheduler does not know it", key)
	}
	over := func(state core.JobState, is core.Key) bool { return state != core.JobRunning || !key.Takes(is) }
	out := core.Job{Run: j.Run, GID: j.GID, Placements: j.shares(m.Cores, m.Total), Request: j.Request, Gone: over(j.State, j.Key)}
	switch lie {
	case Stale, Doubled:
		for _, s := range slices.Backward(m.past) {
			i := slices.IndexFunc(s.Jobs, func(s core.JobStatus) bool { return s.JobID == key.JobID })
			if i >= 0 && r.IntN(2) == 0 {
				was := s.Jobs[i]
				out.Run, out.Gone = was.Run, over(was.State, was.Key)
				break
			}
		}
	case CountEarly, CountLate:
		if key.Generation != core.AnyGeneration { // a hook's count can differ from the list's, and here there is no hook's
			out.Generation = shift(out.Generation, lie)
		}
	default: // those that lack jobs were answered above
	}
	return out, nil
}

func shift(g uint32, lie Lie) uint32 {
	switch {
	case lie == CountEarly:
		return g + 1
	case g > 0:
		return g - 1
	}
	return 0
}

// Final is the single change that says that a run is over, as a Watch tells it between complete answers. It is never a lie.
func Final(run core.Run) core.Jobs {
	return core.Jobs{Jobs: []core.JobStatus{{Run: run, State: core.JobFinal}}}
}

// remember keeps the answer of now for stale ones to come; it is called before every change.
func (m *Model) remember() {
	if len(m.past) == maxPast {
		m.past = append(m.past[:0], m.past[1:]...)
	}
	m.past = append(m.past, m.Truth())
}
