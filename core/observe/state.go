package observe

import (
	"cmp"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// State is the part of an Account that outlives the server. Jobs that were not judged yet are seen again.
type State struct {
	Since   time.Time `json:"since"`
	Jobs    []Job     `json:"jobs"`
	Resting []Rest    `json:"resting"`
	Hours   []Hour    `json:"hours"`
	Drains  []Drain   `json:"drains"`
	Twice   []Twice   `json:"twice"`
	Left    []Left    `json:"left"`
	Dropped int       `json:"dropped"`
}

// Job is a judged job that runs, with its part of the shadow.
type Job struct {
	Run       core.Run       `json:"run"`
	Hosts     string         `json:"hosts"`
	Served    bool           `json:"served,omitempty"`
	Pools     []string       `json:"pools,omitempty"` // one for each VNI
	Addresses int            `json:"addresses,omitempty"`
	Quotas    []engine.Quota `json:"quotas,omitempty"`
}

// Rest are VNIs of a pool in the shadow's quarantine.
type Rest struct {
	Pool  string    `json:"pool"`
	VNIs  int       `json:"vnis"`
	Until time.Time `json:"until"`
}

// State is a copy.
func (a *Account) State() State {
	s := State{
		Since: a.since, Resting: slices.Clone(a.resting), Dropped: a.dropped,
		Drains: slices.Clone(a.drains), Twice: slices.Clone(a.twice), Left: slices.Clone(a.left),
	}
	for _, h := range a.hours {
		h.Refusals = slices.Clone(h.Refusals)
		peaks := map[string]int{}
		for pool, n := range h.Peaks {
			peaks[pool] = n
		}
		h.Peaks = peaks
		s.Hours = append(s.Hours, h)
	}
	for run, j := range a.jobs {
		if j.judged {
			j.Run = run
			s.Jobs = append(s.Jobs, j.Job)
		}
	}
	slices.SortFunc(s.Jobs, func(x, y Job) int { return cmp.Compare(x.Run.Key.String(), y.Run.Key.String()) })
	return s
}

// load goes on with a State, which may have been changed by hand: its lists are bounded again.
func (a *Account) load(s State) {
	if !s.Since.IsZero() && s.Since.Before(a.now) {
		a.since = s.Since
	}
	a.hours = s.Hours[max(0, len(s.Hours)-MaxHours):]
	a.drains = s.Drains[max(0, len(s.Drains)-MaxListed):]
	a.twice = s.Twice[max(0, len(s.Twice)-MaxListed):]
	a.left = s.Left[max(0, len(s.Left)-MaxListed):]
	a.dropped = s.Dropped
	for _, r := range s.Resting[:min(len(s.Resting), MaxJobs)] {
		a.resting = append(a.resting, r)
		a.used[r.Pool] += r.VNIs
	}
	for _, one := range s.Jobs[:min(len(s.Jobs), MaxJobs)] {
		if a.jobs[one.Run] != nil {
			continue
		}
		j := &job{Job: one, run: one.Run, judged: true}
		a.jobs[one.Run] = j
		for _, pool := range one.Pools {
			a.used[pool]++
		}
		a.count(j, 1)
		a.place(j, one.Hosts)
	}
}
