package conformance

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestMusts holds the list of docs/plugins.md against the cases: each must has one, and each case is of a must.
func TestMusts(t *testing.T) {
	text, err := os.ReadFile("../../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(text), "\n## What a plugin must do\n")
	if !ok {
		t.Fatal("docs/plugins.md has no section of that name")
	}
	list, rest, _ := strings.Cut(list, "\n## ")
	if at := regexp.MustCompile(`(?m)^- \*\*`).FindString(rest); at != "" {
		t.Errorf("a numbered rule stands outside the section")
	}
	musts := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^- \*\*([A-Z]\d+)\*\* ((?:.*\n)(?:  .*\n)*)`).FindAllStringSubmatch(list, -1) {
		if musts[m[1]] != "" {
			t.Errorf("%s stands twice", m[1])
		}
		musts[m[1]] = m[2]
	}
	if len(musts) < 30 {
		t.Fatalf("only %d rules were found", len(musts))
	}
	if n := strings.Count(list, "\n- "); n != len(musts) {
		t.Errorf("%d items and %d numbered rules", n, len(musts))
	}
	have, titles := map[string]bool{}, map[string]bool{}
	for _, c := range Cases() {
		if titles[c.Title()] || c.Name == "" || c.Run == nil {
			t.Errorf("case %q: it stands twice, or has no name or nothing to run", c.Title())
		}
		titles[c.Title()], have[c.Rule] = true, true
		if musts[c.Rule] == "" {
			t.Errorf("case %q: docs/plugins.md has no rule %s", c.Title(), c.Rule)
		}
	}
	for rule, says := range musts {
		if !have[rule] {
			t.Errorf("%s: no case names it: %s", rule, says)
		}
		if !strings.Contains(says, "must") {
			t.Errorf("%s says no must: %s", rule, says)
		}
	}
}
