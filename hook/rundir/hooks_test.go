package rundir

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func sample() Hooks {
	return Hooks{Node: "n1", Schedulers: []Scheduler{
		{Name: "tioga", Type: "slurm", Phases: []Phase{
			{core.HookPhase{
				Name: "prolog", Action: core.Prepare, Root: true, Variables: []string{"SLURM_JOB_UID"}, Job: []string{"SLURM_HET_JOB_ID", "SLURM_JOB_ID"},
				Limit: 8 * time.Second,
			}, core.HookReply{}, nil, true, core.HookReply{}},
			{core.HookPhase{Name: "taskprolog", Action: core.Environment, Job: []string{"SLURM_JOB_ID"}, Step: []string{"SLURM_STEP_ID"}, First: []string{"SLURM_PROCID"}, Limit: 8 * time.Second},
				core.HookReply{Stdout: []byte("unset SLINGSHOT_VNIS\n")}, nil, true, core.HookReply{Stdout: []byte("leave\n")}},
		}},
		{Name: "corona", Type: "flux", Phases: []Phase{
			{core.HookPhase{Name: "epilog", Action: core.CleanUp, Root: true, Stdin: 100, Limit: time.Minute}, core.HookReply{}, nil, false, core.HookReply{}},
			{core.HookPhase{Name: "room", Action: core.Room, Root: true, Limit: time.Second}, core.HookReply{}, &core.HookReply{Stdout: []byte("yes\n")}, false, core.HookReply{}},
		}},
		{Name: "a", Type: "pbs"}, {Name: "b", Type: "pbs"},
	}}
}

func TestHooksComeBack(t *testing.T) {
	d := dir(t)
	if _, err := d.Hooks(); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(core.AsError(err).Line(), "weft agent") {
		t.Errorf("none: %v", err)
	}
	for range 2 {
		must(t, d.WriteHooks(sample()))
		got, err := d.Hooks()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sample(), got); diff != "" {
			t.Error(diff)
		}
	}
	info, err := os.Stat(d.path(hooksName))
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(string(d))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the file there are %v, %v", left, err)
	}
}

func TestHooksThatNobodyBelieves(t *testing.T) {
	for name, bad := range spoil {
		t.Run(name, func(t *testing.T) {
			d := dir(t)
			must(t, d.WriteHooks(sample()))
			bad(t, d, d.path(hooksName))
			_, err := d.Hooks()
			if e := core.AsError(err); e == nil || e.Reason != core.NotAllowed || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestFind(t *testing.T) {
	for name, test := range map[string]struct {
		scheduler, phase string
		label            string
		says             string
	}{
		"label":            {"tioga", "prolog", "tioga", ""},
		"type":             {"slurm", "taskprolog", "tioga", ""},
		"type of several":  {"pbs", "begin", "", "name one of: a, b"},
		"nobody":           {"lsf", "x", "", "name one of: tioga, corona, a, b"},
		"phase of another": {"corona", "prolog", "", "use one of: epilog"},
		"empty":            {"", "", "", "none of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			label, p, err := sample().Find(test.scheduler, test.phase)
			if test.says == "" {
				if err != nil || label != test.label || p.Name != test.phase {
					t.Errorf("got %s, %s, %v", label, p.Name, err)
				}
			} else if err == nil || !strings.Contains(core.AsError(err).Line(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Where nothing is declared there is no list to choose from, and the mend says where to declare.
func TestFindAmongNone(t *testing.T) {
	_, _, err := Hooks{}.Find("slurm", "prolog")
	e := core.AsError(err)
	if e == nil || !strings.Contains(e.What, "declares no scheduler") || !strings.Contains(e.Remedy, `scheduler "TYPE" "NAME"`) || strings.Contains(e.Line(), "one of") {
		t.Errorf("got %v", e)
	}
}

func TestHooksThatAreRefused(t *testing.T) {
	for says, spoil := range map[string]func(*Phase){
		"no action":            func(p *Phase) { p.Action = 0 },
		"its limit is 0s":      func(p *Phase) { p.Limit = 0 },
		"its limit is 2h":      func(p *Phase) { p.Limit = 2 * time.Hour },
		"no variable's name":   func(p *Phase) { p.Variables = []string{"LD_PRELOAD=x"} },
		`"1A"`:                 func(p *Phase) { p.Job = []string{"1A"} },
		"257 variables":        func(p *Phase) { p.Step = make([]string, 257) },
		"bytes of standard":    func(p *Phase) { p.Stdin = -1 },
		"while Weft is bypass": func(p *Phase) { p.Bypass.Exit = 1 },
		"when nobody answers":  func(p *Phase) { p.Away = &core.HookReply{Exit: 1} },
		"it is there twice":    func(p *Phase) { p.Name = "taskprolog" },
		"phase \"../x\"":       func(p *Phase) { p.Name = "../x" },
	} {
		t.Run(says, func(t *testing.T) {
			h := sample()
			spoil(&h.Schedulers[0].Phases[0])
			if err := dir(t).WriteHooks(h); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v", err)
			}
		})
	}
	h := sample()
	h.Schedulers[0].Name = "../.."
	if err := dir(t).WriteHooks(h); err == nil {
		t.Error("a scheduler's name that leads elsewhere was written")
	}
	for says, text := range map[string]string{
		"has version 2":    `{"version": 2}`,
		"has version 0":    `{}`,
		"not the JSON":     `{"version": 1`,
		"its limit":        `{"version":1,"schedulers":[{"name":"a","type":"a","phases":[{"name":"x","action":"prepare","limit":"soon"}]}]}`,
		"it has no action": `{"version":1,"schedulers":[{"name":"a","type":"a","phases":[{"name":"x","action":"rm","limit":"1s"}]}]}`,
	} {
		if _, err := ParseHooks([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzHooks(f *testing.F) {
	text, err := sample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"version":1,"schedulers":[]}`))
	f.Add([]byte(`{"version":1,"schedulers":[{"name":"a","type":"b","phases":[{"name":"p","action":"room","limit":"1ms","stdin":1,"bypass":{"stdout":"AA=="}}]}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := ParseHooks(text)
		if err != nil {
			return
		}
		once, err := h.Encode()
		if err != nil {
			if len(text) < MaxHooks/8 {
				t.Fatalf("what was read cannot be written: %v", err)
			}
			return
		}
		again, err := ParseHooks(once)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("it changes from one writing to the next: %v\n%s\n%s", err, once, twice)
		}
		for _, s := range h.Schedulers {
			for _, p := range s.Phases {
				if _, got, err := h.Find(s.Name, p.Name); err != nil || got.Limit <= 0 || got.Bypass.Exit != 0 {
					t.Errorf("%s %s: %+v, %v", s.Name, p.Name, got, err)
				}
			}
		}
	})
}
