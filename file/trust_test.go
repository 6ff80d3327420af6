package file

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const stranger = 64001

// TestTrust changes one thing at a time of a way that is believed. Each change lets another user choose what is read.
func TestTrust(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(in func(string) string) error
		path   string // default: a/b/config
		fault  string // which part is at fault; empty: the file is believed
		root   bool   // only root can make the change
	}{
		{name: "as it is"},
		{name: "not there yet", path: "a/b/new"},
		{name: "nor its folder", path: "a/c/new"},
		{name: "a folder", path: "a/b"},
		{name: "a link to it", path: "link"},
		{name: "an absolute link through a link", path: "absolute"},
		{name: "through a folder like /tmp", path: "tmp/mine/g"},
		{name: "a link that leads up", path: "tmp/up"},
		{name: "the file is group's", change: chmod("a/b/config", 0o664), fault: "a/b/config"},
		{name: "the file is everybody's", change: chmod("a/b/config", 0o646), fault: "a/b/config"},
		{name: "its folder is group's", change: chmod("a/b", 0o775), fault: "a/b"},
		{name: "a parent is everybody's", change: chmod("a", 0o757), fault: "a"},
		{name: "a parent is everybody's, of a link's target", change: chmod("a", 0o757), path: "link", fault: "a"},
		{name: "a parent of a link", change: chmod("links", 0o777), path: "links/config", fault: "links"},
		{name: "nothing there, in a parent of everybody", change: chmod("a", 0o777), path: "a/c/new", fault: "a"},
		{name: "nothing there, in a folder like /tmp", path: "tmp/new", fault: "tmp/new"},
		{name: "nothing there behind a link, in a folder like /tmp", path: "tmp/dangling", fault: "tmp/new"},
		{name: "a folder like /tmp itself", path: "tmp", fault: "tmp"},
		{name: "a link to a folder like /tmp", path: "totmp", fault: "tmp"},
		{name: "links in a circle", path: "circle", fault: "circle"},
		{name: "a stranger's file", change: chown("a/b/config"), fault: "a/b/config", root: true},
		{name: "a stranger's folder", change: chown("a"), fault: "a", root: true},
		{name: "a stranger's link", change: chown("link"), path: "link", fault: "link", root: true},
		{name: "a stranger's file in a folder like /tmp", change: chown("tmp/f"), path: "tmp/f", fault: "tmp/f", root: true},
		{name: "a stranger's folder there", change: chown("tmp/mine"), path: "tmp/mine/g", fault: "tmp/mine", root: true},
		{name: "a stranger's folder like /tmp", change: chown("tmp"), path: "tmp/mine/g", fault: "tmp", root: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			in := tree(t)
			if tt.change != nil {
				must(t, tt.change(in))
			}
			d := Trust(in(cmp.Or(tt.path, "a/b/config")))
			switch {
			case tt.fault == "":
				if d != nil {
					t.Errorf("it is not believed: %v", d)
				}
			case d == nil:
				t.Errorf("it is believed, and %s is at fault", tt.fault)
			case d.Path != in(tt.fault):
				t.Errorf("%s is at fault, want %s", d.Path, in(tt.fault))
			}
		})
	}
}

// tree makes files that are believed, and gives their paths.
func tree(t *testing.T) (in func(name string) string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	if d := Trust(dir); d != nil {
		t.Skipf("the folder for tests is not believed: %v", d)
	}
	in = func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a/b", "tmp/mine", "links"} {
		must(t, os.MkdirAll(in(name), 0o755))
	}
	for _, name := range []string{"a/b/config", "tmp/mine/g", "tmp/f"} {
		must(t, os.WriteFile(in(name), nil, 0o644))
		must(t, os.Chmod(in(name), 0o644)) // whatever the umask
	}
	for _, name := range []string{"a", "a/b", "links", "tmp/mine"} {
		must(t, os.Chmod(in(name), 0o755))
	}
	must(t, os.Chmod(in("tmp"), 0o777|os.ModeSticky))
	for name, target := range map[string]string{
		"link": "a/./b/config", "absolute": in("link"), "links/config": "../a/b/config",
		"tmp/up": "mine/../../a/b/config", "tmp/dangling": "new", "totmp": "tmp/", "circle": "circle",
	} {
		must(t, os.Symlink(target, in(name)))
	}
	return in
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func chmod(name string, mode os.FileMode) func(func(string) string) error {
	return func(in func(string) string) error { return os.Chmod(in(name), mode) }
}

func chown(name string) func(func(string) string) error {
	return func(in func(string) string) error { return os.Lchown(in(name), stranger, -1) }
}

func TestSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if d := Secret(path); d != nil {
		t.Errorf("none is there: %v", d)
	}
	must(t, os.WriteFile(path, nil, 0o600))
	for mode, believed := range map[os.FileMode]bool{
		0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o644: false, 0o620: false,
	} {
		must(t, os.Chmod(path, mode))
		if d := Secret(path); (d == nil) != believed {
			t.Errorf("mode %#o: %v", mode, d)
		} else if d != nil && !strings.Contains(d.Remedy, "chmod 600 "+path) {
			t.Errorf("mode %#o: the remedy is %q", mode, d.Remedy)
		}
	}
}

// TestRemediesNameTheWholePath: who reads them may be in another folder than the daemon.
func TestRemediesNameTheWholePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must(t, os.WriteFile("key", nil, 0o644))
	if d := Secret("key"); d == nil || !strings.Contains(d.Remedy, "chmod 600 "+filepath.Join(dir, "key")) {
		t.Errorf("%+v", d)
	}
	if got := Remedy("key", ErrIrregular); !strings.HasPrefix(got, "move "+filepath.Join(dir, "key")+" away") {
		t.Error(got)
	}
}
