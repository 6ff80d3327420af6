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
)

// TestTheShellGetsTheJobsVariables, and what the submitting shell carried is gone.
func TestTheShellGetsTheJobsVariables(t *testing.T) {
	h := newHost(t, told)
	env := []string{
		"FLUX_JOB_ID=ƒ2", "FLUX_JOB_ID_PATH=/ƒ2", "HOME=/users/alice", "SLINGSHOT_VNIS=1",
		"FI_CXI_COLL_MCAST_TOKEN=stale", "WEFT_FROM=ƒ1",
	}
	h.shell(t, "0", []string{systemURI}, env, func(t *testing.T, exit int, lines []string) {
		want := []string{
			"FLUX_JOB_ID=ƒ2", "FLUX_JOB_ID_PATH=/ƒ2", "HOME=/users/alice", "SLINGSHOT_SVC_IDS=7,9", "SLINGSHOT_VNIS=1024,1030",
			"WEFT_FROM=ƒ2",
		}
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
if [ "$WEFT_SHELL_RANK" = 0 ]; then echo 'print weft: warning: few'; fi`)
	for _, c := range []struct {
		rank, uri, path string
		logged          bool
	}{
		{"0", systemURI, "/ƒ2", true},
		{"1", systemURI, "/ƒ2", false},
		{"0", innerURI, "/ƒ2/ƒ3", false},
	} {
		env := []string{"FLUX_JOB_ID=ƒ2", "FLUX_JOB_ID_PATH=" + c.path}
		h.shell(t, c.rank, []string{c.uri}, env, func(t *testing.T, exit int, lines []string) {
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
		"killed":                      {"echo export SLINGSHOT_VNIS=1; kill -9 $$", "die weft: "},
		"dead, with a stack":          {"echo 'fatal error: out of memory'; echo goroutine 1; exit 2", "die weft: "},
		"half an environment":         {told + "\nexit 1", "die weft: "},
		"nothing":                     {"exit 0", "die weft: "},
		"what is no variable's name":  {"echo 'export x;rm=1'; exit 0", "die weft: "},
		"weft-hook says -1, as older": {"echo export SLINGSHOT_SVC_IDS=-1; exit 3", "die weft: "},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, c.hook)
			h.shell(t, "0", []string{systemURI}, []string{"FLUX_JOB_ID=ƒ2", "FLUX_JOB_ID_PATH=/ƒ2"}, func(t *testing.T, exit int, lines []string) {
				if exit != 1 || strings.Contains(lines[0], "goroutine") || !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, c.says) }) || slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "SLINGSHOT") }) {
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
}
