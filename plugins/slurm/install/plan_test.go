package install

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/plan"
)

// ground is a folder with a slurm.conf and a weft-hook that everybody may run.
type ground struct {
	t   *testing.T
	dir string
	Options
}

func newGround(t *testing.T, conf string, more map[string]string) *ground {
	t.Helper()
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && len(at) > 1; at = filepath.Dir(at) {
		_ = os.Chmod(at, 0o755) // t.TempDir is for its own user only
	}
	g := &ground{t: t, dir: dir}
	g.Options = Options{Conf: g.path("etc/slurm.conf"), Hooks: g.path("weft/slurm"), Scheduler: "slurm", Hook: g.path("bin/weft-hook")}
	g.file("bin/weft-hook", "#!/bin/sh\n", 0o755)
	g.file("etc/slurm.conf", strings.ReplaceAll(conf, "DIR", dir), 0o644)
	for name, text := range more {
		g.file(name, strings.ReplaceAll(text, "DIR", dir), 0o644)
	}
	return g
}

func (g *ground) path(name string) string { return filepath.Join(g.dir, name) }

func (g *ground) file(name, text string, mode fs.FileMode) {
	g.t.Helper()
	path := g.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		g.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		g.t.Fatal(err)
	}
}

// all is every file of the folder, but for the backups.
func (g *ground) all() map[string]string {
	g.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, plan.Backup) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(g.dir, path)
		out[rel] = fmt.Sprintf("%v\n%s", info.Mode(), text)
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return out
}

func (g *ground) plan() *Plan {
	g.t.Helper()
	p, err := New(g.Options)
	if err != nil {
		g.t.Fatal(err)
	}
	return p
}

func (g *ground) install() *Plan {
	g.t.Helper()
	p := g.plan()
	if err := p.Write(); err != nil {
		g.t.Fatalf("%v\n%s", err, shown(p.Findings))
	}
	return p
}

func (g *ground) removal() *Plan {
	g.t.Helper()
	p, err := Removal(g.Options)
	if err != nil {
		g.t.Fatal(err)
	}
	return p
}

// remove takes out the lines, and then the hook files; those that Slurm may still run are there in between.
func (g *ground) remove() {
	g.t.Helper()
	p := g.removal()
	if err := p.Write(); err != nil {
		g.t.Fatal(err)
	}
	for _, path := range p.Files {
		if _, err := os.Stat(path); err != nil {
			g.t.Errorf("Slurm may not have read slurm.conf without its lines yet: %v", err)
		}
	}
	if len(p.Files) > 0 {
		if err := g.removal().Write(); err != nil {
			g.t.Fatal(err)
		}
	}
}

func shown(f []plan.Finding) string {
	var b strings.Builder
	for _, x := range f {
		fmt.Fprintf(&b, "%-8s%s %s: %s", x.Level, x.Setting, filepath.Base(x.Place()), x.What)
		if x.Remedy != "" {
			b.WriteString(" -> " + x.Remedy)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// sites are configurations of all kinds; each is installed, installed again, and removed.
var sites = map[string]struct {
	conf  string
	more  map[string]string
	alloc bool
	lines []string          // what the block says
	site  map[string]string // by phase: the site's program
}{
	"empty": {"", nil, false, []string{"Prolog=DIR/weft/slurm/prolog", "TaskProlog=DIR/weft/slurm/taskprolog", "Epilog=DIR/weft/slurm/epilog"}, nil},
	"single programs": {
		"ClusterName=x\nProlog=/s/pro\nepilog=/s/epi # ours\nTaskProlog=\"/s/task\"\nMessageTimeout=30", nil, true,
		[]string{"Prolog=DIR/weft/slurm/prolog", "TaskProlog=DIR/weft/slurm/taskprolog", "Epilog=DIR/weft/slurm/epilog", "PrologFlags=Alloc"},
		map[string]string{"prolog": "/s/pro", "epilog": "/s/epi", "taskprolog": "/s/task"},
	},
	"folders": {
		"Prolog=DIR/prolog.d/*\nEpilog=DIR/epilog.d/e*.sh\nPrologFlags=Contain\n",
		map[string]string{"prolog.d/50-site": "", "prolog.d/00-first": "", "epilog.d/e1.sh": "", "epilog.d/zz": ""}, true,
		[]string{"TaskProlog=DIR/weft/slurm/taskprolog"}, nil,
	},
	"included": {
		"Include more.conf\nTaskProlog=/old\n", map[string]string{"etc/more.conf": "A=1\nProlog=/s/\\\nlong\nTaskProlog=/new\nPrologFlags=Serial\n"}, true,
		[]string{"Prolog=DIR/weft/slurm/prolog", "TaskProlog=DIR/weft/slurm/taskprolog", "Epilog=DIR/weft/slurm/epilog", "PrologFlags=Serial,Alloc"},
		map[string]string{"prolog": "/s/long", "taskprolog": "/old"},
	},
	"relative":    {"Prolog=pro\n", nil, false, []string{"Prolog=DIR/weft/slurm/prolog", "TaskProlog=DIR/weft/slurm/taskprolog", "Epilog=DIR/weft/slurm/epilog"}, map[string]string{"prolog": "DIR/etc/pro"}},
	"empty value": {"Prolog=\nA=1\n", nil, false, []string{"Prolog=DIR/weft/slurm/prolog", "TaskProlog=DIR/weft/slurm/taskprolog", "Epilog=DIR/weft/slurm/epilog"}, nil},
	"by other means": {
		"Prolog=DIR/weft/slurm/prolog\nTaskProlog=DIR/weft/slurm/taskprolog\nEpilog=DIR/weft/slurm/epilog\n", nil, false, nil, nil,
	},
}

func TestInstallAndRemove(t *testing.T) {
	for name, tt := range sites {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, tt.conf, tt.more)
			g.Alloc = tt.alloc
			if err := os.Chmod(g.Conf, 0o640); err != nil {
				t.Fatal(err)
			}
			before := g.all()
			g.Files = true // the hook files alone
			if p := g.install(); len(p.Files) != len(hooks) || len(p.Lines) > 0 || slices.ContainsFunc(p.Changes, func(c plan.Change) bool { return c.Site }) {
				t.Errorf("the hook files alone: %+v", p)
			}
			if now := g.all(); now["etc/slurm.conf"] != before["etc/slurm.conf"] {
				t.Errorf("slurm.conf is %s", now["etc/slurm.conf"])
			}
			g.Files = false
			p := g.install()
			var said []string
			for _, l := range p.Lines {
				if !strings.HasPrefix(l, "#") {
					said = append(said, strings.ReplaceAll(l, g.dir, "DIR"))
				}
			}
			if diff := cmp.Diff(tt.lines, said); diff != "" {
				t.Error(diff)
			}
			if len(p.Files) != len(hooks) {
				t.Errorf("files %q", p.Files)
			}
			for i, path := range p.Files {
				text, err := os.ReadFile(path)
				if got, want := siteOf(text), strings.ReplaceAll(tt.site[hooks[i].phase], "DIR", g.dir); err != nil || got != want {
					t.Errorf("%s runs the site's %q, not %q: %v", path, got, want, err)
				}
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
					t.Errorf("%s: %v, %v", path, info, err)
				}
			}
			if back, err := os.ReadFile(g.Conf + plan.Backup); tt.lines != nil && (err != nil || !strings.HasSuffix(before["etc/slurm.conf"], "\n"+string(back))) {
				t.Errorf("the backup is %q: %v", back, err)
			}
			with := g.all()
			if again := g.install(); len(again.Changes) > 0 || again.Refused() {
				t.Errorf("the second time changes %v\n%s", again.Changes, shown(again.Findings))
			}
			if diff := cmp.Diff(with, g.all()); diff != "" {
				t.Errorf("the second time: %s", diff)
			}
			if name == "by other means" {
				if r := g.removal(); !r.Refused() || r.Write() == nil {
					t.Error("files went that slurm.conf still names")
				}
				return
			}
			if r := g.removal(); len(r.Files) != len(hooks) {
				t.Errorf("the lines go, and of the hook files there stay %q", r.Files)
			}
			g.remove()
			if diff := cmp.Diff(before, g.all()); diff != "" {
				t.Errorf("after the removal: %s", diff)
			}
			if again := g.removal(); len(again.Changes) > 0 || again.Write() != nil {
				t.Errorf("the second removal changes %v", again.Changes)
			}
		})
	}
}

// TestCutShort ends a write and a removal after each change, and lets the next one complete it.
func TestCutShort(t *testing.T) {
	for name, tt := range sites {
		if name == "by other means" {
			continue
		}
		for cut := range 6 {
			g := newGround(t, tt.conf, tt.more)
			g.Alloc = tt.alloc
			before := g.all()
			p := g.plan()
			p.Changes = p.Changes[:min(cut, len(p.Changes))]
			if err := p.Write(); err != nil {
				t.Fatal(err)
			}
			g.install()
			full := g.all()
			if again := g.plan(); len(again.Changes) > 0 {
				t.Errorf("%s: cut after %d: %v are left", name, cut, again.Changes)
			}
			p = g.removal()
			p.Changes = p.Changes[:min(cut, len(p.Changes))]
			if err := p.Write(); err != nil {
				t.Fatal(err)
			}
			if cut%2 == 1 { // come back, or go all the way
				g.install()
				if diff := cmp.Diff(full, g.all()); diff != "" {
					t.Errorf("%s: cut after %d: %s", name, cut, diff)
				}
			}
			g.remove()
			if diff := cmp.Diff(before, g.all()); diff != "" {
				t.Errorf("%s: cut after %d: %s", name, cut, diff)
			}
		}
	}
}

func TestFolderOrder(t *testing.T) {
	for name, tt := range map[string]struct {
		pattern string
		names   []string
		want    string
	}{
		"prolog is last":       {"Prolog=DIR/d/*", []string{"10", "zz"}, "00-weft"},
		"lower than the low":   {"Prolog=DIR/d/*", []string{"00-a", "000"}, "0-weft"},
		"epilog is first":      {"Epilog=DIR/d/*", []string{"zz-zz"}, "zzz-weft"},
		"in the pattern's way": {"Epilog=DIR/d/a*.sh", []string{"az.sh", "zz"}, "azz-weft.sh"},
		"hidden ones":          {"Prolog=DIR/d/*", []string{".swap"}, "00-weft"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for _, n := range tt.names {
				files["d/"+n] = "x"
			}
			g := newGround(t, tt.pattern+"\n", files)
			p := g.install()
			if !slices.Contains(p.Files, g.path("d/"+tt.want)) {
				t.Fatalf("%q", p.Files)
			}
			// What the site adds later must not come between, and leaves no second file of Weft's.
			if tt.want != "00-weft" || len(tt.names) < 2 {
				return
			}
			g.file("d/00-new", "x", 0o755)
			p = g.install()
			if !slices.Contains(p.Files, g.path("d/0-weft")) {
				t.Errorf("%q", p.Files)
			}
			if _, err := os.Stat(g.path("d/00-weft")); err == nil {
				t.Error("the first file is still there: Slurm would run both")
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		conf string
		want string
		with func(g *ground)
	}{
		"its own switch":        {"SwitchType=switch/HPE_slingshot\n", "SwitchType slurm.conf:1: switch/HPE_slingshot makes VNIs", nil},
		"slurmd is no root":     {"A=1\nSlurmdUser=slurm\n", "SlurmdUser slurm.conf:2: slurmd runs as slurm", nil},
		"several prologs":       {"Prolog=/a\nProlog=/b\n", "Prolog slurm.conf:2: 2 lines", nil},
		"two on a line":         {"Prolog=/a Epilog=/b\n", "Prolog slurm.conf:1: more than one", nil},
		"pattern in the folder": {"Prolog=/a*/b*\n", "Weft cannot tell", nil},
		"pattern of one":        {"Epilog=/a/b?\n", "Weft cannot tell", nil},
		"no such folder":        {"Epilog=DIR/none/*\n", "there is no such folder", nil},
		"srun gives up":         {"MessageTimeout=4\n", "MessageTimeout slurm.conf:1: srun gives up", nil},
		"hooks are killed":      {"PrologEpilogTimeout=10\n", "PrologEpilogTimeout slurm.conf:1: slurmd kills", nil},
		"epilog is killed":      {"EpilogTimeout=5\n", "EpilogTimeout slurm.conf:1: slurmd kills", nil},
		"no weft-hook":          {"", "there is no such program", func(g *ground) { _ = os.Remove(g.Hook) }},
		"a foreign file":        {"", "Weft did not write it", func(g *ground) { g.file("weft/slurm/prolog", "#!/bin/sh\n", 0o755) }},
		"a link that leads away": {"", "Weft did not write it", func(g *ground) {
			g.file("other", "x", 0o755)
			g.file("weft/slurm/x", "x", 0o755)
			_ = os.Symlink(g.path("other"), g.path("weft/slurm/epilog"))
		}},
		"others write weft-hook":  {"", "others than its owner can write it", func(g *ground) { _ = os.Chmod(g.Hook, 0o777) }},
		"others write its folder": {"", "others than its owner can write it", func(g *ground) { _ = os.Chmod(filepath.Dir(g.Hook), 0o775) }},
		"users cannot run it":     {"", "who needs 0705", func(g *ground) { _ = os.Chmod(g.Hook, 0o700) }},
		"users cannot reach it":   {"", "cannot enter it", func(g *ground) { _ = os.Chmod(filepath.Dir(g.Hook), 0o700) }},
		"slurmd's copy": {"", "slurmd's copy", func(g *ground) {
			g.file("conf-cache/slurm.conf", "A=1\n", 0o644)
			g.Conf = g.path("conf-cache/slurm.conf")
		}},
		"edited script": {"", "edited by hand since", func(g *ground) {
			p := g.install()
			text, _ := os.ReadFile(p.Files[0])
			g.file("weft/slurm/prolog", strings.Replace(string(text), "exit 0", "exit 1", 1), 0o755)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, tt.conf, nil)
			if tt.with != nil {
				tt.with(g)
			}
			before := g.all()
			p := g.plan()
			found := shown(p.Findings)
			if !p.Refused() || !slices.ContainsFunc(strings.Split(found, "\n"), func(l string) bool {
				return strings.HasPrefix(l, "refusal") && strings.Contains(l, tt.want) && strings.Contains(l, " -> ")
			}) {
				t.Errorf("no refusal says %q:\n%s", tt.want, found)
			}
			if err := p.Write(); err == nil {
				t.Error("it was written all the same")
			}
			if diff := cmp.Diff(before, g.all()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestObservedBesideTheSwitch: where Weft only looks, its hooks may run beside the plugin that makes VNIs.
func TestObservedBesideTheSwitch(t *testing.T) {
	g := newGround(t, "SwitchType=switch/hpe_slingshot\n", nil)
	g.Observed = true
	p := g.plan()
	if found := shown(p.Findings); p.Refused() || !strings.Contains(found, "warning SwitchType slurm.conf:1") {
		t.Errorf("%s", found)
	}
}

func TestFindings(t *testing.T) {
	var out bytes.Buffer
	for _, tt := range []struct{ name, conf string }{
		{"nothing is set", ""},
		{"all is well", "SwitchType=switch/none\nSlurmdUser=root\nSlurmUser=slurm\nPrologFlags=Alloc,DeferBatch\nMessageTimeout=30\nPrologEpilogTimeout=300\nBatchStartTimeout=200\nLaunchParameters=use_interactive_step\n"},
		{"contain", "PrologFlags=contain\nPrologEpilogTimeout=60\nSlurmctldParameters=idle_on_node_suspend,enable_configless\n"},
		{"slow", "PrologFlags=Serial,NoHold\nMessageTimeout=8\nEpilogTimeout=20\nwhat is this\n"},
		{"short", "MessageTimeout=8\nPrologEpilogTimeout=INFINITE\nSwitchType=switch/cray_aries\n"},
	} {
		c, err := readConf("/etc/slurm/slurm.conf", texts(map[string]string{"/etc/slurm/slurm.conf": tt.conf}))
		if err != nil {
			t.Fatal(err)
		}
		var p Plan
		p.check(c, Options{}, true)
		fmt.Fprintf(&out, "== %s\n%s", tt.name, shown(p.Findings))
	}
	golden(t, "findings", out.Bytes())
}

// A program of the site's that is not there is worth a word: the hook files run it, and fail where it is missing.
func TestSiteProgramMissing(t *testing.T) {
	g := newGround(t, "Prolog=DIR/here\nTaskProlog=DIR/gone\nEpilog=DIR/text\n", map[string]string{"here": "", "text": ""})
	if err := os.Chmod(g.path("here"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(g.path("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range g.plan().Findings {
		if f.Level == plan.Warning && strings.Contains(f.What, "there is no such program") {
			got = append(got, f.Setting)
		}
	}
	if diff := cmp.Diff([]string{"TaskProlog", "Epilog"}, got); diff != "" {
		t.Errorf("%s\n%s", diff, shown(g.plan().Findings))
	}
}

func TestRemovalRefuses(t *testing.T) {
	g := newGround(t, "A=1\nProlog=/s/pro\n", nil)
	p := g.install()
	for name, change := range map[string]struct{ path, old, new string }{
		"a line":   {g.Conf, "TaskProlog=", "TaskProlog=/x # "},
		"a script": {p.Files[2], "exit $code", "exit 0"},
	} {
		text, err := os.ReadFile(change.path)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(g.dir, change.path)
		g.file(rel, strings.Replace(string(text), change.old, change.new, 1), 0o644)
		before := g.all()
		r, err := Removal(g.Options)
		if err == nil {
			err = r.Write()
		}
		if err == nil {
			t.Errorf("%s: it went", name)
		}
		if diff := cmp.Diff(before, g.all()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		g.file(rel, string(text), 0o644)
	}
	// The site's own lines may change meanwhile, and stay.
	text, _ := os.ReadFile(g.Conf)
	g.file("etc/slurm.conf", "B=2\n"+string(text)+"C=3\n", 0o644)
	if err := g.removal().Write(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(g.Conf); string(got) != "B=2\nA=1\nProlog=/s/pro\nC=3\n" {
		t.Errorf("%q", got)
	}
}

func TestWriteKeepsALink(t *testing.T) {
	g := newGround(t, "A=1\n", nil)
	link := g.path("link.conf")
	if err := os.Symlink(g.Conf, link); err != nil {
		t.Fatal(err)
	}
	g.Conf = link
	g.install()
	if at, err := os.Readlink(link); err != nil || at == link {
		t.Errorf("%q, %v", at, err)
	}
	if text, _ := os.ReadFile(link); !bytes.Contains(text, []byte(markBegin)) {
		t.Errorf("%s", text)
	}
}

func TestWriteSeesAnother(t *testing.T) {
	g := newGround(t, "A=1\n", nil)
	p := g.plan()
	g.file("etc/slurm.conf", "A=2\n", 0o644)
	if err := p.Write(); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("%v", err)
	}
	if got, _ := os.ReadFile(g.Conf); string(got) != "A=2\n" {
		t.Errorf("%q", got)
	}
}

func TestOptions(t *testing.T) {
	good := Options{Conf: "/c", Hooks: "/h", Hook: "/w", Scheduler: "tioga"}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for _, bad := range []func(*Options){
		func(o *Options) { o.Conf = "c" }, func(o *Options) { o.Hooks = "/a b" }, func(o *Options) { o.Hook = "/w*" }, func(o *Options) { o.Hooks = "/a#b" },
		func(o *Options) { o.Scheduler = "a;b" },
	} {
		o := good
		bad(&o)
		if err := o.check(); err == nil {
			t.Errorf("%+v", o)
		}
	}
}

// What the first run was told stays, so that a later one on another node need not be told again.
func TestNextRunKeepsWhatWasChosen(t *testing.T) {
	g := newGround(t, "PrologFlags=Serial\n", nil)
	g.Scheduler, g.Alloc = "tioga", true
	g.install()
	g.Scheduler, g.Alloc = "", false
	if p := g.plan(); len(p.Changes) > 0 {
		t.Errorf("%v", p.Changes)
	}
	g.Scheduler = "other"
	if p := g.install(); len(p.Changes) != len(hooks) {
		t.Errorf("%v", p.Changes)
	}
}

// TestSlurmdsCopy is a node whose slurmd keeps a copy of the controller's slurm.conf: once the controller's has the lines, only the hook files are written.
func TestSlurmdsCopy(t *testing.T) {
	g := newGround(t, "TaskProlog=/s/task\n", nil)
	g.install()
	text, err := os.ReadFile(g.Conf)
	if err != nil {
		t.Fatal(err)
	}
	g.file("conf-cache/slurm.conf", string(text), 0o644)
	g.Conf = g.path("conf-cache/slurm.conf")
	if err := os.RemoveAll(g.Hooks); err != nil {
		t.Fatal(err)
	}
	p := g.install()
	if len(p.Changes) != len(hooks) || siteOf(p.Changes[1].Text) != "/s/task" {
		t.Errorf("%v", p.Changes)
	}
}
