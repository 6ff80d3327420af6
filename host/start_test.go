package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hclfile"
)

// A plugin's complaint about its block shows that block's file, line and column, from a process as from the daemon.
func TestAComplaintShowsItsLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.hcl")
	text := "nodes = \"n1\"\n\npool \"jobs\" {\n  vnis = \"1024-2047\"\n}\n\nscheduler \"local\" \"local\" {}\n\ndriver \"sim\" {\n  latency = \"1ms\"\n  nics    = 99\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(file)
	if err := hclfile.AsError(findings); err != nil || len(c.Drivers) != 1 {
		t.Fatalf("%v", findings)
	}
	block := c.Drivers[0]
	apply := func(schema core.Schema) (core.Values, error) {
		values, findings := block.Decode(schema)
		return values, hclfile.AsError(findings)
	}
	s := newStage(t, quick)
	for name, spec := range map[string]Spec{"process": {Program: act("sim")}, "daemon": {Value: sim.New(sim.Options{})}} {
		spec.Kind, spec.Name, spec.Block = Driver, name, apply
		p, err := s.Start(t.Context(), spec)
		found := block.Complain(err)
		if len(found) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		var shown strings.Builder
		if err := hclfile.Text(&shown, found, false); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"config.hcl:11:13", "a simulated node has 1 to 16 NICs", "nics    = 99"} {
			if !strings.Contains(shown.String(), want) {
				t.Errorf("%s: it lacks %q:\n%s", name, want, shown.String())
			}
		}
		if got := p.Status(); got.State != Failed {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A restart takes what is configured then.
func TestARestartTakesTheNewConfiguration(t *testing.T) {
	nics := int64(99)
	s := newStage(t, quick)
	p, err := s.Start(t.Context(), Spec{Kind: Driver, Name: "sim", Program: act("sim"), Block: func(schema core.Schema) (core.Values, error) {
		return values(core.Values{"nics": nics})(schema)
	}})
	if err == nil || p.Status().State != Failed {
		t.Fatalf("%v %+v", err, p.Status())
	}
	for _, nics = range []int64{3, 5} {
		if err := p.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d, err := p.NIC().Devices(t.Context()); len(d) != int(nics) || err != nil {
			t.Errorf("%d NICs: %d, %v", nics, len(d), err)
		}
	}
}

func TestWhatDoesNotStart(t *testing.T) {
	script := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho no such symbol: cxil_open_device >&2\nexit 127\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.WriteFile(open, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		program Program
		kind    Kind
		want    string
		state   State
	}{
		"no file":         {Program{Path: "/nowhere/plugin"}, Driver, "there is no such file", Failed},
		"no program":      {Program{Path: plain}, Driver, "not an executable file", Failed},
		"a relative path": {Program{Path: "plugin"}, Driver, "absolute path", Failed},
		"a bad sum":       {Program{Path: script, SHA256: "12"}, Driver, "hex digits", Failed},
		"another sum":     {Program{Path: script, SHA256: strings.Repeat("0", 64)}, Driver, "not the file whose sha256", Failed},
		"another kind":    {act("adapter"), Driver, "is no NIC driver", Failed},
		"of no kind":      {act("puppet"), Scheduler, "is no scheduler adapter", Failed},
		"it ends":         {Program{Path: script}, Driver, "no such symbol: cxil_open_device", Backoff},
		"it is mute":      {act("mute"), Driver, "libcxi.so.1: cannot open shared object file", Backoff},
	} {
		limits := quick
		limits.Backoff, limits.BackoffMost = time.Hour, time.Hour
		s := newStage(t, limits)
		p, err := s.Start(t.Context(), Spec{Kind: tt.kind, Name: "x", Program: tt.program})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := s.await(p, "at rest", func(s Status) bool { return s.State == Backoff || s.State == Failed }); got.State != tt.state {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if os.Geteuid() != 0 {
		t.Log("NOT TRIED: that root refuses a program that others may write, since this is not root")
		return
	}
	if err := (Program{Path: open}).Check(); err == nil || !strings.Contains(err.Error(), "others than its owner can write it") {
		t.Errorf("a program that all may write: %v", err)
	}
}

func TestAProgramThatNeverShakesHandsIsGivenUp(t *testing.T) {
	limits := quick
	limits.Start, limits.Backoff, limits.BackoffMost = 100*time.Millisecond, time.Hour, time.Hour
	s := newStage(t, limits)
	p, err := s.Start(t.Context(), Spec{Kind: Driver, Name: "x", Program: act("sleeper")})
	if err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("%v", err)
	}
	s.await(p, "in backoff", func(s Status) bool { return s.State == Backoff && s.PID == 0 })
}

func TestASocketPathThatIsTooLongIsRefused(t *testing.T) {
	h, err := New(Options{Dir: "/run/" + strings.Repeat("x", 80)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Start(t.Context(), Spec{Kind: Driver, Name: "x", Program: act("puppet")}); err == nil || !strings.Contains(err.Error(), "107") {
		t.Errorf("%v", err)
	}
	long := strings.Repeat("n", core.MaxScheduler)
	if folder := folderName(Scheduler, long); len(folder) > maxFolderName || folder == folderName(Scheduler, long[1:]+"m") {
		t.Errorf("folder %q", folder)
	}
	if err := checkSocketPath(filepath.Join("/run/weft/plugins", folderName(Scheduler, long))); err != nil {
		t.Error(err)
	}
}

func TestAFolderThatIsAnothersIsRefused(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := emptied(link); err == nil {
		t.Error("a symbolic link was taken for the folder")
	}
	if _, err := os.Lstat(link); err != nil {
		t.Error(err)
	}
}

func TestStatesAndNames(t *testing.T) {
	s := newStage(t, quick)
	s.puppet()
	if _, err := s.Start(t.Context(), Spec{Kind: Scheduler, Name: "tioga", Value: adapter{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), Spec{Kind: Scheduler, Name: "tioga", Value: adapter{}}); err == nil {
		t.Error("two of one name")
	}
	if _, err := s.Start(t.Context(), Spec{Kind: Driver, Name: "../x", Value: adapter{}}); err == nil {
		t.Error("a name with a path in it")
	}
	var names []string
	for _, st := range s.States() {
		names = append(names, fmt.Sprintf("%s %s: %s", st.Kind, st.Name, st.State))
	}
	if want := []string{"driver puppet: ready", "scheduler tioga: ready"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	if s.Plugin(Driver, "puppet") == nil || s.Plugin(Scheduler, "tioga") == nil || s.Plugin(Driver, "tioga") != nil {
		t.Error("a plugin is not found by its kind and name")
	}
}
