package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

var job = core.JobID{Scheduler: "tioga", Job: "7"}

func environ() Environ {
	return Environ{
		Generation: 2, UID: uint32(os.Getuid()), Submitted: 9, Variables: []core.Variable{{Name: "SLINGSHOT_VNIS", Value: "1024"}},
		Replies: map[string]Rendered{"taskprolog": {Reply: Reply{Stdout: []byte("export SLINGSHOT_VNIS=1024\n")}}},
	}
}

func TestEnvironIsItsOwners(t *testing.T) {
	d := dir(t)
	if _, err := d.Environ(job); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	must(t, os.Mkdir(d.Environs(), 0o711))
	path := EnvironPath(d.Environs(), job)
	for range 2 {
		must(t, WriteEnviron(path, environ(), uint32(os.Getgid())))
		got, err := d.Environ(job)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(environ(), got); diff != "" {
			t.Error(diff)
		}
	}
	for at, want := range map[string]fs.FileMode{path: 0o400, filepath.Dir(path): 0o711} {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v", at, info.Mode(), err)
		}
	}
	for range 2 {
		must(t, d.RemoveEnviron(job))
	}
	if _, err := d.Environ(job); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after it was removed: %v", err)
	}
}

func TestEnvironsThatNobodyBelieves(t *testing.T) {
	for name, bad := range spoil {
		t.Run(name, func(t *testing.T) {
			d := dir(t)
			path := EnvironPath(d.Environs(), job)
			must(t, WriteEnviron(path, environ(), uint32(os.Getgid())))
			bad(t, d, path)
			if _, err := d.Environ(job); core.AsError(err) == nil || core.AsError(err).Reason != core.NotAllowed {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, bad := range map[string]func(path string) error{
		"others can read": func(path string) error { return os.Chmod(path, 0o440) },
		"two names":       func(path string) error { return os.Link(path, path+"2") },
		"no JSON": func(path string) error {
			return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("{"), 0o600))
		},
		"exit code 256": func(path string) error {
			return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte(`{"replies":{"x":{"exit":256}}}`), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := dir(t)
			path := EnvironPath(d.Environs(), job)
			must(t, WriteEnviron(path, environ(), uint32(os.Getgid())))
			must(t, bad(path))
			if _, err := d.Environ(job); core.AsError(err) == nil || core.AsError(err).Reason != core.NotAllowed {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNamesThatLeadElsewhere(t *testing.T) {
	d := dir(t)
	for _, bad := range []core.JobID{{Scheduler: "..", Job: "hooks.json"}, {Scheduler: "a", Job: "../../hooks.json"}, {Scheduler: "a", Job: ""}, {Scheduler: "", Job: "1"}, {Scheduler: "a/b", Job: "1"}, {Scheduler: "a", Job: strings.Repeat("1", core.MaxJobID+1)}} {
		if _, err := d.Environ(bad); core.AsError(err) == nil || core.AsError(err).Reason != core.BadCall {
			t.Errorf("%v: environment: %v", bad, err)
		}
		for what, err := range map[string]error{"remove": d.RemoveEnviron(bad), "exempt": d.Exempt(bad), "unexempt": d.Unexempt(bad)} {
			if err == nil {
				t.Errorf("%v: %s went through", bad, what)
			}
		}
		if d.Exempted(bad) {
			t.Errorf("%v is exempt", bad)
		}
	}
}

func TestRenderedForAStep(t *testing.T) {
	plain := core.HookReply{Stdout: []byte("unset STEP\n"), Stderr: []byte("w")}
	r := Split(plain, []byte("export STEP=MARK\nprint MARK\n"), "MARK")
	for step, want := range map[string]string{"": "unset STEP\n", "3": "export STEP=3\nprint 3\n", "3.x_0": "export STEP=3.x_0\nprint 3.x_0\n"} {
		got, ok := r.For(step)
		if !ok || string(got.Stdout) != want || string(got.Stderr) != "w" {
			t.Errorf("%q: %q, %v", step, got.Stdout, ok)
		}
	}
	for _, step := range []string{"3\nexport LD_PRELOAD=x", "$(id)", "a b", "ƒ", strings.Repeat("1", 1000)} {
		if got, ok := r.For(step); ok {
			t.Errorf("%q became %q", step, got.Stdout)
		}
	}
	r = Split(plain, []byte("no such thing"), "MARK")
	if got, ok := r.For("3"); !ok || string(got.Stdout) != "unset STEP\n" {
		t.Errorf("a reply without the step: %q, %v", got.Stdout, ok)
	}
}
