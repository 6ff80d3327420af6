package install

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/plan"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheFiles(t *testing.T) {
	o := Options{System: "/etc/flux/system", Shell: "/etc/flux/shell/lua.d", Scheduler: "tioga", Hook: "/usr/libexec/weft/weft-hook", URI: "local:///run/flux/local", Wait: 10 * time.Minute, Try: 5 * time.Minute}
	for _, f := range append(o.files(), o.toml()) {
		if f.Gone {
			continue
		}
		name := filepath.Join("testdata", strings.TrimSuffix(filepath.Base(filepath.Dir(f.Path)), ".d")+"-"+filepath.Base(f.Path)+".golden")
		if *update {
			if err := os.WriteFile(name, f.Text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(f.Text)); diff != "" {
			t.Errorf("%s: %s", f.Path, diff)
		}
		if ours, intact := plan.IsSealed(f.Text); !ours || !intact {
			t.Errorf("%s: its own seal is not known", f.Path)
		}
		if ours, intact := plan.IsSealed([]byte(strings.Replace(string(f.Text), "weft init", "weft  init", 1))); !ours || intact && strings.Contains(string(f.Text), "weft init") {
			t.Errorf("%s: an edit is not seen", f.Path)
		}
	}
}

func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestInAndOutAgain: writing twice changes nothing, and a removal leaves what was there before.
func TestInAndOutAgain(t *testing.T) {
	h := newHost(t, "")
	before := texts(t, h.dir)
	p, err := New(h.o)
	if err != nil || len(p.Changes) != 0 || len(p.Findings) != 0 || p.ByHand || len(before) != 6 {
		t.Fatalf("written again: %+v, %v, %d files", p, err, len(before))
	}
	r, err := Removal(h.o)
	if err != nil || len(r.Changes) != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := r.Write(); err != nil {
		t.Fatal(err)
	}
	if left := texts(t, h.dir); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	if r, err = Removal(h.o); err != nil || len(r.Changes) != 0 {
		t.Errorf("removed again: %+v, %v", r, err)
	}
}

// TestAnOlderScriptletGoes, and one of the site's own stays.
func TestAnOlderScriptletGoes(t *testing.T) {
	h := newHost(t, "")
	for text, want := range map[string]int{string(h.o.scriptlet("housekeeping")): 1, "#!/bin/sh\n": 0} {
		h.write("system/housekeeping.d/weft", text)
		for _, build := range []func(Options) (*Plan, error){New, Removal} {
			gone := 0
			p, err := build(h.o)
			if err != nil || p.Refused() {
				t.Fatalf("%+v, %v", p, err)
			}
			for _, c := range p.Changes {
				if c.Gone && strings.HasSuffix(c.Path, "/housekeeping.d/weft") {
					gone++
				}
			}
			if gone != want {
				t.Errorf("%d changes, want %d", gone, want)
			}
		}
	}
}

func TestWhatRefuses(t *testing.T) {
	h := newHost(t, "")
	for name, spoil := range map[string]func(){
		"edited by hand":           func() { h.write("system/epilog.d/weft", string(h.o.scriptlet("epilog"))+"exit 0\n") },
		"Weft did not write it":    func() { h.write("system/prolog.d/weft", "#!/bin/sh\n") },
		"Flux runs this file":      func() { h.write("system/prolog", "#!/bin/sh\n") },
		"there is no such program": func() { _ = os.Remove(h.o.Hook) },
	} {
		h = newHost(t, "")
		spoil()
		p, err := New(h.o)
		if err != nil || !p.Refused() || !strings.Contains(fmt.Sprint(p.Findings), name) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		before := texts(t, h.dir)
		if err := p.Write(); err == nil {
			t.Errorf("%s: it is written", name)
		}
		if diff := cmp.Diff(before, texts(t, h.dir)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestASitesOwnConfiguration keeps its job-manager table to itself: of two Flux would take one.
func TestASitesOwnConfiguration(t *testing.T) {
	for text, theirs := range map[string]bool{"[job-manager]\nplugins = []\n": true, "[job-manager.prolog]\n": true, "job-manager.inactive-age-limit = \"7d\"\n": true, "[[job-manager.x]]": true, "[bootstrap]\n# job-manager\n": false} {
		h := newHost(t, "")
		r, err := Removal(h.o)
		if err == nil {
			err = r.Write()
		}
		if err != nil {
			t.Fatal(err)
		}
		h.write("system/conf.d/site.toml", text)
		p, err := New(h.o)
		if err != nil {
			t.Fatal(err)
		}
		own := false
		for _, c := range p.Changes {
			own = own || strings.HasSuffix(c.Path, "weft.toml")
		}
		if own == theirs || p.ByHand != theirs || (len(p.Findings) > 0) != theirs || !strings.Contains(p.Lines, "per-rank = true") {
			t.Errorf("%q: weft.toml %v, findings %v", text, own, p.Findings)
		}
	}
}

// TestTheTimeoutFits the wait and one try that begins when it is almost over: Flux drains a node whose prolog takes longer.
func TestTheTimeoutFits(t *testing.T) {
	for _, wait := range []time.Duration{time.Second, 10 * time.Minute, 6 * time.Hour} {
		for _, try := range []time.Duration{time.Second, 5 * time.Minute, time.Hour} {
			o := newHost(t, "").o
			o.Wait, o.Try = wait, try
			p, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			_, text, _ := strings.Cut(p.Lines, "timeout = \"")
			text, _, _ = strings.Cut(text, "\"")
			if limit, err := time.ParseDuration(text); err != nil || limit < wait+try+time.Minute {
				t.Errorf("wait %s, try %s: timeout %q, %v", wait, try, text, err)
			}
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	good := newHost(t, "").o
	for name, spoil := range map[string]func(*Options){
		"relative": func(o *Options) { o.System = "etc" }, "a newline": func(o *Options) { o.Hook = "/a\nb" }, "label": func(o *Options) { o.Scheduler = "a b" },
		"wait": func(o *Options) { o.Wait = 0 }, "try": func(o *Options) { o.Try = 0 }, "long try": func(o *Options) { o.Try = 2 * time.Hour }, "long": func(o *Options) { o.Wait = 7 * time.Hour }, "uri": func(o *Options) { o.URI = "ssh://x" }, "dir": func(o *Options) { o.Dir = "x" },
	} {
		o := good
		spoil(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}
