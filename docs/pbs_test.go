package docs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs"
)

// TestPBSResources holds the table of resources in pbs.md against the adapter: all of them, with examples that it takes.
func TestPBSResources(t *testing.T) {
	text, err := os.ReadFile("pbs.md")
	if err != nil {
		t.Fatal(err)
	}
	var told, known []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(slingshot_\\w+)` \\| `([^`]+)` \\| ").FindAllStringSubmatch(string(text), -1) {
		told = append(told, row[1])
		name, value, _ := strings.Cut(row[2], "=")
		if !strings.HasPrefix(name, strings.TrimSuffix(row[1], "R")) {
			t.Errorf("%s: %q is no example of it", row[1], row[2])
		}
		if _, err := pbs.ParseRequest(map[string]string{strings.TrimPrefix(name, "slingshot_"): value}); err != nil {
			t.Errorf("%s: %v", row[2], err)
		}
	}
	for _, r := range pbs.Resources() {
		name := regexp.MustCompile("_("+strings.Join(core.ResourceNames(), "|")+")$").ReplaceAllString(r.Name(), "_R")
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	slices.Sort(told)
	slices.Sort(known)
	if diff := cmp.Diff(known, told); diff != "" {
		t.Errorf("the adapter's resources and the document's: %s", diff)
	}
}
