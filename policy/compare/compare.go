// Package compare holds two policies against the same jobs: which would get something else, and whether pools and quotas would have sufficed.
package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/history"
	"github.com/weft-hpc/weft/policy"
)

// Report is what is otherwise under a new policy.
type Report struct {
	Old     string   `json:"old"` // hash
	New     string   `json:"new"`
	Jobs    int      `json:"jobs"`
	Changed int      `json:"changed"` // jobs that would get something else
	Unused  int      `json:"unused"`  // rows that are no job on this system
	Groups  []Group  `json:"groups"`  // the largest first
	Before  Capacity `json:"capacity_old"`
	After   Capacity `json:"capacity_new"`
	Caveats []string `json:"caveats,omitempty"` // what the jobs' source does not know
}

// Worse reports whether more jobs would have found a pool too small, or been refused by a quota, than before.
func (r *Report) Worse() bool {
	for _, p := range r.After.Pools {
		if p.Short > r.Before.Short(p.Pool) {
			return true
		}
	}
	for _, q := range r.After.Quotas {
		if q.Refuses() && q.Jobs > r.Before.Refused(q.Quota) {
			return true
		}
	}
	return false
}

// Pool is a set of VNIs as the configuration has it.
type Pool struct {
	Name       string
	Size       int
	Quarantine float64 // seconds
}

// Compare decides on every row by both, at the time that it was decided. nodes is the hostlist of the system, and topology its groups.
func Compare(before, after *policy.Policy, nodes string, topology *engine.Topology, pools []Pool, rows []history.Row) Report {
	r := Report{Old: before.Hash(), New: after.Hash()}
	list, _ := hostlist.Parse(nodes)
	system := engine.System{Nodes: int(list.Count()), Topology: topology}
	var was, is []stay
	found := groups{}
	for _, row := range rows {
		job, err := row.Job.Job(nodes)
		if err != nil {
			r.Unused++
			continue
		}
		r.Jobs++
		facts := engine.Facts{Job: job, System: system, Now: cmp.Or(row.Job.Moment(), row.Made.Unix())}
		a, b := before.Decide(facts), after.Decide(facts)
		was = append(was, stay{made: row.Made, ended: row.Ended, gets: &a})
		is = append(is, stay{made: row.Made, ended: row.Ended, gets: &b})
		if alike(&a, &b) {
			continue
		}
		x, y := before.Explain(facts), after.Explain(facts)
		changes := differences(&x, &y)
		if len(changes) > 0 {
			r.Changed++
		}
		for _, d := range changes {
			found.of(d).add(Change{job.Scheduler + "/" + job.Job, d.Some[0].Old, d.Some[0].New})
		}
	}
	r.Groups = found.sorted()
	r.Before, r.After = replayed(was, pools), replayed(is, pools)
	return r
}

// alike tells cheaply that a job gets the same.
func alike(a, b *engine.Decision) bool {
	if a.Deny != nil || b.Deny != nil {
		return a.Deny != nil && b.Deny != nil
	}
	return slices.Equal(a.VNIs, b.VNIs) && a.Classes == b.Classes && slices.Equal(a.Limits, b.Limits) && a.Floor == b.Floor &&
		a.Greedy == b.Greedy && a.MinNICs == b.MinNICs && a.Collectives == b.Collectives && a.Degrade == b.Degrade
}

// differences are groups of one job each.
func differences(x, y *policy.Trace) []Group {
	var out []Group
	say := func(what, in string, by policy.Place, before, after string) {
		key := fmt.Sprint(what, " ", in, " ", by)
		out = append(out, Group{What: what, In: in, By: by, Some: []Change{{Old: before, New: after}}, key: key})
	}
	switch {
	case x.Deny != nil:
		say("decision", "old", denier(x), "denied: "+x.Deny.What, "granted")
		return out
	case y.Deny != nil:
		say("decision", "new", denier(y), "granted", "denied: "+y.Deny.What)
		return out
	}
	for _, b := range y.Attributes {
		i := slices.IndexFunc(x.Attributes, func(a policy.Attribute) bool { return a.Name == b.Name })
		var a policy.Attribute
		if i >= 0 {
			a = x.Attributes[i]
		}
		before, after := a.Value, b.Value
		if b.Name == "limits" {
			before, after = limits(x), limits(y)
		}
		if before == after {
			continue
		}
		if slices.ContainsFunc(a.Replaced, func(s policy.Setting) bool {
			return s.Kind == b.Set.Kind && s.Name == b.Set.Name && s.Text == b.Set.Text
		}) {
			say(b.Name, "old", a.Set.Place, before, after) // what had replaced it does so no more
			continue
		}
		say(b.Name, "new", b.Set.Place, before, after)
	}
	return out
}

func denier(t *policy.Trace) policy.Place {
	if t.Deny.By != nil {
		return *t.Deny.By
	}
	return policy.Place{Kind: "request beyond policy"}
}

// limits are all of a job's, as one text.
func limits(t *policy.Trace) string {
	var out []string
	for _, s := range t.Shares {
		for _, r := range s.Resources {
			out = append(out, fmt.Sprintf("%s %d/%d", r.Name, r.Reserved, r.Max))
		}
	}
	return strings.Join(out, " ")
}
