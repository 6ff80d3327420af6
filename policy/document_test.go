package policy_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
)

const document = "../docs/policy.md"

// Every example of the document is loaded: complete ones alone, others beside the shipped policy; those that are wrong give the findings that follow them.
func TestDocument(t *testing.T) {
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := os.ReadFile("default.policy.hcl")
	if err != nil {
		t.Fatal(err)
	}
	top, err := engine.NewTopology([]string{"n[1-32]", "n[33-64]"})
	if err != nil {
		t.Fatal(err)
	}
	env := policy.Env{Pools: []string{"jobs"}, Services: []string{"daos"}, Schedulers: []string{"tioga"}, Nodes: "n[1-64]", Topology: top}
	ordinary := facts(func(j *core.Job) {
		j.Told = core.Told{QOS: new("normal"), Reservation: new(""), TimeLimit: new(int64(3600)), Constraints: new("")}
	})
	ordinary.Now = 1700000000
	kinds, doc, read := map[string]int{}, string(raw), 0
	blocks := regexp.MustCompile("(?s)```(hcl[ a-z]*)\n(.*?)```(?:\n\n```text\n(.*?)```)?")
	for _, at := range blocks.FindAllStringSubmatchIndex(string(raw), -1) {
		part := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return string(raw[at[2*i]:at[2*i+1]])
		}
		kind, example, want := part(1), part(2), part(3)
		kinds[kind]++
		read++
		files := []hclfile.Source{{Name: "a.policy.hcl", Text: shipped}, {Name: "b.policy.hcl", Text: []byte(example)}}
		if kind == "hcl complete" {
			files = files[1:]
		}
		p, findings := policy.Load(files, env)
		if got := text(findings); got != want {
			if *update && kind == "hcl wrong" {
				doc = strings.Replace(doc, example+"```\n\n```text\n"+want, example+"```\n\n```text\n"+got, 1)
				continue
			}
			t.Errorf("%s\n%s (-document +is):\n%s", kind, example, cmp.Diff(want, got))
		}
		if p != nil && p.Decide(ordinary).Deny != nil {
			t.Errorf("%s\ndenies the most ordinary job: %v", example, p.Decide(ordinary).Deny)
		}
	}
	if kinds["hcl complete"] == 0 || kinds["hcl"] < 6 || kinds["hcl wrong"] < 2 || read != strings.Count(string(raw), "```hcl") {
		t.Errorf("examples read: %v", kinds)
	}
	if *update {
		if err := os.WriteFile(document, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The document names every function, variable, attribute and block there is, as the program itself lists them.
func TestDocumentIsComplete(t *testing.T) {
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, findings := policy.Load(sources(base, rule("frobnicate_all(1)"), rule("jbo"), "blk \"x\" {}\nrule \"t\" {\n  zzzzzzzz = 1\n}\nquota \"u\" {\n  zzzzzzzz = 1\n}\ndeny \"v\" {\n  zzzzzzzz = 1\n}\n",
		rule("job.zzzzzzzz"), rule("job.request.zzzzzzzz"), rule("system.zzzzzzzz"), "limits \"l\" {\n  zzzzzzzz = 1\n}\n", "rule \"m\" {\n  match { zzzzzzzz = 1 }\n  min_nics = 1\n}\n"), env)
	var names []string
	for _, f := range findings {
		_, list, ok := strings.Cut(f.Detail, "There are: ")
		prefix := ""
		if !ok {
			if prefix, list, ok = strings.Cut(f.Detail, " has: "); ok {
				prefix += "."
			}
		}
		for _, name := range strings.Split(strings.TrimSuffix(list, "."), ", ") {
			if ok {
				names = append(names, prefix+name)
			}
		}
	}
	if len(names) < 80 {
		t.Fatalf("%d names: %v\n%s", len(names), names, text(findings))
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).Match(raw) {
			t.Errorf("%s does not name %s", document, name)
		}
	}
}
