package rpc

import (
	"time"

	"github.com/weft-hpc/weft/core"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
	hooksv1 "github.com/weft-hpc/weft/rpc/proto/weft/hooks/v1"
)

func encodePhase(p core.HookPhase) *hooksv1.Phase {
	return &hooksv1.Phase{
		Name: utf(p.Name), Action: corev1.Action(p.Action), Root: p.Root, Variables: every(p.Variables, utf), Job: every(p.Job, utf), Step: every(p.Step, utf),
		First: every(p.First, utf), Asks: every(p.Asks, utf),
		Stdin: count(p.Stdin), Limit: int64(p.Limit),
	}
}

func (d *decoder) phase(p *hooksv1.Phase) core.HookPhase {
	variable := func(s string) string { return d.fit("variable", s, maxWord) }
	out := core.HookPhase{
		Name: d.name("phase", p.GetName(), core.MaxScheduler), Action: d.action(p.GetAction()), Root: p.GetRoot(),
		Variables: each(d, "variables", p.GetVariables(), maxNames, variable), Job: each(d, "variables", p.GetJob(), maxNames, variable),
		Step: each(d, "variables", p.GetStep(), maxNames, variable), First: each(d, "variables", p.GetFirst(), maxNames, variable),
		Asks: each(d, "variables", p.GetAsks(), maxNames, variable), Stdin: d.count("standard input", p.GetStdin()), Limit: time.Duration(p.GetLimit()),
	}
	if p.GetLimit() <= 0 {
		d.fail("phase %q: its limit is %s, and a hook has some time", core.Clip(p.GetName()), time.Duration(p.GetLimit()))
	}
	return out
}
