package docs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/slurm"
)

// TestNetworkOptions holds the table of --network's options in slurm.md against the parser: all of them, with examples that it takes, and what has no effect.
func TestNetworkOptions(t *testing.T) {
	text, err := os.ReadFile("slurm.md")
	if err != nil {
		t.Fatal(err)
	}
	_, err = slurm.ParseNetwork("colour=blue")
	mend := core.AsError(err).Remedy
	list, resources, ok := strings.Cut(strings.TrimPrefix(mend, "the options are "), " where R is one of ")
	if !ok {
		t.Fatalf("the parser says no more what its options are: %q", mend)
	}
	known := regexp.MustCompile(`\w+`).FindAllString(strings.ReplaceAll(list, "and ", ""), -1)
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `([^`]+)` \\| (.+) \\|$").FindAllStringSubmatch(string(text), -1) {
		name, example, effect := row[1], row[2], row[3]
		told = append(told, name)
		if !strings.HasPrefix(example, strings.TrimSuffix(name, "R")) {
			t.Errorf("%s: %q is no example of it", name, example)
		}
		r, err := slurm.ParseNetwork(example)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if none := strings.HasPrefix(effect, "no effect"); none != (len(r.Warnings) > 0) {
			t.Errorf("%s: %q, and the parser warns %q", name, effect, r.Warnings)
		}
	}
	slices.Sort(known)
	slices.Sort(told)
	if diff := cmp.Diff(known, told); diff != "" {
		t.Errorf("the parser's options and the document's: %s", diff)
	}
	for _, r := range core.ResourceNames() {
		if !strings.Contains(string(text), "`"+r+"`") || !strings.Contains(resources, r) {
			t.Errorf("resource %s is not named", r)
		}
	}
}
