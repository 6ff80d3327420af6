package engine

import (
	"cmp"
	"container/list"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// tally names what a quota counts together.
type tally struct {
	name, subject string
	unit          Unit
}

// use is what counts against a tally, and the reservations that do, in the order they began to: a refusal names the first of them without a look at all.
type use struct {
	sum  int
	jobs list.List // of *reservation
}

// maxNamed bounds the jobs that a refusal names.
const maxNamed = 8

// amount is what a reservation of d with so many VNIs counts in unit.
func amount(u Unit, d *Decision, vnis int) int {
	if u == UnitAddresses {
		return d.Collectives
	}
	return vnis
}

// Count is so many of a unit, in words.
func (u Unit) Count(n int) string {
	if u == UnitAddresses {
		return core.Plural(n, "multicast address")
	}
	return core.Plural(n, "VNI")
}

// count adds r to its quotas' tallies.
func (m *Machine) count(r *reservation) {
	for _, q := range r.Grant.Quotas {
		n := amount(q.Unit, &r.Grant, len(r.VNIs))
		if n == 0 {
			continue
		}
		k := tally{q.Name, q.Subject, q.Unit}
		u := m.quotas[k]
		if u == nil {
			u = &use{}
			m.quotas[k] = u
		}
		u.sum += n
		r.counted = append(r.counted, counted{k, u.jobs.PushBack(r), n})
	}
}

// uncount takes r out of them again.
func (m *Machine) uncount(r *reservation) {
	for _, c := range r.counted {
		u := m.quotas[c.in]
		u.sum -= c.n
		if u.jobs.Remove(c.at); u.jobs.Len() == 0 {
			delete(m.quotas, c.in)
		}
	}
	r.counted = nil
}

// counted is a reservation's part of a tally.
type counted struct {
	in tally
	at *list.Element
	n  int
}

// admitQuotas says whether d fits beside what its subjects hold already; a quota that only warns gives a warning. What wants nothing of a quota passes it.
func (m *Machine) admitQuotas(in Reserve, d Decision, vnis int) ([]string, *core.Error) {
	var warnings []string
	for _, q := range d.Quotas {
		wants, u := amount(q.Unit, &d, vnis), m.quotas[tally{q.Name, q.Subject, q.Unit}]
		has := 0
		if u != nil {
			has = u.sum
		}
		text := q.over(wants, has, u.who)
		if text == "" {
			continue
		}
		m.do(Over{in.Ask.Key, q.Name, q.Enforce})
		switch q.Enforce {
		case EnforceWarn:
			warnings = append(warnings, text)
		case EnforceDryRun:
			m.do(Say{Level: Warn, Run: core.Run{Key: in.Ask.Key}, Node: in.Node, Text: "dry run: " + text})
		case EnforceDeny:
			return nil, q.exceeded(text, wants)
		}
	}
	return warnings, nil
}

// reason is why a job that wants so much is refused where that does not fit.
func (q Quota) reason(wants int) core.Reason {
	if wants > q.Most || q.Ends {
		return core.OverQuota
	}
	return core.QuotaFull
}

// Reason is why d is refused where Over says something.
func (q Quota) Reason(d *Decision) core.Reason { return q.reason(amount(q.Unit, d, len(d.VNIs))) }

// exceeded is the error for a job that wants so much beyond q.
func (q Quota) exceeded(text string, wants int) *core.Error {
	err := core.Errorf(q.reason(wants), "%s", text)
	if wants > q.Most {
		err = err.WithRemedy("it can never fit: ask for less, or ask the site's administrators")
	}
	return err
}

// Over says why d does not fit where its subject holds so much already; empty: it fits. A test of a policy counts as the engine does.
func (q Quota) Over(d *Decision, has int) string {
	return q.over(amount(q.Unit, d, len(d.VNIs)), has, func() string { return "" })
}

func (q Quota) over(wants, has int, by func() string) string {
	if wants == 0 || has+wants <= q.Most {
		return ""
	}
	return fmt.Sprintf("quota %q: %s may hold %s: %s in use%s, and this job wants %d",
		q.Name, q.Subject, q.Unit.Count(q.Most), core.Are(has), by(), wants)
}

// QuotaUse is what jobs hold of a quota.
type QuotaUse struct {
	Quota    string
	Unit     Unit
	Sum      int // of all subjects
	Subjects int // that hold something
	Used     int // by the subject that is nearest to its bound
	Most     int // that subject's bound, as its newest job had it
}

// share is what a subject holds of a quota.
type share struct {
	used, most int
}

// Quotas are those of which somebody holds something.
func (f *Figures) Quotas() []QuotaUse {
	of := map[tally]*QuotaUse{} // of all subjects
	for k, u := range f.shares {
		all := tally{name: k.name, unit: k.unit}
		q := of[all]
		if q == nil {
			q = &QuotaUse{Quota: k.name, Unit: k.unit}
			of[all] = q
		}
		// Nearest: used/most compared without a division by a bound of 0.
		nearer := cmp.Compare(u.used*q.Most, q.Used*u.most)
		if q.Subjects == 0 || nearer > 0 || nearer == 0 && u.used > q.Used {
			q.Used, q.Most = u.used, u.most
		}
		q.Sum += u.used
		q.Subjects++
	}
	out := make([]QuotaUse, 0, len(of))
	for _, q := range of {
		out = append(out, *q)
	}
	slices.SortFunc(out, func(a, b QuotaUse) int { return cmp.Or(cmp.Compare(a.Quota, b.Quota), cmp.Compare(a.Unit, b.Unit)) })
	return out
}

// most is the bound that the newest job of k had.
func (u *use) most(k tally) int {
	for _, q := range u.jobs.Back().Value.(*reservation).Grant.Quotas {
		if q.Name == k.name && q.Unit == k.unit {
			return q.Most
		}
	}
	return 0
}

// who names jobs that count.
func (u *use) who() string {
	if u == nil {
		return ""
	}
	var names []string
	for e := u.jobs.Front(); e != nil && len(names) < maxNamed; e = e.Next() {
		names = append(names, e.Value.(*reservation).Job.JobID.String())
	}
	out := " by " + strings.Join(names, ", ")
	if more := u.jobs.Len() - len(names); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}
