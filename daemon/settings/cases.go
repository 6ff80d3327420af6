package settings

import (
	"fmt"

	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/policy/cases"
)

// Try runs the tests that stand beside a policy. Each case that fails is an Error among the findings; no test is no finding.
func Try(p *policy.Policy, env policy.Env, tests []hclfile.Source) []hclfile.Finding {
	suite, findings := cases.Load(tests)
	if suite == nil {
		return findings
	}
	for _, c := range suite.Run(p, env, nil).Cases {
		if c.OK {
			continue
		}
		f := hclfile.Finding{Severity: hclfile.Error, File: c.File, Line: c.Line, Column: 1, Summary: fmt.Sprintf("the test case %q fails", c.Case)}
		for i, d := range c.Differences {
			if i == 0 {
				f.Summary += fmt.Sprintf(": %s: want %s, got %s", d.What, hclfile.Printable(d.Want, 200), hclfile.Printable(d.Got, 200))
			}
		}
		f.Detail = "`weft policy test` shows all of it, and the rule that set it."
		findings = append(findings, f)
	}
	return hclfile.Sort(findings)
}
