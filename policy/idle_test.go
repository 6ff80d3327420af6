package policy_test

import (
	"testing"

	"github.com/weft-hpc/weft/policy"
)

// What is certain of no rule is said of none.
func TestIdleIsSilentWhereItIsNotCertain(t *testing.T) {
	for name, rules := range map[string]string{
		"in one queue only": `
rule "a" { min_nics = 1 }
rule "b" {
  match { queues = ["io"] }
  min_nics = 2
}`,
		"another condition": `
rule "a" {
  when     = job.nodes > 1
  min_nics = 1
}
rule "b" {
  when     = job.nodes > 2
  min_nics = 2
}`,
		"half": `
rule "a" {
  min_nics        = 1
  traffic_classes = ["BULK_DATA"]
}
rule "b" { min_nics = 2 }`,
		"or is no and": `
rule "a" {
  when     = job.nodes > 4 || job.nodes < 2
  min_nics = 1
}
rule "b" {
  when     = job.nodes > 4
  min_nics = 2
}`,
		"more users": `
rule "a" {
  match { users = ["ann", "bob"] }
  min_nics = 1
}
rule "b" {
  match { users = ["ann"] }
  min_nics = 2
}`,
		"a rule is for all of its nodes": `
rule "a" {
  match { nodes = "n[1-4]" }
  min_nics = 1
}
deny "b" {
  match { nodes = "n[1-3]" }
  message = "no"
}`,
		"a warning refuses nobody": `
rule "a" { min_nics = 1 }
deny "b" {
  message = "soon closed"
  enforce = "warn"
}`,
		"negated comparisons that leave some": `
rule "a" {
  when     = !(job.nodes > 4) && !(job.nodes < 4) && !(job.nodes == 3) && !(job.queue == "io") && !(!(job.queue != "debug"))
  min_nics = 1
}
rule "b" {
  when     = !(job.nodes > 4 && job.nodes < 9) && job.nodes > 5
  min_nics = 2
}`,
		"two groups at once": `
rule "a" {
  match { groups = ["phys"] }
  when     = contains(job.groups, "ops")
  min_nics = 1
}`,
		"one group of two": `
rule "a" {
  match { groups = ["phys", "chem"] }
  when     = !contains(job.groups, "phys") && !contains(job.request.traffic_classes, "BULK_DATA") && contains(job.groups, "chem")
  min_nics = 1
}`,
		"another group, or either": `
rule "a" {
  match { groups = ["phys"] }
  when     = !contains(job.groups, "ops") && (!contains(job.groups, "phys") || job.nodes > 3)
  min_nics = 1
}`,
		"one user of two": `
rule "a" {
  match { users = ["ann", "bob"] }
  when     = job.user != "ann"
  min_nics = 1
}`,
		"bounds that meet": `
rule "a" {
  when     = job.nodes >= 4 && job.nodes <= 4 && 4 == job.nodes && job.nodes != 4000 && job.queue != "x" && job.queue == "y"
  min_nics = 1
}`,
	} {
		if _, findings := policy.Load(sources(base, rules), env); len(findings) > 0 {
			t.Errorf("%s: %s", name, text(findings))
		}
	}
}
