package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// path finds a path between back quotes: it has a slash and small letters alone.
var path = regexp.MustCompile("`([a-z][a-z0-9_.]*/[a-z0-9_./-]*)`")

// TestPathsExist finds a file or folder of the tree that a page names and that is not there.
func TestPathsExist(t *testing.T) {
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"} {
		text, err := os.ReadFile(filepath.Join("..", page))
		if err != nil {
			t.Fatal(err)
		}
		now, _, _ := strings.Cut(string(text), "\n## Names\n") // old names stand below it
		for _, missing := range missing("..", now) {
			t.Errorf("%s names %s, which is not there", page, missing)
		}
	}
	got := missing("..", "`core/job.go`, `core/nothing.go`, `GET /metrics`")
	if len(got) != 1 || got[0] != "core/nothing.go" {
		t.Errorf("missing: %v, want core/nothing.go alone", got)
	}
}

func missing(root, text string) []string {
	var out []string
	for _, m := range path.FindAllStringSubmatch(text, -1) {
		if built := strings.HasPrefix(m[1], "bin/"); built || m[1] == "testing/synctest" { // the standard library's
			continue
		}
		if _, err := os.Stat(filepath.Join(root, strings.TrimSuffix(m[1], "..."))); err != nil {
			out = append(out, m[1])
		}
	}
	return out
}
