package flux

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/flux/broker/brokertest"
	"github.com/weft-hpc/weft/plugins/flux/install"
)

// initrc has the lines of flux-core's own that read other files (src/shell/initrc.lua, 0.88).
const initrc = "shell.source_rcpath (\"*.lua\")\nshell.source_rcpath_option (\"mpi\")\n"

// site is a node as `weft init flux` leaves it: a broker, its sysconfdir, and weft-hook.
type site struct {
	wired
	*brokertest.Broker
	etc, hook string
}

func newSite(t *testing.T) site {
	t.Helper()
	p, b := adapter(t)
	s := site{wired: p, Broker: b, etc: filepath.Join(t.TempDir(), "flux")}
	s.hook = filepath.Join(t.TempDir(), "weft-hook")
	s.write(t, s.hook, "", 0o755)
	s.write(t, s.at("shell", "initrc.lua"), initrc, 0o644)
	s.write(t, s.at("imp", "conf.d", "imp.toml"), "[run.prolog]\n[run.epilog]\n", 0o600)
	s.install(t, s.options())
	open(t, s.etc)
	b.Configure(json.RawMessage(asInstalled))
	b.Attr("conf.shell_initrc", s.at("shell", "initrc.lua"))
	return s
}

func (s site) at(path ...string) string { return filepath.Join(append([]string{s.etc}, path...)...) }

func (s site) options() install.Options {
	return install.Options{
		System: s.at("system"), Shell: s.at("shell", "lua.d"), Scheduler: "tioga", Hook: s.hook, URI: s.URI(),
		Wait: time.Minute, Try: time.Minute,
	}
}

func (s site) install(t *testing.T, o install.Options) {
	t.Helper()
	p, err := install.New(o)
	if err == nil {
		err = p.Write()
	}
	if err != nil || p.Refused() {
		t.Fatal(err, p)
	}
}

func (s site) write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // users read some of it
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// command has Flux run a program of the site as its prolog and epilog.
func (s site) command(path string) {
	with := `"per-rank":true,"command":["` + path + `"]`
	s.Configure(json.RawMessage(strings.ReplaceAll(asInstalled, `"per-rank":true`, with)))
}

// edit changes a file's text.
func (s site) edit(t *testing.T, path, from, to string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), from) {
		t.Fatal(path, err)
	}
	s.write(t, path, strings.Replace(string(text), from, to, 1), 0)
}

// TestCheckNode breaks one thing of a good node each, and wants the worst finding to be of it.
func TestCheckNode(t *testing.T) {
	remove := func(path ...string) func(*testing.T, site) {
		return func(t *testing.T, s site) {
			if err := os.RemoveAll(s.at(path...)); err != nil {
				t.Fatal(err)
			}
		}
	}
	mode := func(m os.FileMode, path ...string) func(*testing.T, site) {
		return func(t *testing.T, s site) {
			if err := os.Chmod(s.at(path...), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	old := func(t *testing.T, s site) {
		text, err := os.ReadFile(s.at("system", "epilog.d", "weft"))
		if err != nil {
			t.Fatal(err)
		}
		s.write(t, s.at("system", "housekeeping.d", "weft"), string(text), 0o755)
	}
	for _, c := range []struct {
		name     string
		spoil    func(*testing.T, site)
		severity core.Severity
		says     string // a part of its text, its evidence and its remedy
	}{
		{"nothing", func(*testing.T, site) {}, core.Good, "its hooks are set"},
		{"perilog.so taken out of the job manager", func(_ *testing.T, s site) {
			s.Jobtap(".history")
		}, core.Critical, "`flux jobtap load perilog.so`"},
		{"perilog.so loaded by hand", func(_ *testing.T, s site) {
			s.Configure(json.RawMessage(strings.Replace(asInstalled, "perilog.so", "x.so", 1)))
		}, core.Warning, "after its next start"},
		{"coral2's plugin loaded by hand", func(_ *testing.T, s site) {
			s.Jobtap("/x/cray-slingshot.so", "perilog.so")
		}, core.Critical, "flux-coral2"},
		{
			"no prolog", remove("system", "prolog.d"), core.Critical,
			"no job gets a VNI, and each fails; system/prolog.d: no file",
		},
		{"a prolog that is not executable", mode(0o644, "system", "prolog.d", "weft"), core.Critical, "it is not executable"},
		{"a file in place of the folder", func(t *testing.T, s site) {
			s.write(t, s.at("system", "prolog"), "#!/bin/sh\n", 0o755)
		}, core.Critical, "in place of the folder prolog.d"},
		{"a file in place of the folder, which runs it", func(t *testing.T, s site) {
			s.write(t, s.at("system", "prolog"), "#!/bin/sh\nrun-parts /etc/flux/system/prolog.d\n", 0o755)
		}, core.Good, ""},
		{"a prolog by another name", func(t *testing.T, s site) {
			if err := os.Rename(s.at("system", "prolog.d", "weft"), s.at("system", "prolog.d", "50-weft")); err != nil {
				t.Fatal(err)
			}
		}, core.Good, ""},
		{"no epilog", remove("system", "epilog.d"), core.Warning, "system/epilog.d: no file"},
		{"a housekeeping of an older Weft", func(t *testing.T, s site) {
			old(t, s)
			runs := strings.Replace(asInstalled, `"epilog"`, `"housekeeping":{"release-after":"30s"},"epilog"`, 1)
			s.Configure(json.RawMessage(runs))
		}, core.Critical, "system/housekeeping.d/weft: this release has no such hook"},
		{"one where Flux runs none", old, core.Good, ""},
		{"the IMP runs no prolog", func(t *testing.T, s site) {
			s.edit(t, s.at("imp", "conf.d", "imp.toml"), "[run.prolog]", "#[run.prolog]")
		}, core.Critical, "[run.prolog]"},
		{"an IMP of another place", remove("imp"), core.Good, ""},
		{"no shell plugin", remove("shell", "lua.d"), core.Critical, "shell/lua.d: no file there"},
		{
			"a shell plugin that users cannot read", mode(0o600, "shell", "lua.d", "weft.lua"), core.Critical,
			"users cannot read it",
		},
		{"a folder that users cannot enter", mode(0o700, "shell", "lua.d"), core.Critical, "users cannot read it"},
		{"an initrc that does not read it", func(t *testing.T, s site) {
			s.edit(t, s.at("shell", "initrc.lua"), "shell", "-- shell")
		}, core.Critical, "it does not read lua.d"},
		{"weft-hook gone", func(t *testing.T, s site) {
			if err := os.Remove(s.hook); err != nil {
				t.Fatal(err)
			}
		}, core.Critical, "there is no such program on this node"},
		{"another socket", func(t *testing.T, s site) {
			o := s.options()
			o.URI = "local:///run/flux/local"
			s.install(t, o)
		}, core.Critical, "serves the broker at local:///run/flux/local only"},
		{"another scheduler", func(t *testing.T, s site) {
			o := s.options()
			o.Scheduler = "corona"
			s.install(t, o)
		}, core.Critical, "names scheduler corona"},
		{"a plugin edited by hand", func(t *testing.T, s site) {
			s.edit(t, s.at("shell", "lua.d", "weft.lua"), "local hook", "local  hook")
		}, core.Warning, "was edited by hand"},
		{"a prolog that everybody can change", mode(0o777, "system", "prolog.d", "weft"), core.Critical, "others than root"},
		{"a folder that everybody can change", mode(0o777, "shell", "lua.d"), core.Critical, "others than root"},
		{"a plugin of another release", func(t *testing.T, s site) {
			s.edit(t, s.at("shell", "lua.d", "weft.lua"), "local hook", "local  hook")
			reseal(t, s.at("shell", "lua.d", "weft.lua"), "--")
		}, core.Warning, "another release"},
		{"a prolog of another release", func(t *testing.T, s site) {
			s.edit(t, s.at("system", "prolog.d", "weft"), "pause=1", "pause=2")
			reseal(t, s.at("system", "prolog.d", "weft"), "#")
		}, core.Warning, "another release"},
		{"commands of the site's own", func(t *testing.T, s site) {
			s.command(s.hook)
			remove("system", "prolog.d")(t, s)
			remove("system", "epilog.d")(t, s)
		}, core.Good, ""},
		{"a command that is not there", func(_ *testing.T, s site) {
			s.command("/nowhere/x")
		}, core.Critical, "/nowhere/x is no program here"},
		{"a management node without any of it", func(t *testing.T, s site) {
			s.Exclude("0")
			remove()(t, s)
		}, core.Good, ""},
		{"a management node that R lacks", func(t *testing.T, s site) {
			s.Hosts("", "node01")
			remove()(t, s)
		}, core.Good, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			c.spoil(t, s)
			got, err := s.Check(t.Context())
			if err != nil || len(got) == 0 {
				t.Fatal(got, err)
			}
			worst := slices.MaxFunc(got, func(a, b core.Finding) int { return cmp.Compare(a.Severity, b.Severity) })
			text := strings.ReplaceAll(worst.What+"; "+worst.Evidence+"; "+worst.Remedy, s.etc+"/", "")
			if worst.Severity != c.severity || !strings.Contains(text, c.says) {
				t.Errorf("%s: %s", worst.Severity, text)
			}
		})
	}
}

// reseal makes a file look as if a Weft wrote it.
func reseal(t *testing.T, path, comment string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	body, _, _ := strings.Cut(string(text), comment+" weft seal ")
	if err := os.WriteFile(path, plan.Sealed(comment, body), 0); err != nil {
		t.Fatal(err)
	}
}
