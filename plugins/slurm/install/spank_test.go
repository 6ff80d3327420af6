package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/slurm/stack"
)

// newSpank is a ground with a plugin that every Slurm loads; the file is that of any shared object, so Built fails.
func newSpank(t *testing.T, conf string, more map[string]string) *ground {
	t.Helper()
	g := newGround(t, conf, more)
	g.file("lib/weft.so", "", 0o644)
	g.Spank = &Spank{
		Plugin: g.path("lib/weft.so"), Source: []byte("int x;\n"),
		Prove: func(string, []string) (stack.Release, error) { return 0x160508, nil },
		Built: func(string) (stack.Release, error) { return 0x160501, nil },
	}
	return g
}

func TestSpankAndBack(t *testing.T) {
	const own = "etc/plugstack.conf"
	for name, tt := range map[string]struct {
		conf string
		more map[string]string
		at   string // of plugstack.conf
	}{
		"none":      {"ClusterName=a\n", nil, own},
		"a stack":   {"ClusterName=a\n", map[string]string{own: "required /x.so a=b\n"}, own},
		"no end":    {"ClusterName=a\n", map[string]string{own: "optional x.so"}, own},
		"elsewhere": {"PlugStackConfig=DIR/etc/other\n", map[string]string{own: "x\n"}, "etc/other"},
		"relative":  {"PlugStackConfig=sub/other\n", map[string]string{"etc/sub/other": "include *.conf\n"}, "etc/sub/other"},
		"included":  {"Include more\n", map[string]string{"etc/more": "PlugStackConfig=DIR/etc/o\n"}, "etc/o"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newSpank(t, tt.conf, tt.more)
			before := g.all()
			g.install()
			line := "\nrequired " + g.path("lib/weft.so") + " scheduler=slurm hook=" + g.path("bin/weft-hook") + "\n"
			with := g.all()
			conf := with["etc/slurm.conf"]
			lone := strings.Contains(conf, "\nEpilog=") && !strings.Contains(conf, "Prolog=")
			if !strings.Contains(with[tt.at], line) || !lone {
				t.Errorf("%s\n%s", with[tt.at], conf)
			}
			if !strings.HasPrefix(with["weft/slurm/weft.c"], "-rw-r--r--\nint x;\n// weft seal ") {
				t.Errorf("weft.c: %s", with["weft/slurm/weft.c"])
			}
			if !strings.Contains(with["weft/slurm/epilog"], " slurm epilog || :\n") {
				t.Errorf("Epilog may drain a node:\n%s", with["weft/slurm/epilog"])
			}
			if p := g.plan(); len(p.Changes) > 0 {
				t.Errorf("a second time: %+v", p.Changes)
			}
			g.remove()
			if diff := cmp.Diff(before, g.all()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSpankBesideHooks(t *testing.T) {
	g := newSpank(t, "ClusterName=a\n", nil)
	s := g.Spank
	g.Spank = nil
	g.install()
	hooked := g.all()["etc/slurm.conf"]
	g.Spank = s
	g.install()
	if now := g.all(); now["etc/slurm.conf"] != hooked || !strings.Contains(now["etc/plugstack.conf"], "weft.so") {
		t.Errorf("%s\n%s", now["etc/slurm.conf"], now["etc/plugstack.conf"])
	}
}

func TestSpankRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		stack string // plugstack.conf
		spoil func(g *ground)
		want  string
	}{
		"does not load": {"", func(g *ground) {
			g.Spank.Prove = func(string, []string) (stack.Release, error) { return 0, errors.New("Incompatible") }
		}, "it was built for Slurm 22.05.1, and this host's does not load it: Incompatible"},
		"another plugin": {"", func(g *ground) { g.Spank.Built = stack.Built }, "lib/weft.so: "},
		"none": {"", func(g *ground) {
			must(g.t, os.Remove(g.Spank.Plugin))
			g.Spank.Built = stack.Built
		}, "no such file"},
		"optional":      {"optional DIR/lib/weft.so\n", nil, "otherwise than Weft would"},
		"other args":    {"required DIR/lib/weft.so scheduler=other\n", nil, "otherwise than Weft would"},
		"included":      {"include DIR/etc/p.d/*\n", nil, "otherwise than Weft would"},
		"edited":        {"# BEGIN weft: x\nrequired y\n# END weft 00000000\n", nil, "edited by hand"},
		"for root only": {"", func(g *ground) { must(g.t, os.Chmod(g.path("lib/weft.so"), 0o600)) }, "who needs 0604"},
		"binary":        {"required \x00\n", nil, "a zero byte"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newSpank(t, "ClusterName=a\n", map[string]string{"etc/p.d/x": "required " + "/y/weft.so\n"})
			if tt.stack != "" {
				g.file("etc/plugstack.conf", strings.ReplaceAll(tt.stack, "DIR", g.dir), 0o644)
			}
			if tt.spoil != nil {
				tt.spoil(g)
			}
			before := g.all()
			p := g.plan()
			if text := shown(p.Findings); !p.Refused() || !strings.Contains(text, tt.want) {
				t.Errorf("%s", text)
			}
			if err := p.Write(); err == nil {
				t.Error("it is written")
			}
			if diff := cmp.Diff(before, g.all()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSpankFiles: the source comes before the plugin, and no line.
func TestSpankFiles(t *testing.T) {
	g := newSpank(t, "ClusterName=a\n", nil)
	g.Spank.Built = stack.Built
	must(t, os.Remove(g.Spank.Plugin))
	g.Files = true
	p := g.install()
	now := g.all()
	conf := now["etc/slurm.conf"]
	if now["weft/slurm/weft.c"] == "" || now["etc/plugstack.conf"] != "" || strings.Contains(conf, "Epilog") {
		t.Errorf("%+v", now)
	}
	if p.Refused() || !strings.Contains(shown(p.Findings), "cc -O2") {
		t.Error(shown(p.Findings))
	}
	// The line needs no file that an earlier installation left: it is whole, or it is not there.
	if _, err := os.Stat(filepath.Join(g.dir, "etc/plugstack.conf"+plan.Backup)); err == nil {
		t.Error("plugstack.conf was touched")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
