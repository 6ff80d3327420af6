// Package policy decides what a job gets: facts in, decision out, by the site's rules in *.policy.hcl.
//
// Load compiles the files into data that Decide reads and never changes, so that any number of goroutines may decide at once and a reload is the swap of
// one pointer. Each kind of block has a file here that compiles it:
//
//	top-level attributes   settings.go  what every job gets: classes, limits, VNIs, share, floor, min_nics, on_failure
//	limits                 limits.go    resources of a NIC, evaluated once for each number of cores
//	vni                    vni.go       names a pool or a service
//	rule, deny             rule.go      a condition, and what it sets or says
//	quota                  quota.go     a condition, and how much its jobs may hold together; the engine counts
//	enforce                enforce.go   whether a deny or a quota refuses, warns, or is only tried out
//	match                  match.go     the part of a condition that is plain data, indexed over all rules
//
// and every expression goes through expr.go, which checks at load all names, functions and types in it with values that are not known yet, and evaluates
// it later. A new kind of block is a new file and one line in load.go; a new attribute of a rule is a field of settings.
//
// Explain decides by the same code and says how it came about: a Trace (trace.go), made in explain.go, its expressions taken apart in condition.go.
//
// A mistake never opens the listener. What can be wrong in a file is a finding, and a policy with an error in it is none. What goes wrong while deciding is a
// deny that names the rule and its line. Decide is a function of its argument alone: no clock, no use of pools, no map order.
package policy
