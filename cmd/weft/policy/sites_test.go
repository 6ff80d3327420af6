package policy

import (
	"path/filepath"
	"testing"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/policy/cases"
)

// The worked sites in policy/sites, and the shipped policy, are loaded without a word, pass their own tests, and no rule of theirs is untested.
func TestSites(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob("../../../policy/sites/*/config.hcl")
	if err != nil || len(found) < 3 {
		t.Fatalf("%v: %v", found, err)
	}
	for _, path := range append(found, "../../../config.hcl") {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			r := (&rulesArgs{cli.ConfigFlag{Config: path}}).load(nil)
			tests, findings := cases.Load(r.Tests)
			if len(r.Findings)+len(findings) > 0 || r.Policy == nil {
				t.Fatalf("%+v %+v", r.Findings, findings)
			}
			report := tests.Run(r.Policy, r.Env, nil)
			for _, c := range report.Cases {
				for _, d := range c.Differences {
					t.Errorf("%s:%d: %q: %s: want %s, got %s", c.File, c.Line, c.Case, d.What, d.Want, d.Got)
				}
			}
			if missed := report.Coverage.Missed; report.Passed < 5 || len(missed) > 0 {
				t.Errorf("%d passed; not reached: %+v", report.Passed, missed)
			}
		})
	}
}
