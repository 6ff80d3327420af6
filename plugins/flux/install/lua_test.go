package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// luas are the versions that flux-core can be built with, oldest and newest of Debian's.
var luas = []string{"lua5.1", "lua5.4"}

// shell runs the plugin in each Lua there is, as a job's shell does: process is its own environment, env the job's.
func (h *host) shell(t *testing.T, rank string, process, env []string, test func(t *testing.T, exit int, lines []string)) {
	t.Helper()
	there := 0
	for _, lua := range luas {
		path, err := exec.LookPath(lua)
		if err != nil {
			continue
		}
		there++
		t.Run(lua, func(t *testing.T) {
			_ = os.Remove(filepath.Join(h.dir, "calls"))
			args := append([]string{"testdata/shell.lua", h.o.Shell + "/weft.lua", rank}, env...)
			cmd := exec.Command(path, args...)
			cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, process...)
			out, err := cmd.Output()
			if cmd.ProcessState == nil {
				t.Fatal(err)
			}
			test(t, cmd.ProcessState.ExitCode(), strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"))
		})
	}
	if there == 0 {
		t.Skipf("the shell plugin was not run: none of %s is installed; scripts/test-deps.sh installs them", strings.Join(luas, ", "))
	}
}

const (
	systemURI = "FLUX_URI=local:///run/flux/local"
	innerURI  = "FLUX_URI=local:///tmp/flux-x/local-1"
	told      = `cat <<'END'
unset FI_CXI_COLL_MCAST_TOKEN
export SLINGSHOT_VNIS=1024,1030
export SLINGSHOT_SVC_IDS=7,9
END`
	collective = told + "\necho export FI_CXI_COLL_JOB_ID=c7\necho export FI_CXI_COLL_JOB_STEP_ID=/ƒ2"
)

// TestTheShellGetsTheJobsVariables, and what the submitting shell carried is gone.
func TestTheShellGetsTheJobsVariables(t *testing.T) {
	h := newHost(t, told)
	env := []string{"FLUX_JOB_ID=ƒ2", "FLUX_JOB_ID_PATH=/ƒ2", "HOME=/users/alice", "SLINGSHOT_VNIS=1", "FI_CXI_COLL_MCAST_TOKEN=stale"}
	h.shell(t, "0", []string{systemURI}, env, func(t *testing.T, exit int, lines []string) {
		want := []string{"FLUX_JOB_ID=ƒ2", "FLUX_JOB_ID_PATH=/ƒ2", "HOME=/users/alice", "SLINGSHOT_SVC_IDS=7,9", "SLINGSHOT_VNIS=1024,1030"}
		if diff := cmp.Diff(want, lines); diff != "" || exit != 0 {
			t.Errorf("exit %d: %s", exit, diff)
		}
		if diff := cmp.Diff([]string{"ƒ2 /ƒ2 tioga shell"}, h.lines("calls")); diff != "" {
			t.Error(diff)
		}
	})
}

// TestWarningsAreInTheJobsOutputOnce: its first shell logs them, and no shell of a job within it.
func TestWarningsAreInTheJobsOutputOnce(t *testing.T) {
	h := newHost(t, told+`
if [ "$WEFT_SHELL_RANK$SLURM_PROCID" = 0 ]; then echo 'print weft: warning: few'; fi`)
	for _, c := range []struct {
		rank, uri, path string
		slurm           []string
		logged          bool
	}{
		{"0", systemURI, "/ƒ2", nil, true},
		{"1", systemURI, "/ƒ2", nil, false},
		{"0", innerURI, "/ƒ2/ƒ3", nil, false},
		{"0", innerURI, "/ƒ2", []string{"SLURM_JOB_ID=7", "SLURM_PROCID=0"}, false},
	} {
		env := []string{"FLUX_JOB_ID=ƒ2", "FLUX_JOB_ID_PATH=" + c.path}
		h.shell(t, c.rank, append(c.slurm, c.uri), env, func(t *testing.T, exit int, lines []string) {
			if logged := slices.Contains(lines, "log weft: warning: few"); exit != 0 || logged != c.logged {
				t.Errorf("rank %s of %s: exit %d: %q", c.rank, c.path, exit, lines)
			}
		})
	}
}

// TestAJobWithoutItsNetworkIsStopped, with a message that its user understands: whatever the hook does instead of telling variables, no task starts.
func TestAJobWithoutItsNetworkIsStopped(t *testing.T) {
	for name, c := range map[string]struct{ hook, says string }{
		"refused":                     {"echo 'print weft: job tioga/ƒ2: dedicated access is for operations; ask'; exit 1", "die weft: job tioga/ƒ2: dedicated access is for operations; ask"},
		"no services":                 {"echo 'print weft: environment of tioga/ƒ2: this node holds nothing for it'; exit 1", "die weft: environment of tioga/ƒ2: this node holds nothing for it"},
		"weft-hook itself":            {"echo 'weft-hook: /run/weft: start the agent' >&2; exit 1", "die weft-hook: /run/weft: start the agent"},
		"killed":                      {"echo export SLINGSHOT_VNIS=1; kill -9 $$", "die "},
		"half an environment":         {told + "\nexit 1", "die weft: "},
		"nothing":                     {"exit 0", "die weft: "},
		"what is no variable's name":  {"echo 'export x;rm=1'; exit 0", "die export x;rm=1"},
		"weft-hook says -1, as older": {"echo export SLINGSHOT_SVC_IDS=-1; exit 3", "die weft: "},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, c.hook)
			h.shell(t, "0", []string{systemURI}, []string{"FLUX_JOB_ID=ƒ2", "FLUX_JOB_ID_PATH=/ƒ2"}, func(t *testing.T, exit int, lines []string) {
				if exit != 1 || !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, c.says) }) || slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "SLINGSHOT") }) {
					t.Errorf("exit %d: %q", exit, lines)
				}
			})
		})
	}
	t.Run("gone", func(t *testing.T) {
		h := newHost(t, "")
		if err := os.Remove(h.o.Hook); err != nil {
			t.Fatal(err)
		}
		h.shell(t, "0", []string{systemURI}, []string{"FLUX_JOB_ID=ƒ2"}, func(t *testing.T, exit int, lines []string) {
			if exit != 1 || !strings.HasPrefix(lines[0], "die ") || !strings.Contains(lines[0], "weft-hook") {
				t.Errorf("exit %d: %q", exit, lines)
			}
		})
	})
}

// TestInnerJobs: a job within a job, at any level, asks for the outermost one, which this node's agent knows; its own path is the step.
func TestInnerJobs(t *testing.T) {
	for _, path := range []string{"/ƒ2/ƒ3", "/ƒ2/ƒ3/ƒ4", "/ƒ2/ƒ3/ƒ4/ƒ5"} {
		h := newHost(t, collective)
		h.shell(t, "0", []string{innerURI, "SLINGSHOT_VNIS=1024,1030"}, []string{"FLUX_JOB_ID=ƒ9", "FLUX_JOB_ID_PATH=" + path, "SLINGSHOT_SVC_IDS=1,1"}, func(t *testing.T, exit int, lines []string) {
			want := []string{"FI_CXI_COLL_JOB_ID=c7", "FI_CXI_COLL_JOB_STEP_ID=" + path, "FLUX_JOB_ID=ƒ9", "FLUX_JOB_ID_PATH=" + path, "SLINGSHOT_SVC_IDS=7,9", "SLINGSHOT_VNIS=1024,1030"}
			if diff := cmp.Diff(want, lines); diff != "" || exit != 0 {
				t.Errorf("exit %d: %s", exit, diff)
			}
			// Its end is told, by one of its shells.
			if diff := cmp.Diff([]string{"ƒ2 " + path + " tioga shell", "ƒ2 " + path + " tioga shell-exit"}, h.lines("calls")); diff != "" {
				t.Error(diff)
			}
		})
		h.shell(t, "1", []string{innerURI}, []string{"FLUX_JOB_ID=ƒ9", "FLUX_JOB_ID_PATH=" + path}, func(t *testing.T, exit int, _ []string) {
			if diff := cmp.Diff([]string{"ƒ2 " + path + " tioga shell"}, h.lines("calls")); diff != "" || exit != 0 {
				t.Errorf("exit %d: %s", exit, diff)
			}
		})
	}
}

// TestAnInnerJobWhoseNodeKnowsNothing is stopped where its instance has a network, and left alone where nobody around has one.
func TestAnInnerJobWhoseNodeKnowsNothing(t *testing.T) {
	h := newHost(t, "echo 'print weft: this node holds nothing for it'; exit 1")
	job := []string{"FLUX_JOB_ID=ƒ9", "FLUX_JOB_ID_PATH=/ƒ2/ƒ9"}
	h.shell(t, "0", []string{innerURI, "SLINGSHOT_VNIS=1024"}, job, func(t *testing.T, exit int, lines []string) {
		if exit != 1 || lines[0] != "die weft: this node holds nothing for it" {
			t.Errorf("exit %d: %q", exit, lines)
		}
	})
	h.shell(t, "0", []string{innerURI}, job, func(t *testing.T, exit int, lines []string) {
		if diff := cmp.Diff(job, lines); diff != "" || exit != 0 {
			t.Errorf("exit %d: %s", exit, diff)
		}
	})
}

// TestFluxUnderSlurm: the job of Slurm has the network, and each node its own variables.
func TestFluxUnderSlurm(t *testing.T) {
	h := newHost(t, `[ "$2" = taskprolog ] || { echo 'print weft: no such job'; exit 1; }
[ "$SLURM_JOB_ID" = 77 ] || exit 1
`+collective)
	for _, path := range []string{"/ƒ2", "/ƒ2/ƒ3"} {
		h.shell(t, "0", []string{innerURI, "SLURM_JOB_ID=77"}, []string{"FLUX_JOB_ID=ƒ9", "FLUX_JOB_ID_PATH=" + path}, func(t *testing.T, exit int, lines []string) {
			for _, want := range []string{"SLINGSHOT_VNIS=1024,1030", "FI_CXI_COLL_JOB_STEP_ID=" + path} {
				if exit != 0 || !slices.Contains(lines, want) {
					t.Errorf("exit %d: %q lack %s", exit, lines, want)
				}
			}
			if calls := h.lines("calls"); !slices.Contains(calls, "  slurm taskprolog") || path == "/ƒ2" && slices.Contains(calls, "ƒ2 /ƒ2 tioga shell") {
				t.Errorf("%q", calls)
			}
		})
	}
	refuses := newHost(t, "echo 'print weft: job 77: no network'; exit 1")
	refuses.shell(t, "0", []string{innerURI, "SLURM_JOB_ID=77"}, []string{"FLUX_JOB_ID=ƒ2", "FLUX_JOB_ID_PATH=/ƒ2"}, func(t *testing.T, exit int, lines []string) {
		if exit != 1 || lines[0] != "die weft: job 77: no network" {
			t.Errorf("exit %d: %q", exit, lines)
		}
	})
}

// TestAnInstanceOfAUsersOwn, on a host where nobody has a network, runs as ever.
func TestAnInstanceOfAUsersOwn(t *testing.T) {
	h := newHost(t, "exit 1")
	h.shell(t, "0", []string{innerURI}, []string{"FLUX_JOB_ID=ƒ2", "FLUX_JOB_ID_PATH=/ƒ2"}, func(t *testing.T, exit int, _ []string) {
		if exit != 0 || h.lines("calls") != nil {
			t.Errorf("exit %d, %q", exit, h.lines("calls"))
		}
	})
}

// TestAJobsIDIsNoCommand: a user sets what he likes in his own shell; it gets no further than his own.
func TestAJobsIDIsNoCommand(t *testing.T) {
	h := newHost(t, told)
	h.shell(t, "0", []string{systemURI}, []string{"FLUX_JOB_ID=x", "FLUX_JOB_ID_PATH=/$(touch " + h.dir + "'x);'"}, func(t *testing.T, _ int, _ []string) {
		if calls := h.lines("calls"); len(calls) > 0 && !strings.Contains(strings.Join(calls, "\n"), "$(touch ") {
			t.Errorf("%q", calls)
		}
		if _, err := os.Stat(h.dir + "x"); err == nil {
			t.Error("it was run")
		}
	})
}

// TestAnObservedJobStaysAsItIs: another manager gave it its variables, and Weft only looks.
func TestAnObservedJobStaysAsItIs(t *testing.T) {
	h := newHost(t, "echo leave")
	job := []string{"FI_CXI_COLL_JOB_ID=c7", "FLUX_JOB_ID=ƒ2", "FLUX_JOB_ID_PATH=/ƒ2", "SLINGSHOT_VNIS=4000"}
	h.shell(t, "0", []string{systemURI}, job, func(t *testing.T, exit int, lines []string) {
		if diff := cmp.Diff(job, lines); diff != "" || exit != 0 {
			t.Errorf("exit %d: %s", exit, diff)
		}
	})
	under := newHost(t, `[ "$2" = taskprolog ] || { echo 'print weft: no such job'; exit 1; }`)
	inner := []string{"FLUX_JOB_ID=ƒ9", "FLUX_JOB_ID_PATH=/ƒ2/ƒ9", "SLINGSHOT_VNIS=4000"}
	under.shell(t, "0", []string{innerURI, "SLURM_JOB_ID=77"}, inner, func(t *testing.T, exit int, lines []string) {
		if diff := cmp.Diff(inner, lines); diff != "" || exit != 0 {
			t.Errorf("under Slurm: exit %d: %s", exit, diff)
		}
	})
}
