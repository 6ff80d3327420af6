package docs

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux"
)

// TestFluxOptions holds the table of options in flux.md against the parser: all of them, with examples that it takes, and what has no effect.
func TestFluxOptions(t *testing.T) {
	text, err := os.ReadFile("flux.md")
	if err != nil {
		t.Fatal(err)
	}
	parse := func(key, value string) (core.Request, error) {
		v, err := json.Marshal(map[string]string{key: value})
		if err != nil {
			t.Fatal(err)
		}
		return flux.ParseOptions(map[string]json.RawMessage{"slingshot": v})
	}
	_, err = parse("colour", "blue")
	list := core.AsError(err).Remedy
	var known []string
	for _, m := range regexp.MustCompile(`slingshot[.=](\w+)`).FindAllStringSubmatch(list, -1) {
		known = append(known, m[1])
	}
	known = append(known, "res_R", "max_R")
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `([^`]+)` \\| (.+) \\|$").FindAllStringSubmatch(string(text), -1) {
		name, effect := row[1], row[3]
		told = append(told, name)
		key, value, ok := strings.Cut(row[2], "=")
		if !ok || !strings.HasPrefix(key, strings.TrimSuffix(name, "R")) {
			t.Errorf("%s: %q is no example of it", name, row[2])
		}
		r, err := parse(key, value)
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
}
