package policy

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
)

// evaluation is one decision in the making.
type evaluation struct {
	policy   *Policy
	facts    *engine.Facts
	set      settings
	quotas   []*rule // that are for the job
	taken    []*rule // rules that are for the job
	ended    *rule   // the block that refused
	denies   []engine.Denial
	decision engine.Decision
	cores    int // of the share whose limits are evaluated
	made     *hcl.EvalContext
	groups   int // the job's spread plus 1; 0: nothing has asked for it yet
}

// spread is worked out once, when something asks: a job of the whole system names every node.
func (e *evaluation) spread() int {
	if e.groups == 0 {
		e.groups = e.facts.Groups() + 1
	}
	return e.groups - 1
}

// context holds the values of variables, made when the first expression needs them.
func (e *evaluation) context() *hcl.EvalContext {
	if e.made == nil {
		e.made = &hcl.EvalContext{
			Variables: objects(e.valueOf, cty.ObjectVal),
			Functions: functions,
		}
	}
	return e.made
}

func (e *evaluation) decide() *core.Error {
	if deny := malformed(e.facts.Job.Request); deny != nil {
		return deny
	}
	e.decision.Warnings = append(e.decision.Warnings, e.facts.Job.Request.Warnings...)
	e.set = e.policy.defaults
	for _, i := range e.policy.survivors(&e.facts.Job) {
		if deny := e.apply(e.policy.rules[i]); deny != nil {
			return deny
		}
	}
	return e.grant()
}

// apply takes one rule into account, if it is for this job.
func (e *evaluation) apply(r *rule) *core.Error {
	hit, fault := e.hit(r)
	if fault != nil {
		return e.refuse(r, fault)
	}
	if !hit {
		return nil
	}
	switch r.kind {
	case quotaKind:
		e.quotas = append(e.quotas, r)
		return nil
	case denyKind:
		e.decision.Rules = append(e.decision.Rules, r.name)
		v, err := r.message.value(e)
		if err != nil {
			return e.refuse(r, r.fault("message", err))
		}
		return e.refuse(r, core.Errorf(core.PolicyDenied, "policy: %s: %s", r.title(), hclfile.Printable(v.AsString(), 500)))
	case ruleKind:
		e.decision.Rules = append(e.decision.Rules, r.name)
		e.set.take(&r.settings)
		e.taken = append(e.taken, r)
	}
	return nil
}

// hit reports whether r, whose lists hold something of the job, is for it.
func (e *evaluation) hit(r *rule) (bool, *core.Error) {
	if r.match.nodes != nil {
		hit, err := r.match.nodes.hit(e.facts.Job.Placements, r.kind != ruleKind)
		if err != nil {
			return false, r.fault("match: nodes", err)
		}
		if !hit {
			return false, nil
		}
	}
	switch {
	case r.when == nil:
		return true, nil
	case r.direct != nil && len(e.lacks(r.when)) == 0:
		return r.direct(e), nil
	default:
		v, err := r.when.value(e)
		if err != nil {
			return false, r.fault("when", err)
		}
		return v.True(), nil
	}
}

// take replaces what a rule names.
func (s *settings) take(r *settings) {
	s.classes = cmp.Or(r.classes, s.classes)
	s.limits = cmp.Or(r.limits, s.limits)
	s.vnis = cmp.Or(r.vnis, s.vnis)
	s.share = cmp.Or(r.share, s.share)
	s.minNICs = cmp.Or(r.minNICs, s.minNICs)
	s.floor = cmp.Or(r.floor, s.floor)
	s.collectives = cmp.Or(r.collectives, s.collectives)
}

func (r *rule) fault(what string, err error) *core.Error {
	return core.Errorf(core.PolicyFault, "policy: %s (%s): %s: %w", r.title(), r.place, what, err).
		WithRemedy("administrators: mend " + r.title() + " at " + r.place.String())
}

// grant makes the decision of what was set and what the user asked for.
func (e *evaluation) grant() *core.Error {
	d, request := &e.decision, e.facts.Job.Request
	d.Degrade = e.policy.degrade
	vnis := *e.set.vnis
	if len(vnis) == 0 {
		return e.nothing(request)
	}
	if request.Off {
		e.warn("no network was asked for, but the site's policy gives one to this job")
	}
	var deny *core.Error
	if d.VNIs, deny = wanted(vnis, request); deny != nil {
		return deny
	}
	for _, v := range vnis {
		if v.steps() {
			d.VNIs = append(d.VNIs, slices.Repeat([]engine.Wanted{v.Wanted}, v.count)...)
			d.Steps, d.Beyond = uint8(v.count), v.beyond
		}
	}
	if d.Classes, deny = classes(*e.set.classes, request.Classes); deny != nil {
		return deny
	}
	if d.Limits, deny = e.limits(); deny != nil {
		return deny
	}
	d.Greedy = e.set.share != nil && *e.set.share
	if e.set.minNICs != nil {
		d.MinNICs = *e.set.minNICs
	}
	if e.set.floor != nil {
		for i, n := range e.set.floor {
			if n == nil {
				continue
			}
			v, err := n.value(e)
			if err != nil {
				return n.fault("floor", err)
			}
			d.Floor[i] = v
		}
	}
	if deny = low(d.Limits, d.Floor); deny != nil {
		return deny
	}
	if e.set.collectives != nil {
		v, err := e.set.collectives.value(e)
		if err != nil {
			return e.set.collectives.fault("collectives", err)
		}
		d.Collectives = int(v)
	}
	if request.Collectives {
		why := "the site's policy gives none to this job"
		if d.Collectives > 0 {
			why = "no fabric backend is configured that makes them"
		}
		e.warn("hardware collectives were asked for; " + why)
	}
	return e.bound()
}

// nothing is the decision of vnis = []: no reservation, no service, variables unset. Who asked for none may have asked for anything else beside it.
func (e *evaluation) nothing(request core.Request) *core.Error {
	if !request.Off && (request.VNIs > 0 || request.JobVNI || request.SingleNode) {
		return core.Errorf(core.PolicyDenied, "VNIs: a VNI was asked for, and the site's policy gives this job no network").WithRemedy("do not ask for one, or ask the site's administrators")
	}
	return nil
}

func (e *evaluation) warn(what string) { e.decision.Warnings = append(e.decision.Warnings, what) }

// limits are those of each share. Shares with equally many cores are evaluated once.
func (e *evaluation) limits() ([]core.Limits, *core.Error) {
	out := make([]core.Limits, 0, len(e.facts.Job.Placements))
	known := map[int]core.Limits{}
	for _, share := range e.facts.Job.Placements {
		l, ok := known[share.Cores]
		if !ok {
			var deny *core.Error
			if l, deny = e.share(share.Cores); deny != nil {
				return nil, deny
			}
			known[share.Cores] = l
		}
		out = append(out, l)
	}
	return out, nil
}

// share gives the limits on a node with so many cores of the job.
func (e *evaluation) share(cores int) (core.Limits, *core.Error) {
	e.cores, e.made = cores, nil
	given, ask, deny := e.set.limits.evaluate(e)
	if depth := e.facts.Job.Request.Depth; depth > 0 && deny == nil {
		cores, e.cores, e.made = depth, depth, nil
		if given, _, deny = e.set.limits.evaluate(e); deny == nil {
			deny = deep(depth, given, ask)
		}
	}
	if deny != nil {
		return given, deny
	}
	return fitted(given, ask, e.facts.Job.Request.Limits, cores)
}
