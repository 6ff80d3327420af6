// Package rules holds the project's own rules to the source, as tests: who may import whom, what core may not do, how a package looks, what no file
// may say. It reads the source and runs none of it. Every rule is also shown to fail on a small tree that breaks it.
package rules

import (
	"os"
	"slices"
	"testing"
)

// rule is one thing that holds everywhere in the repository. check lists what breaks it, each as "file:line: what".
type rule struct {
	name  string
	why   string
	check func(*tree) []string
}

var rules = slices.Concat(importRules(), actionRules, logRules, shapeRules, textRules)

func TestRules(t *testing.T) {
	here, err := load(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(here.files) == 0 || here.module == "" {
		t.Fatal("no source found: the rules would hold of nothing")
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, broken := range r.check(here) {
				t.Errorf("%s\n\trule: %s\n\twhy:  %s", broken, r.name, r.why)
			}
		})
	}
}
