package audit

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
)

func TestAudit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.log")
	if err := os.WriteFile(path, []byte("{\"msg\":\"before\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var main bytes.Buffer
	log := slog.New(slog.NewTextHandler(&main, nil))
	audit, err := Open(path, log)
	if err != nil {
		t.Fatal(err)
	}
	lines := func(name string, want ...string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		got := strings.Split(strings.TrimSpace(string(text)), "\n")
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %q, %v; want %v", name, got, err, want)
		}
		for i, w := range want {
			if !strings.HasPrefix(got[i], "{") || !strings.Contains(got[i], `"msg":"`+w+`"`) {
				t.Errorf("%s: line %d is %s, not %s", name, i+1, got[i], w)
			}
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	audit.Info("one")
	lines("audit.log", "before", "one")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	audit.Info("two", core.LogWhy, "a\u202e\x1bb")
	if text, err := os.ReadFile(path + ".1"); err != nil || !strings.Contains(string(text), `"why":"a??b"`) {
		t.Errorf("%s, %v", text, err)
	}
	lines("audit.log.1", "before", "one", "two")
	audit.Reopen()
	audit.Info("three")
	lines("audit.log", "three")
	lines("audit.log.1", "before", "one", "two")

	// What is no plain file any more is not followed.
	if err := os.Rename(path, path+".2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), path); err != nil {
		t.Fatal(err)
	}
	audit.Reopen()
	audit.Info("four")
	lines("audit.log.2", "three", "four")
	if !strings.Contains(main.String(), "goes on in the file that was open") {
		t.Errorf("the log does not tell: %s", &main)
	}
	if err := audit.Close(); err != nil {
		t.Error(err)
	}
	audit.Info("five")
	if !strings.Contains(main.String(), "audit=true") || !strings.Contains(main.String(), `five`) {
		t.Errorf("a line that cannot be written is lost: %s", &main)
	}
	for _, bad := range []string{path, filepath.Join(dir, "none", "audit.log"), dir} {
		if _, err := Open(bad, log); core.AsError(err) == nil || core.AsError(err).Reason != core.BadConfig {
			t.Errorf("%s: %v", bad, err)
		}
	}

	// Without a file it is the daemon's log.
	main.Reset()
	audit, err = Open("", log)
	if err != nil {
		t.Fatal(err)
	}
	audit.Reopen()
	audit.Info("six")
	if !strings.Contains(main.String(), "msg=six audit=true") {
		t.Error(main.String())
	}
}
