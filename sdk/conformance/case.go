package conformance

import (
	"slices"
	"time"
)

// Half is the part of a plugin that a case is about.
type Half string

// The halves. A plugin that has none of its own of a half is not asked that half's cases.
const (
	OfProcess   Half = "process"
	OfAll       Half = "plugin"
	OfNIC       Half = "driver"
	OfFabric    Half = "fabric"
	OfHooks     Half = "hooks"
	OfScheduler Half = "scheduler"
)

// Case is one thing that a plugin must do.
type Case struct {
	Name string // one clause, unique in its half: what a right plugin does
	Rule string // its number in docs/plugins.md
	Of   Half
	Run  func(*T)
}

// Cases are all of them, in the order in which they run.
func Cases() []Case {
	return slices.Concat(processCases, configCases, nicCases, hooksCases, schedulerCases, fabricCases)
}

// Result is how a case went.
type Result struct {
	Case    string        `json:"case"`
	Rule    string        `json:"rule"`
	Of      Half          `json:"of"`
	Outcome Outcome       `json:"outcome"`
	Why     []string      `json:"why,omitempty"` // what is wrong, or why it was skipped
	Took    time.Duration `json:"took_ns"`
}

// Outcome of a case.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Report is how a run went.
type Report struct {
	Plugin  string        `json:"plugin"`
	Version string        `json:"version,omitempty"`
	Halves  []Half        `json:"halves"`
	Passed  int           `json:"passed"`
	Failed  int           `json:"failed"`
	Skipped int           `json:"skipped"`
	Results []Result      `json:"results"`
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"took_ns"`
}

func (r *Report) add(one Result) {
	r.Results = append(r.Results, one)
	switch one.Outcome {
	case Passed:
		r.Passed++
	case Failed:
		r.Failed++
	case Skipped:
		r.Skipped++
	}
}
