package install

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/plan"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestScripts(t *testing.T) {
	for _, h := range hooks {
		s := script{hook: h, scheduler: "tioga", program: "/usr/libexec/weft/weft-hook"}
		golden(t, h.phase, s.file())
		s.site, s.dir = "/usr/local/it's here/"+h.phase, "/run/other"
		golden(t, h.phase+".site", s.file())
		if got := siteOf(s.file()); got != s.site {
			t.Errorf("%s: its site is %q", h.phase, got)
		}
		if ours, intact := plan.IsSealed(s.file()); !ours || !intact {
			t.Errorf("%s: not known again", h.phase)
		}
		if ours, intact := plan.IsSealed(bytes.Replace(s.file(), []byte("exit"), []byte("EXIT"), 1)); !ours || intact {
			t.Errorf("%s: an edit is not seen", h.phase)
		}
	}
}

// TestScriptsRun runs the hook files with a shell: who is called, in which order, and whose code counts.
func TestScriptsRun(t *testing.T) {
	const none, gone = "none", "gone"
	for name, tt := range map[string]struct {
		phase, site, hook string // the program's exit code
		code              int
		out               string // what both have printed
		errs              string
	}{
		"prolog alone":              {"prolog", none, "0", 0, "weft tioga prolog\n", ""},
		"prolog fails":              {"prolog", none, "3", 3, "weft tioga prolog\n", ""},
		"prolog without weft":       {"prolog", none, gone, 0, "", "job 7 gets no network"},
		"site's prolog first":       {"prolog", "0", "0", 0, "site\nweft tioga prolog\n", ""},
		"site's prolog fails":       {"prolog", "4", "3", 4, "site\n", ""},
		"prolog behind site's":      {"prolog", "0", "3", 3, "site\nweft tioga prolog\n", ""},
		"site's prolog, no weft":    {"prolog", "0", gone, 0, "site\n", "job 7 gets no network"},
		"site's fails, no weft":     {"prolog", "4", gone, 4, "site\n", ""},
		"task alone":                {"taskprolog", none, "0", 0, "weft --say print  tioga taskprolog\n", ""},
		"task fails":                {"taskprolog", none, "1", 1, "weft --say print  tioga taskprolog\n", ""},
		"task without weft":         {"taskprolog", none, gone, 1, "print weft: this task cannot have its network: ", ""},
		"site's task first":         {"taskprolog", "0", "0", 0, "site\n\nweft --say print  tioga taskprolog\n", ""},
		"site's task fails":         {"taskprolog", "4", "0", 4, "site\n", ""},
		"site's task, no weft":      {"taskprolog", "0", gone, 1, "site\n\nprint weft: this task cannot", ""},
		"epilog alone":              {"epilog", none, "0", 0, "weft tioga epilog\n", ""},
		"epilog fails":              {"epilog", none, "2", 2, "weft tioga epilog\n", ""},
		"epilog without weft":       {"epilog", none, gone, 0, "", "job 7 held here is not removed"},
		"site's epilog last":        {"epilog", "0", "0", 0, "weft tioga epilog\nsite\n", ""},
		"site's epilog fails":       {"epilog", "4", "0", 4, "weft tioga epilog\nsite\n", ""},
		"both epilogs fail":         {"epilog", "4", "2", 2, "weft tioga epilog\nsite\n", ""},
		"epilog fails, site's runs": {"epilog", "0", "2", 2, "weft tioga epilog\nsite\n", ""},
		"site's epilog, no weft":    {"epilog", "4", gone, 4, "site\n", "is not removed"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program := func(name, line, code string) string {
				path := filepath.Join(dir, name)
				if code != none && code != gone {
					if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+line+"\nexit "+code+"\n"), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				return path
			}
			i := slices.IndexFunc(hooks, func(h hook) bool { return h.phase == tt.phase })
			s := script{hook: hooks[i], scheduler: "tioga", program: program("weft-hook", `weft "$@"`, tt.hook)}
			if tt.site != none {
				s.site = program("it's a site", "site", tt.site)
			}
			path := filepath.Join(dir, "hook")
			if err := os.WriteFile(path, s.file(), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(path)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr, cmd.Env = &out, &errs, []string{"PATH=/usr/bin:/bin", "SLURM_JOB_ID=7"}
			err := cmd.Run()
			code := 0
			if e, ok := errors.AsType[*exec.ExitError](err); ok {
				code = e.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			whole := out.String() == tt.out || tt.hook == gone && tt.code == 1 && strings.HasPrefix(out.String(), tt.out) && strings.Count(out.String(), "\n") == 1+strings.Count(tt.out, "\n")
			if code != tt.code || !whole || !strings.Contains(errs.String(), tt.errs) || (tt.errs == "") != (errs.String() == "") {
				t.Errorf("exit %d, printed %q and %q", code, out.String(), errs.String())
			}
		})
	}
}
