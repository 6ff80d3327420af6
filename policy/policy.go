package policy

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Policy is a compiled policy. It never changes.
type Policy struct {
	defaults settings
	degrade  bool
	failure  written // on_failure
	rules    []*rule // rules, denies and quotas in the order they are read
	by       index
	text     string
	hash     string
}

var (
	_ engine.Policy = (*Policy)(nil)
	_ engine.Judge  = (*Policy)(nil)
)

// Degrade reports on_failure = "degrade": jobs run without isolation while Weft cannot serve. Agents keep it, since it is needed when no decision can be had.
func (p *Policy) Degrade() bool { return p.degrade }

// Decide says what a job gets. It is a function of facts and the policy alone and always answers: what goes wrong inside is a deny.
func (p *Policy) Decide(facts engine.Facts) engine.Decision {
	decision, _, _ := p.decide(&facts, nil)
	return decision
}

// Judge decides, and says which denies were for the job, those that only warn or are tried out too.
func (p *Policy) Judge(facts engine.Facts) (engine.Decision, []engine.Denial) {
	decision, _, denies := p.decide(&facts, nil)
	return decision, denies
}

// decide also says which block ended it, if one did, and which denies were for the job. took, unless nil, hears of each rule that sets something.
func (p *Policy) decide(facts *engine.Facts, took func(*rule)) (decision engine.Decision, ended *rule, denies []engine.Denial) {
	defer func() {
		if fault := recover(); fault != nil {
			deny := core.Errorf(core.PolicyFault, "policy: it failed while deciding: %v", fault).WithRemedy("report it with the policy's text")
			decision = engine.Decision{Deny: deny, Policy: p.hash}
		}
	}()
	e := evaluation{policy: p, facts: facts, took: took}
	e.decision.Policy = p.hash
	if deny := e.decide(); deny != nil {
		return engine.Decision{Deny: deny, Rules: e.decision.Rules, Policy: p.hash}, e.ended, e.denies
	}
	return e.decision, nil, e.denies
}
