package install

import (
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/slurm/slingshot"
)

// Files next to the hook files, for a site that has switch/hpe_slingshot. Nothing reads them there.
const (
	switchConfig = "switch.hcl"
	switchPolicy = "switch.policy.hcl"
)

// parameters plans the files that say SwitchParameters in Weft's words, and tells where each parameter went.
func (p *Plan) parameters(o Options, c *conf) {
	if s, _ := c.last("SwitchType"); !slingshots(s) {
		return
	}
	s, _ := c.last("SwitchParameters")
	t := slingshot.Translate(s.Value)
	for _, n := range t.Notes {
		level, remedy := plan.Fine, ""
		switch n.Kind {
		case slingshot.Same:
		case slingshot.Differs:
			level = plan.Warning
		case slingshot.Wrong:
			level, remedy = plan.Refusal, "correct it, or take it out of SwitchParameters"
		}
		p.add(level, s, n.Name, remedy, "%s", n.What)
	}
	p.written(o, switchConfig, t.Config)
	p.written(o, switchPolicy, t.Policy)
}

// written plans a file that says something. An empty one goes.
func (p *Plan) written(o Options, name, text string) {
	ch := plan.Change{Path: filepath.Join(o.Hooks, name), Gone: text == ""}
	if !ch.Gone {
		ch.Text, ch.Mode = plan.Sealed("#", text), 0o644
	}
	p.Own(ch, plan.IsSealed)
}

func slingshots(s setting) bool { return strings.Contains(strings.ToLower(s.Value), "slingshot") }
