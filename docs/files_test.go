package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var quoted = regexp.MustCompile("`([a-z0-9_./]+)`")

// TestFilesListed compares the tables of files in ARCHITECTURE.md with the tree.
// The heading of a table names its folders.
func TestFilesListed(t *testing.T) {
	page, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Files\n")
	text, _, _ = strings.Cut(text, "\n## ")
	tables := strings.Split(text, "\n### ")[1:]
	if len(tables) < 10 {
		t.Fatalf("%d tables", len(tables))
	}
	for _, table := range tables {
		heading, body, _ := strings.Cut(table, "\n")
		var listed, want []string
		for _, name := range names(body) {
			if strings.HasSuffix(name, ".go") {
				listed = append(listed, name)
			}
		}
		for _, folder := range names(heading) {
			want = append(want, sources(t, filepath.Join("..", folder))...)
		}
		if diff := cmp.Diff(distinct(want), distinct(listed)); diff != "" {
			t.Errorf("ARCHITECTURE.md, files of %s (- tree, + page):\n%s", heading, diff)
		}
	}
}

func names(text string) (all []string) {
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// sources are the Go files of a folder without doc.go and tests.
func sources(t *testing.T, folder string) (all []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files: %v", folder, len(files), err)
	}
	for _, path := range files {
		if name := filepath.Base(path); name != "doc.go" && !strings.HasSuffix(name, "_test.go") {
			all = append(all, name)
		}
	}
	return all
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
