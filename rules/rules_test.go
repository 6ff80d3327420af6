// Package rules holds the project's rules about its own source, as tests: imports, actions, shapes, texts and language.
// It reads the source. It runs the loaders of config.hcl and of policies alone, to learn their keys.
// A small tree that breaks a rule shows that the rule can fail.
package rules

import (
	"os"
	"slices"
	"testing"
)

// rule is one thing that holds everywhere in the repository. check lists the places that break it, each with its line.
type rule struct {
	name  string
	why   string
	check func(*tree) []string
}

var rules = slices.Concat(importRules(), actionRules, logRules, shapeRules, textRules, englishRules, helpRules)

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
