package slingshot

import (
	"fmt"
	"strings"
)

func (r *reading) config() string {
	return fmt.Sprintf(`# SwitchParameters of switch/hpe_slingshot, for config.hcl.
pool "jobs" {
  vnis = "%d-%d"
}
`, r.first, r.last)
}

const head = `# SwitchParameters of switch/hpe_slingshot, as far as site.policy.hcl says otherwise, which is in
# policy/sites/slurm-hpe-slingshot. Put this file next to it, and leave out site_test.policy.hcl.
`

// policy has rules behind those of site.policy.hcl, and the blocks that they name.
func (r *reading) policy() string {
	var blocks, rules strings.Builder
	var sets [][2]string
	if r.classes != classes {
		sets = append(sets, [2]string{"traffic_classes", `["` + strings.Join(r.classes.Names(), `", "`) + `"]`})
	}
	if r.limits != defaults {
		blocks.WriteString("\nlimits \"SwitchParameters\" {\n")
		for _, res := range order {
			fmt.Fprintf(&blocks, "  %-4s = %s\n", res, r.limits[res].hcl(defaults[res]))
		}
		blocks.WriteString("}\n")
		sets = append(sets, [2]string{"limits", `"SwitchParameters"`})
	}
	if own, lower := r.floor(); lower {
		rules.WriteString("\n# A floor above the reservation of one core would refuse jobs.")
		sets = append(sets, [2]string{"floor", own})
	}
	if len(sets) > 0 {
		rules.WriteString("\nrule \"SwitchParameters\" {\n")
		width := 0
		for _, set := range sets {
			width = max(width, len(set[0]))
		}
		for _, set := range sets {
			fmt.Fprintf(&rules, "  %-*s = %s\n", width, set[0], set[1])
		}
		rules.WriteString("}\n")
	}
	if r.jobVNI != none {
		blocks.WriteString("\nvni \"job\" { pool = \"jobs\" }\n")
		when := map[string]string{all: "!job.request.off", user: "job.request.job_vni && !job.request.off"}[r.jobVNI]
		fmt.Fprintf(&rules, "\nrule \"job_vni=%s\" {\n  when = %s\n  vnis = [\"app\", \"job\"]\n}\n", r.jobVNI, when)
	}
	if r.addresses > 0 && r.nodes > 0 {
		fmt.Fprintf(&rules, `
# Commented out: no fabric backend makes multicast addresses yet, so the rule would promise what no job gets.
# rule "hwcoll" {
#   when        = job.nodes >= %d
#   collectives = { addresses = %d }
# }
`, r.nodes, r.addresses)
	}
	if blocks.Len()+rules.Len() == 0 {
		return ""
	}
	return head + blocks.String() + rules.String()
}

// floor is the site's floor as far as the limits reserve it, and whether they reserve less.
func (r *reading) floor() (text string, lower bool) {
	var parts []string
	for _, res := range order {
		n := r.limits[res].least(res)
		lower = lower || n < floor[res]
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s = %d", res, n))
		}
	}
	if len(parts) == 0 {
		return "{}", lower
	}
	return "{ " + strings.Join(parts, ", ") + " }", lower
}
