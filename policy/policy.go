package policy

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Policy is a compiled policy. It never changes.
type Policy struct {
	defaults settings
	degrade  bool
	failure  Setting      // on_failure
	classes  core.Classes // that jobs get without asking
	rules    []*rule      // rules, denies and quotas in the order they are read
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
	return p.decide(&facts).decision
}

// Judge decides, and says which denies were for the job, those that only warn or are tried out too.
func (p *Policy) Judge(facts engine.Facts) (engine.Decision, []engine.Denial) {
	e := p.decide(&facts)
	return e.decision, e.denies
}

func (p *Policy) decide(facts *engine.Facts) (e *evaluation) {
	e = &evaluation{policy: p, facts: facts, decision: engine.Decision{Policy: p.hash, Now: facts.Now}}
	refuse := func(deny *core.Error, rules []string) {
		e.decision = engine.Decision{Deny: deny, Rules: rules, Policy: p.hash, Now: facts.Now}
	}
	defer func() {
		if fault := recover(); fault != nil {
			e.ended, e.denies = nil, nil
			refuse(core.Errorf(core.PolicyFault, "policy: it failed while deciding: %v", fault).WithRemedy("report it with the policy's text"), nil)
		}
	}()
	if deny := e.decide(); deny != nil {
		refuse(deny, e.decision.Rules)
	}
	return e
}
