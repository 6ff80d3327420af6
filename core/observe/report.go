package observe

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Report is the account since a time.
type Report struct {
	Since      time.Time `json:"since"`
	Schedulers []string  `json:"schedulers"` // whose jobs are observed
	Counts
	Refusals []Refusal `json:"refusals"`
	Drains   []Drain   `json:"drains"`
	Pools    []PoolUse `json:"pools"`
	Twice    []Twice   `json:"twice"`
	Left     []Left    `json:"left"`
	Dropped  int       `json:"dropped,omitempty"` // findings and jobs beyond the account's bounds
}

// Counts are jobs, by the way that Weft would have served them.
type Counts struct {
	Jobs      int           `json:"jobs"`
	Granted   int           `json:"granted"`
	Refused   int           `json:"refused"`
	Drained   int           `json:"drained"`  // granted, and then a node would have been drained
	Without   int           `json:"without"`  // no network was wanted
	Unjudged  int           `json:"unjudged"` // their scheduler did not describe them
	Services  int           `json:"services"` // that Weft would have made
	Decisions int           `json:"decisions"`
	Took      time.Duration `json:"decisions_ns"` // all decisions of policy together
	Most      time.Duration `json:"slowest_ns"`
}

// Refusal is a kind of refusals, with the newest of its jobs.
type Refusal struct {
	Scheduler string      `json:"scheduler"`
	Reason    core.Reason `json:"reason"`
	Rule      string      `json:"rule,omitempty"` // deny of policy
	Jobs      int         `json:"jobs"`
	Job       string      `json:"job"`
	Why       string      `json:"why"`
}

// Drain is a node that Weft would have taken out of service.
type Drain struct {
	Node  string    `json:"node"`
	Why   string    `json:"why"`
	Jobs  int       `json:"jobs"` // that would have failed there
	Since time.Time `json:"since"`
	Last  time.Time `json:"last"`
}

// PoolUse is how much of a pool Weft would use, quarantine included.
type PoolUse struct {
	Pool string `json:"pool"`
	VNIs int    `json:"vnis"`
	Now  int    `json:"now"`
	Peak int    `json:"peak"`
}

// Sure says how sure a finding about a job is.
type Sure string

// How sure a finding is. A NIC shows a service's user and no job.
const (
	Certain Sure = "certain" // the NICs alone show it
	Likely  Sure = "likely"  // by the user's jobs that ran on the nodes at the time
	Unclear Sure = "unclear" // no job of the user was seen there
)

// Holder is a user's services on one node.
type Holder struct {
	Node     string   `json:"node"`
	Services []string `json:"services"` // NIC:ID
	UID      uint32   `json:"uid"`
	Job      string   `json:"job,omitempty"` // SCHEDULER/ID, where it is the only one
	Jobs     int      `json:"jobs"`          // of the user that ran there
}

// Twice is a VNI that two jobs had at a time.
type Twice struct {
	VNI     core.VNI  `json:"vni"`
	Sure    Sure      `json:"sure"`
	Holders []Holder  `json:"holders"` // two
	Since   time.Time `json:"since"`
	Last    time.Time `json:"last"`
}

// Left are services that outlived their job.
type Left struct {
	Node     string       `json:"node"`
	Services []string     `json:"services"` // NIC:ID
	VNIs     core.VNIList `json:"vnis"`
	UID      uint32       `json:"uid"`
	Job      string       `json:"job,omitempty"`
	Jobs     int          `json:"jobs"`
	Sure     Sure         `json:"sure"`
	Since    time.Time    `json:"since"` // without a job
	Last     time.Time    `json:"last"`
	Gone     time.Time    `json:"gone,omitzero"`
}

// Hour is one of the account.
type Hour struct {
	At time.Time `json:"at"`
	Counts
	Refusals []Refusal      `json:"refusals,omitempty"`
	Peaks    map[string]int `json:"peaks,omitempty"`
}

func (a *Account) hour() *Hour {
	at := a.now.Truncate(time.Hour)
	if n := len(a.hours); n == 0 || a.hours[n-1].At.Before(at) {
		a.hours = append(a.hours, Hour{At: at})
		a.hours = a.hours[max(0, len(a.hours)-MaxHours):]
	}
	return &a.hours[len(a.hours)-1]
}

func (h *Hour) peak(pool string, vnis int) {
	if h.Peaks == nil {
		h.Peaks = map[string]int{}
	}
	h.Peaks[pool] = max(h.Peaks[pool], vnis)
}

func (h *Hour) refuse(r Refusal) {
	h.Refused++
	r.Jobs = 1
	h.Refusals = merge(h.Refusals, r)
}

// merge adds a refusal to those of its kind. Kinds beyond the bound are one.
func merge(list []Refusal, r Refusal) []Refusal {
	same := func(o Refusal) bool { return o.Scheduler == r.Scheduler && o.Reason == r.Reason && o.Rule == r.Rule }
	i := slices.IndexFunc(list, same)
	if i < 0 && len(list) >= MaxRefusals {
		r.Rule, r.Reason, r.Scheduler = "", "others", ""
		i = slices.IndexFunc(list, same)
	}
	if i < 0 {
		return append(list, r)
	}
	list[i].Jobs += r.Jobs
	list[i].Job, list[i].Why = r.Job, r.Why
	return list
}

// Report is the account of the hours since a time; zero: of all that are kept.
func (a *Account) Report(since time.Time) Report {
	r := Report{
		Since: a.since, Schedulers: a.cfg.Schedulers, Dropped: a.dropped,
		Refusals: []Refusal{}, Drains: []Drain{}, Pools: []PoolUse{}, Twice: []Twice{}, Left: []Left{},
	}
	if len(a.hours) == MaxHours && a.hours[0].At.After(r.Since) {
		r.Since = a.hours[0].At
	}
	if since.After(r.Since) {
		r.Since = since.Truncate(time.Hour)
	}
	peaks := map[string]int{}
	for _, h := range a.hours {
		if h.At.Before(r.Since.Truncate(time.Hour)) {
			continue
		}
		r.add(h.Counts)
		for _, x := range h.Refusals {
			r.Refusals = merge(r.Refusals, x)
		}
		for pool, n := range h.Peaks {
			peaks[pool] = max(peaks[pool], n)
		}
	}
	slices.SortStableFunc(r.Refusals, func(x, y Refusal) int { return cmp.Compare(y.Jobs, x.Jobs) })
	for _, pool := range slices.Sorted(maps.Keys(a.cfg.Pools)) {
		r.Pools = append(r.Pools, PoolUse{pool, a.cfg.Pools[pool].Size, a.used[pool], max(peaks[pool], a.used[pool])})
	}
	for _, d := range a.drains {
		if !d.Last.Before(r.Since) {
			r.Drains = append(r.Drains, d)
		}
	}
	for _, t := range a.twice {
		if !t.Last.Before(r.Since) {
			r.Twice = append(r.Twice, t)
		}
	}
	for _, l := range a.left {
		if !l.Last.Before(r.Since) {
			r.Left = append(r.Left, l)
		}
	}
	return r
}

// Cut leaves the newest of each list, most of them.
func (r *Report) Cut(most int) {
	cut := func(n int) int {
		r.Dropped += max(0, n-most)
		return max(0, n-most)
	}
	r.Drains = r.Drains[cut(len(r.Drains)):]
	r.Twice = r.Twice[cut(len(r.Twice)):]
	r.Left = r.Left[cut(len(r.Left)):]
}

// Empty reports whether nothing was ever observed.
func (a *Account) Empty() bool {
	return len(a.hours) == 0 && len(a.twice)+len(a.left)+len(a.drains) == 0
}

func (c *Counts) add(d Counts) {
	c.Jobs += d.Jobs
	c.Granted += d.Granted
	c.Refused += d.Refused
	c.Drained += d.Drained
	c.Without += d.Without
	c.Unjudged += d.Unjudged
	c.Services += d.Services
	c.Decisions += d.Decisions
	c.Took += d.Took
	c.Most = max(c.Most, d.Most)
}
