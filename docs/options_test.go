package docs

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/slurm"
)

var (
	optionTable = regexp.MustCompile(`(?s)\n\n\| option \| value \| .*?\n\n`)
	ofResource  = regexp.MustCompile("_(" + strings.Join(core.ResourceNames(), "|") + ")$")
)

// TestOptionTables holds the table of options in each scheduler's page against its adapter's.
func TestOptionTables(t *testing.T) {
	for page, adapter := range map[string]core.RequestParser{
		"slurm.md": slurm.New("slurm"), "flux.md": flux.New("flux"), "pbs.md": pbs.New("pbs"),
	} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		want := table(t, adapter)
		if *update {
			text = optionTable.ReplaceAll(text, []byte(strings.ReplaceAll(want, "$", "$$")))
			if err := os.WriteFile(page, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, string(optionTable.Find(text))); diff != "" {
			t.Errorf("docs/%s has other options than its adapter; run `make golden` (-adapter +page):\n%s", page, diff)
		}
		for _, r := range core.ResourceNames() {
			if !strings.Contains(string(text), "`"+r+"`") {
				t.Errorf("docs/%s: resource %s is not named", page, r)
			}
		}
	}
}

// table has a row for each option; one row for those of all resources.
func table(t *testing.T, adapter core.RequestParser) string {
	options, err := adapter.Options(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, o := range options {
		for i, name := range o.Names {
			o.Names[i] = ofResource.ReplaceAllString(name, "_R")
		}
		row := fmt.Sprintf("| `%s` | %s | `%s` | %s |\n", strings.Join(o.Names, "`, `"), o.Value, o.Example, o.Help)
		if !slices.ContainsFunc(rows, func(r string) bool { return strings.HasPrefix(r, "| `"+o.Names[0]+"` ") }) {
			rows = append(rows, row)
		}
	}
	return "\n\n| option | value | example | what it does |\n|---|---|---|---|\n" + strings.Join(rows, "") + "\n"
}
