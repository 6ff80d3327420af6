package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy/folder"
)

// has is what lies in a folder, by name; folders are their names alone.
func has(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		out[e.Name()] = string(text)
	}
	return out
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func TestSwap(t *testing.T) {
	root := t.TempDir()
	dir, link := filepath.Join(root, "rules"), filepath.Join(root, "policy")
	put(t, filepath.Join(dir, "a.policy.hcl"), "old")
	put(t, filepath.Join(root, ".rules.next", "left"), "by one that was killed")
	if err := os.Symlink("rules", link); err != nil {
		t.Fatal(err)
	}
	s, err := folder.Stage(link, []hclfile.Source{{Name: "/x/b.policy.hcl", Text: []byte("new")}, {Name: "b_test.policy.hcl", Text: []byte("test")}})
	if err != nil {
		t.Fatal(err)
	}
	old, fresh := map[string]string{"a.policy.hcl": "old"}, map[string]string{"b.policy.hcl": "new", "b_test.policy.hcl": "test"}
	for i, want := range []map[string]string{old, fresh, old, fresh} {
		if diff := cmp.Diff(want, has(t, link)); diff != "" {
			t.Errorf("after %d exchanges: -want +got\n%s", i, diff)
		}
		if i < 3 {
			if err := s.Exchange(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Drop(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"policy": "", "rules": ""}, has(t, root)); diff != "" {
		t.Errorf("left: %s", diff)
	}
	for path, want := range map[string]os.FileMode{dir: 0o750, filepath.Join(dir, "b.policy.hcl"): 0o640} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}

func TestStageRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		there string // in the folder
		files []hclfile.Source
		want  string
	}{
		"other files": {"README", nil, `"README" lies in it`},
		"folders":     {"x.policy.hcl/y", nil, `"x.policy.hcl" lies in it`},
		"one name twice": {"a.policy.hcl", []hclfile.Source{{Name: "x/a.policy.hcl"}, {Name: "y/a.policy.hcl"}},
			"two files have the name a.policy.hcl"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "rules")
			put(t, filepath.Join(dir, c.there), "")
			before := has(t, dir)
			_, err := folder.Stage(dir, c.files)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if diff := cmp.Diff(before, has(t, dir)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]string{"rules": ""}, has(t, root)); diff != "" {
				t.Errorf("left: %s", diff)
			}
		})
	}
}
