package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
)

// quota is what a quota block bounds, and for whom. Policy only says so: the engine counts, in the step that takes the VNIs.
type quota struct {
	per  string
	most [2]*number // by engine.Unit; nil: not bounded
	ends bool       // on_full = "refuse"
}

// The values of on_full.
const (
	onFullWait   = "wait"
	onFullRefuse = "refuse"
)

var unitNames = [...]string{engine.UnitVNIs: "vnis", engine.UnitAddresses: "addresses"}

// subjects say whose use is added up. A user is one in all schedulers, and so is an account; queues of one name in two schedulers are two.
var subjects = map[string]func(core.Job) string{
	"user": func(j core.Job) string {
		if j.User == "" {
			return fmt.Sprintf("uid %d", j.UID)
		}
		return "user " + hclfile.Printable(j.User, maxSubject)
	},
	"account": func(j core.Job) string {
		if j.Account == "" {
			return "no account"
		}
		return "account " + hclfile.Printable(j.Account, maxSubject)
	},
	"queue": func(j core.Job) string {
		if j.Queue == "" {
			return "no queue of " + j.Scheduler
		}
		return fmt.Sprintf("queue %s of %s", hclfile.Printable(j.Queue, maxSubject), j.Scheduler)
	},
	"scheduler": func(j core.Job) string { return "scheduler " + j.Scheduler },
	"all":       func(core.Job) string { return "all jobs" },
}

// maxSubject bounds a name, in characters: it is kept with each reservation.
const maxSubject = 256

func (c *compiler) quota(q *quota, file *hclfile.File, attr *hclsyntax.Attribute, title string) {
	oneOf := func(known ...string) string {
		what := title + ": " + attr.Name
		text, findings := file.String(attr.Expr, what)
		c.add(findings...)
		if findings == nil && !slices.Contains(known, text) {
			c.add(unknown(file, attr.Expr.Range(), fmt.Sprintf("%s: %q is not one of its values", what, core.Clip(text)), text, known))
		}
		return text
	}
	switch attr.Name {
	case "per":
		q.per = oneOf(slices.Sorted(maps.Keys(subjects))...)
		return
	case "on_full":
		q.ends = oneOf(onFullWait, onFullRefuse) == onFullRefuse
		return
	}
	if unit := slices.Index(unitNames[:], attr.Name); unit >= 0 {
		q.most[unit] = c.number(file, attr.Expr, title, attr.Name, ruleScope)
	}
}

// bound is what the quotas that are for the job say.
func (e *evaluation) bound() *core.Error {
	for _, r := range e.quotas {
		for unit, most := range r.quota.most {
			if most == nil || engine.Unit(unit) == engine.UnitAddresses && e.decision.Collectives == 0 {
				continue
			}
			n, err := most.value(e)
			if err != nil {
				if deny := e.refuse(r, most.fault(r.title(), err)); deny != nil {
					return deny
				}
				continue
			}
			e.decision.Quotas = append(e.decision.Quotas, engine.Quota{
				Name: r.name, Subject: subjects[r.quota.per](e.facts.Job), Unit: engine.Unit(unit), Most: int(n), Enforce: r.enforce,
				Ends: r.quota.ends,
			})
		}
	}
	return nil
}
