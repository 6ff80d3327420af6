package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/hook/rundir"
)

// bypassed is a node on which hooks go by without Weft, and which no agent answers.
func bypassed(t *testing.T) rundir.Dir {
	t.Helper()
	d := planned(t, alone)
	must(t, d.WriteBypass(time.Now().Add(time.Hour), time.Now()))
	return d
}

func logged(t *testing.T, d rundir.Dir) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(string(d), "bypass.log"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestAJobThatGoesBy is one from its prolog to its epilog, and tasks of it after the bypass is over.
func TestAJobThatGoesBy(t *testing.T) {
	d := bypassed(t)
	stale := leave(t, d, "7", uint32(os.Getuid()), exports)
	task := func(want int) {
		t.Helper()
		got := run(t, how{}, "--dir", string(d), "tioga", "taskprolog")
		if got.exit != want || want == 0 && (got.out != unsets || got.err != "") || want != 0 && !got.line() {
			t.Errorf("a task: %+v", got)
		}
	}
	if got := run(t, how{}, "--dir", string(d), "slurm", "prolog"); got.exit != 0 || got.out != unsets || got.err != "" {
		t.Errorf("prolog: %+v", got)
	}
	if _, err := os.Stat(stale); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what an earlier run of the job left is still there: %v", err)
	}
	task(0)
	must(t, d.ClearBypass())
	task(0) // it is exempt
	must(t, d.WriteBypass(time.Now().Add(time.Hour), time.Now()))
	if got := run(t, how{}, "--dir", string(d), "tioga", "epilog"); got.exit != 0 || got.err != "" {
		t.Errorf("epilog: %+v", got)
	}
	must(t, d.ClearBypass())
	task(1) // it is over
	lines := logged(t, d)
	if len(lines) != 2 || !strings.HasSuffix(lines[0], " tioga prolog job 7: went by") || !strings.Contains(lines[1], " tioga epilog job 7: went by: ") {
		t.Errorf("logged: %q", lines)
	}
	if n, err := d.BypassCount(); n != 2 || err != nil {
		t.Errorf("%d are counted, %v", n, err)
	}
}

func TestABypassedNode(t *testing.T) {
	t.Run("a job that was prepared before keeps its variables", func(t *testing.T) {
		d := bypassed(t)
		leave(t, d, "7", uint32(os.Getuid()), exports)
		if got := run(t, how{}, "--dir", string(d), "tioga", "taskprolog"); got.exit != 0 || got.out != exports {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a task without a record runs", func(t *testing.T) {
		if got := run(t, how{}, "--dir", string(bypassed(t)), "tioga", "taskprolog"); got.exit != 0 || got.out != unsets {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("no prolog asks the agent, an epilog does", func(t *testing.T) {
		d := bypassed(t)
		var mu sync.Mutex
		var asked []string
		serve(t, d.RootSocket(), 0o600, listener.Root(), func(_ context.Context, _ core.Peer, req hook.Request) (any, error) {
			var in core.HookCall
			err := req.Decode(&in)
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, in.Phase)
			return core.HookReply{Stderr: []byte("busy\n"), Exit: 5}, err
		})
		if got := run(t, how{}, "--dir", string(d), "tioga", "prolog"); got.exit != 0 {
			t.Errorf("prolog: %+v", got)
		}
		if got := run(t, how{}, "--dir", string(d), "tioga", "epilog"); got.exit != 5 || got.err != "busy\n" {
			t.Errorf("epilog: %+v", got)
		}
		if len(asked) != 1 || asked[0] != "epilog" {
			t.Errorf("the agent was asked for %v", asked)
		}
	})
	t.Run("an agent that is ill does not hold up an epilog", func(t *testing.T) {
		d := place(t)
		must(t, d.WriteHooks(plan(2*time.Second)))
		must(t, d.WriteBypass(time.Now().Add(time.Hour), time.Now()))
		listen(t, d.RootSocket(), nil)
		if got := run(t, how{}, "--dir", string(d), "tioga", "epilog"); got.exit != 0 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("no agent ever ran", func(t *testing.T) {
		d := place(t)
		must(t, d.WriteBypass(time.Now().Add(time.Hour), time.Now()))
		if got := run(t, how{}, "--dir", string(d), "tioga", "prolog"); got.exit != 0 || !got.line() {
			t.Errorf("got %+v", got)
		}
		if os.Geteuid() == 0 && len(logged(t, d)) != 1 {
			t.Errorf("logged: %q", logged(t, d))
		}
	})
	// The bypass is root's word, and the way out when Weft itself is broken: what an agent wrote wrongly must not drain the node against it.
	for name, c := range map[string]struct {
		hooks            string // empty: as they are
		scheduler, phase string
	}{
		"hooks.json is broken":             {"{", "tioga", "prolog"},
		"hooks.json is of another release": {`{"version": 99}`, "tioga", "prolog"},
		"a scheduler that is not declared": {"", "elcap", "prolog"},
		"a phase that there is none of":    {"", "tioga", "resvprolog"},
	} {
		t.Run(name, func(t *testing.T) {
			d := bypassed(t)
			if c.hooks != "" {
				must(t, os.WriteFile(filepath.Join(string(d), "hooks.json"), []byte(c.hooks), 0o600))
			}
			if got := run(t, how{}, "--dir", string(d), c.scheduler, c.phase); got.exit != 0 || got.out != "" || !got.line() {
				t.Errorf("got %+v", got)
			}
			if os.Geteuid() == 0 && len(logged(t, d)) != 1 {
				t.Errorf("logged: %q", logged(t, d))
			}
			must(t, d.ClearBypass())
			if got := run(t, how{}, "--dir", string(d), c.scheduler, c.phase); got.exit == 0 || !got.line() {
				t.Errorf("once it is over: %+v", got)
			}
		})
	}
	t.Run("a hooks.json that is another's is no excuse", func(t *testing.T) {
		d := bypassed(t)
		must(t, os.Chmod(filepath.Join(string(d), "hooks.json"), 0o646))
		if got := run(t, how{}, "--dir", string(d), "tioga", "prolog"); got.exit == 0 || !got.line() {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("an id that is none", func(t *testing.T) {
		d := bypassed(t)
		if got := run(t, how{env: []string{"JOB_ID=../x"}}, "--dir", string(d), "tioga", "prolog"); got.exit != 0 || got.out != unsets {
			t.Errorf("got %+v", got)
		}
		if _, err := os.Lstat(filepath.Join(string(d), "exempt")); err == nil {
			t.Error("something was exempted")
		}
	})
}

func TestBypassesThatAreNotObeyed(t *testing.T) {
	for name, make := range map[string]func(t *testing.T, d rundir.Dir, path string){
		"a user's": func(t *testing.T, d rundir.Dir, path string) {
			root(t)
			must(t, d.WriteBypass(time.Now().Add(time.Hour), time.Now()))
			must(t, os.Chown(path, nobody, nobody))
		},
		"others can write it": func(t *testing.T, d rundir.Dir, path string) {
			must(t, d.WriteBypass(time.Now().Add(time.Hour), time.Now()))
			must(t, os.Chmod(path, 0o646))
		},
		"a symbolic link": func(t *testing.T, d rundir.Dir, path string) {
			must(t, d.WriteBypass(time.Now().Add(time.Hour), time.Now()))
			must(t, os.Rename(path, path+".real"))
			must(t, os.Symlink(path+".real", path))
		},
		"no time": func(t *testing.T, d rundir.Dir, path string) { must(t, os.WriteFile(path, []byte("always"), 0o600)) },
		"for ever": func(t *testing.T, d rundir.Dir, path string) {
			must(t, os.WriteFile(path, []byte("9999-01-01T00:00:00Z"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := planned(t, alone)
			make(t, d, filepath.Join(string(d), "bypass"))
			got := run(t, how{}, "--dir", string(d), "tioga", "prolog")
			if got.exit == 0 || !strings.Contains(got.err, "bypass") || strings.Count(got.err, "\n") != 2 {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("over", func(t *testing.T) {
		d := planned(t, alone)
		must(t, os.WriteFile(filepath.Join(string(d), "bypass"), []byte("2020-01-01T00:00:00Z\n"), 0o600))
		if got := run(t, how{}, "--dir", string(d), "tioga", "prolog"); got.exit == 0 || !got.line() {
			t.Errorf("got %+v", got)
		}
	})
}

func TestExemptJobs(t *testing.T) {
	d := planned(t, alone)
	must(t, d.Exempt(ofJob("7")))
	leave(t, d, "7", uint32(os.Getuid()), exports) // of an earlier run
	if got := run(t, how{}, "--dir", string(d), "tioga", "taskprolog"); got.exit != 0 || got.out != unsets || got.err != "" {
		t.Errorf("got %+v", got)
	}
	if got := run(t, how{env: []string{"JOB_ID=8"}}, "--dir", string(d), "tioga", "taskprolog"); got.exit == 0 || !got.line() {
		t.Errorf("another job: %+v", got)
	}
	if os.Geteuid() == 0 {
		if got := run(t, how{uid: nobody}, "--dir", string(d), "tioga", "taskprolog"); got.exit != 0 || got.out != unsets {
			t.Errorf("as a user: %+v", got)
		}
		must(t, os.Chown(filepath.Join(string(d), "exempt", "tioga", "7"), nobody, nobody))
		if got := run(t, how{env: []string{"JOB_ID=7"}}, "--dir", string(d), "tioga", "taskprolog"); got.out != exports {
			t.Errorf("an exemption that a user made: %+v", got)
		}
	}
}
