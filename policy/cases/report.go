package cases

import (
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/policy"
)

// Report is what came of the cases.
type Report struct {
	Policy   string   `json:"policy"` // hash
	Passed   int      `json:"passed"`
	Failed   int      `json:"failed"`
	Cases    []Result `json:"cases"`
	Coverage Coverage `json:"coverage"`
}

// Result is what came of one case.
type Result struct {
	Case        string       `json:"case"`
	File        string       `json:"file"`
	Line        int          `json:"line"`
	OK          bool         `json:"ok"`
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is one thing that is otherwise than expected.
type Difference struct {
	What string        `json:"what"` // the attribute; decision, where a grant is a refusal or the other way round
	Want string        `json:"want"`
	Got  string        `json:"got"`
	By   *policy.Place `json:"by,omitempty"` // what gave Got
}

// Coverage is which rules, denies and quotas were for the job of at least one case.
type Coverage struct {
	Rules   int            `json:"rules"`
	Reached int            `json:"reached"`
	Missed  []policy.Place `json:"missed"`
}

func (r *Report) add(one Result) {
	if r.Cases = append(r.Cases, one); one.OK {
		r.Passed++
	} else {
		r.Failed++
	}
}

func (r Result) failed(what, want, got string) Result {
	r.Differences = []Difference{{What: what, Want: want, Got: got}}
	return r
}

// count is how many nodes a hostlist has.
func count(nodes string) int {
	list, err := hostlist.Parse(nodes)
	if err != nil {
		return 0
	}
	return int(list.Count())
}
