package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plan"
)

// TestLook breaks one thing of a MOM's hook each, and wants the one finding of it.
func TestLook(t *testing.T) {
	for _, c := range []struct {
		name, file string
		edit       func(text, program string) string // "": the file is gone
		severity   core.Severity
		says       string
	}{
		{name: "nothing"},
		{"no hook", "weft.HK", func(string, string) string { return "" }, core.Critical, "without a network; "},
		{"switched off", "weft.HK", func(s, _ string) string {
			return s + "enabled=false\n"
		}, core.Critical, "enabled=false"},
		{"an event less", "weft.HK", func(s, _ string) string {
			return strings.Replace(s, "execjob_begin,", "", 1)
		}, core.Critical, "does not run Weft's hook in execjob_begin"},
		{"no configuration", "weft.CF", func(string, string) string { return "" }, core.Critical, "each job is refused"},
		{"a configuration that is none", "weft.CF", func(string, string) string {
			return "{"
		}, core.Critical, "each job is refused"},
		{"weft-hook elsewhere", "weft.CF", func(s, program string) string {
			return strings.Replace(s, program, "/nowhere/weft-hook", 1)
		}, core.Critical, "/nowhere/weft-hook is no program"},
		{"of another scheduler", "weft.CF", func(s, _ string) string {
			return strings.Replace(s, `"aurora"`, `"sunspot"`, 1)
		}, core.Critical, "it names scheduler sunspot"},
		{"of another release", "weft.PY", func(s, _ string) string {
			return "import pbs\n" + s
		}, core.Warning, "another release"},
		{"no script", "weft.PY", func(string, string) string { return "" }, core.Warning, "another release"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, program := t.TempDir(), filepath.Join(t.TempDir(), "weft-hook")
			write(t, program, "x", 0o755)
			conf := Config{Hook: program, Scheduler: "aurora"}
			at := filepath.Join(home, "mom_priv", "hooks")
			// As MOM of 23.06.06 has them, with the events in PBS's order.
			for name, text := range map[string]string{
				"weft.HK": "hook_name=weft\nfail_action=offline_vnodes\nevent=execjob_begin,execjob_end,execjob_launch," +
					"execjob_abort,exechost_periodic,exechost_startup\norder=200\n",
				"weft.CF": string(conf.text()), "weft.PY": string(plan.Sealed("#", Script)),
			} {
				if name == c.file {
					if text = c.edit(text, program); text == "" {
						continue
					}
				}
				write(t, filepath.Join(at, name), text, 0o700)
			}
			got := Mom{Home: home, Labels: []string{"aurora", "pbs"}}.Look()
			switch {
			case c.says == "" && len(got) == 0:
			case len(got) != 1 || got[0].Severity != c.severity || !strings.Contains(got[0].What+"; "+got[0].Evidence, c.says):
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestHome(t *testing.T) {
	for text, want := range map[string]string{
		"PBS_START_MOM=1\nPBS_HOME=/opt/spool\n": "/opt/spool", "PBS_START_MOM=1\n": "/var/spool/pbs",
		"PBS_START_MOM=0\nPBS_HOME=/x\n": "", "# PBS_START_MOM=1\n": "",
	} {
		path := filepath.Join(t.TempDir(), "pbs.conf")
		write(t, path, text, 0o644)
		if got := Home(path); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Home(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Error(got)
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a test's own
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
