package policy

import "github.com/weft-hpc/weft/core"

// Classes are the traffic classes that some job may get by the policy: a fabric whose QoS profile lacks one cannot carry it.
func (p *Policy) Classes() core.Classes {
	var all core.Classes
	if p.defaults.classes != nil {
		all = *p.defaults.classes
	}
	for _, r := range p.rules {
		if r.settings.classes != nil {
			all |= *r.settings.classes
		}
	}
	return all
}
