// Package cases is the tests of a policy: files that end in _test.policy.hcl, whose cases say what jobs must get.
package cases

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/policy/facts"
)

// MaxCases bounds a suite.
const MaxCases = 4096

// Suite is the cases of a policy's test files.
type Suite struct {
	cases []testCase
}

// testCase is a job, what is in use, and what must come of it.
type testCase struct {
	name string
	file string
	line int
	job  facts.Job
	use  []use
	want Expect
}

// use is what the subject of a quota has already.
type use struct {
	quota string
	has   map[engine.Unit]int
}

// Load reads test files. What is wrong with any of them is among the findings; with an Error among them there is no Suite.
func Load(files []hclfile.Source) (*Suite, []hclfile.Finding) {
	l := loader{suite: &Suite{}, seen: map[string]string{}}
	for _, source := range files {
		file, findings := hclfile.Parse(source)
		l.add(findings...)
		if file.Whole {
			l.file(file)
		}
	}
	findings := hclfile.Sort(l.findings)
	if hclfile.Failed(findings) {
		return nil, findings
	}
	return l.suite, findings
}

type loader struct {
	suite    *Suite
	seen     map[string]string
	findings []hclfile.Finding
}

func (l *loader) add(findings ...hclfile.Finding) { l.findings = append(l.findings, findings...) }

func (l *loader) file(file *hclfile.File) {
	l.add(file.Check(file.Body, hclfile.Shape{Blocks: map[string]hclfile.BlockShape{"job": {Once: true}, "case": {Labels: []string{"NAME"}}}})...)
	var common []part // what the file says of the jobs of all its cases
	for _, b := range file.Body.Blocks {
		if b.Type == "job" && len(b.Labels) == 0 && common == nil {
			common = l.value(file, b, "job", jobShape)
			l.merge(&facts.Job{}, common, file, "job")
		}
	}
	for _, b := range file.Body.Blocks {
		if b.Type != "case" || len(b.Labels) != 1 {
			continue
		}
		if len(l.suite.cases) == MaxCases {
			l.add(file.At(hclfile.Error, b.DefRange(), fmt.Sprintf("there are more than the %d cases that there may be", MaxCases), ""))
			return
		}
		l.oneCase(file, b, common)
	}
}

func (l *loader) oneCase(file *hclfile.File, b *hclsyntax.Block, common []part) {
	title := hclfile.Title(b)
	c := testCase{name: b.Labels[0], file: filepath.Base(file.Name), line: b.TypeRange.Start.Line}
	where := fmt.Sprintf("%s:%d", c.file, c.line)
	if first, ok := l.seen[c.name]; ok {
		l.add(file.At(hclfile.Error, b.DefRange(), title+" is given twice", "The first is at "+first+"."))
	}
	l.seen[c.name] = where
	l.add(file.Check(b.Body, hclfile.Shape{Where: title, Blocks: map[string]hclfile.BlockShape{"job": {Once: true}, "use": {Labels: []string{"QUOTA"}}, "expect": {Once: true}}})...)
	for _, p := range common {
		_ = p.into(&c.job) // what is wrong with it was said where it stands
	}
	expects := false
	for _, in := range b.Body.Blocks {
		what := title + ": " + in.Type
		switch {
		case in.Type == "job" && len(in.Labels) == 0:
			l.merge(&c.job, l.value(file, in, what, jobShape), file, what)
		case in.Type == "use" && len(in.Labels) == 1:
			var n struct{ VNIs, Addresses int }
			l.merge(&n, l.value(file, in, what, useShape), file, what)
			c.use = append(c.use, use{in.Labels[0], map[engine.Unit]int{engine.UnitVNIs: n.VNIs, engine.UnitAddresses: n.Addresses}})
		case in.Type == "expect" && len(in.Labels) == 0:
			expects = true
			l.merge(&c.want, l.value(file, in, what, expectShape), file, what)
			if err := c.want.check(); err != nil {
				l.add(file.At(hclfile.Error, in.DefRange(), what+": "+err.Error(), ""))
			}
		}
	}
	if !expects {
		l.add(file.At(hclfile.Error, b.DefRange(), title+": it expects nothing", "Write expect { … } with what the job must get, or with deny and a part of the message."))
	}
	l.suite.cases = append(l.suite.cases, c)
}

// Run holds a policy against the cases whose name only finds; nil: all. env is what the policy was loaded with. What the cases themselves get wrong, such as
// a quota that there is not, is a failure of theirs.
func (s *Suite) Run(p *policy.Policy, env policy.Env, only *regexp.Regexp) Report {
	r := Report{Policy: p.Hash(), Cases: []Result{}}
	reached := map[policy.Place]bool{}
	all := p.Explain(engine.Facts{}).Blocks
	for _, c := range s.cases {
		if only == nil || only.MatchString(c.name) {
			r.add(c.run(p, env, all, reached))
		}
	}
	r.Coverage.Rules, r.Coverage.Missed = len(all), []policy.Place{}
	for _, b := range all {
		if reached[b.Place] {
			r.Coverage.Reached++
		} else {
			r.Coverage.Missed = append(r.Coverage.Missed, b.Place)
		}
	}
	return r
}

func (c *testCase) run(p *policy.Policy, env policy.Env, all []policy.Block, reached map[policy.Place]bool) Result {
	r := Result{Case: c.name, File: c.file, Line: c.line}
	job, err := c.job.Job(env.Nodes)
	if err != nil {
		return r.failed("job", "a job that can be", plain(err))
	}
	if job.Scheduler != "" && env.Schedulers != nil && !slices.Contains(env.Schedulers, job.Scheduler) {
		return r.failed("job", "a scheduler of config.hcl", fmt.Sprintf("%q, which there is not", job.Scheduler))
	}
	for _, u := range c.use {
		if !slices.ContainsFunc(all, func(b policy.Block) bool { return b.Kind == "quota" && b.Name == u.quota }) {
			return r.failed("use", "a quota of the policy", fmt.Sprintf("%q, which there is not", u.quota))
		}
	}
	t := p.Explain(engine.Facts{Job: job, System: engine.System{Nodes: count(env.Nodes), Topology: env.Topology}, Now: c.job.Moment()})
	for _, b := range t.Blocks {
		if !b.Unasked && b.Outcome != policy.Unmatched {
			reached[b.Place] = true
		}
	}
	r.Differences = c.want.against(&t, c.charge(&t))
	r.OK = len(r.Differences) == 0
	return r
}

// Len is how many cases there are.
func (s *Suite) Len() int { return len(s.cases) }
