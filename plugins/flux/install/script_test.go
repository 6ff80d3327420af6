package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// host is a folder with a weft-hook, and the scriptlets that call it.
type host struct {
	t   *testing.T
	dir string
	o   Options
}

// newHost has a weft-hook that runs script; the calls are in the file calls, a line each with the job's id.
func newHost(t *testing.T, script string) *host {
	t.Helper()
	dir := t.TempDir()
	h := &host{t: t, dir: dir, o: Options{
		System: dir + "/system", Shell: dir + "/lua.d", Scheduler: "tioga", Hook: dir + "/it's/weft-hook", URI: "local:///run/flux/local", Wait: time.Minute, Try: 5 * time.Minute,
	}}
	h.write("it's/weft-hook", "#!/bin/sh\necho \"$FLUX_JOB_ID $FLUX_JOB_ID_PATH $*\" >>"+dir+"/calls\n"+script+"\n")
	h.write("bin/sleep", "#!/bin/sh\necho \"$1\" >>"+dir+"/pauses\n") // so that no test waits
	h.plan()
	return h
}

func (h *host) plan() {
	h.t.Helper()
	p, err := New(h.o)
	if err == nil {
		err = p.Write()
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) lines(name string) []string {
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func (h *host) command(ctx context.Context, phase, id string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.o.System+"/"+phase+".d/weft")
	cmd.Env = []string{"PATH=" + h.dir + "/bin:/usr/sbin:/usr/bin:/sbin:/bin", "FLUX_JOB_ID=" + id, "FLUX_JOB_USERID=1000"}
	return cmd
}

// run runs a scriptlet as Flux does.
func (h *host) run(phase, id string) (exit int, says string) {
	h.t.Helper()
	var out bytes.Buffer
	cmd := h.command(h.t.Context(), phase, id)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

func TestScriptletsCallTheirPhase(t *testing.T) {
	for _, phase := range scriptlets {
		h := newHost(t, `[ "$2" != epilog ] || exit 1`)
		for _, id := range []string{"ƒ9y6M3wD", "f9y6M3wD", "341366013952"} {
			exit, says := h.run(phase, id)
			if want := map[string]int{"epilog": 1}[phase]; exit != want || says != "" {
				t.Errorf("%s: exit %d, %q", phase, exit, says)
			}
		}
		call := "  tioga " + phase
		if diff := cmp.Diff([]string{"ƒ9y6M3wD" + call, "ƒ9y6M3wD" + call, "341366013952" + call}, h.lines("calls")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestScriptletsNameTheAgentsFolder(t *testing.T) {
	h := newHost(t, "")
	h.o.Dir = h.dir + "/run it"
	h.plan()
	h.run("prolog", "ƒ2")
	h.run("epilog", "ƒ2")
	if diff := cmp.Diff([]string{"ƒ2  --dir " + h.o.Dir + " tioga prolog", "ƒ2  --dir " + h.o.Dir + " tioga epilog"}, h.lines("calls")); diff != "" {
		t.Error(diff)
	}
}

// TestAPrologWaits for what Weft cannot give now, ever longer between its tries.
func TestAPrologWaits(t *testing.T) {
	h := newHost(t, `[ "$(wc -l <`+"$0"+`.n 2>/dev/null || echo 0)" -ge 7 ] && exit 0; echo >>"$0.n"; echo "weft: pool jobs: it is empty" >&2; exit 75`)
	exit, says := h.run("prolog", "ƒ2")
	if exit != 0 || strings.Count(says, "it is empty") != 7 {
		t.Errorf("exit %d: %s", exit, says)
	}
	if diff := cmp.Diff([]string{"1", "2", "4", "8", "16", "16", "16"}, h.lines("pauses")); diff != "" {
		t.Error(diff)
	}
}

// TestAPrologThatWaitedInVainDrainsNoNode: what Weft lacks is no fault of the node's; the shell plugin ends the job.
func TestAPrologThatWaitedInVainDrainsNoNode(t *testing.T) {
	h := newHost(t, "exit 75")
	h.o.Wait = time.Second
	h.plan()
	h.write("bin/sleep", "#!/bin/sh\nexec /bin/sleep 0.3\n")
	exit, says := h.run("prolog", "ƒ2")
	if exit != 0 || !strings.Contains(says, "waited 1s in vain") || len(h.lines("calls")) < 2 {
		t.Errorf("exit %d: %q after %d calls", exit, says, len(h.lines("calls")))
	}
}

// TestAPrologsPatienceIsBounded where it has no PATH, and neither /proc nor a clock.
func TestAPrologsPatienceIsBounded(t *testing.T) {
	h := newHost(t, "exit 75")
	h.o.Wait = time.Second
	h.plan()
	h.write("date", "#!/bin/sh\nexit 1\n")
	script := h.o.System + "/prolog.d/weft"
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	for path, clock := range map[string]string{"PATH=": "date", "PATH=" + h.dir + "/none": h.dir + "/date"} {
		blind := strings.NewReplacer("/proc/uptime", h.dir+"/none", "date +%s", clock+" +%s").Replace(string(text))
		if err := os.WriteFile(script, []byte(blind), 0o755); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		cmd := h.command(ctx, "prolog", "ƒ2")
		cmd.Env[0] = path
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil || !strings.Contains(string(out), "waited 1s in vain") {
			t.Errorf("%s, %s: %v, %s", path, clock, err, out)
		}
	}
}

// TestANodesFaultFailsTheProlog at once, and with the code that weft-hook gave.
func TestANodesFaultFailsTheProlog(t *testing.T) {
	h := newHost(t, "exit 1")
	if exit, _ := h.run("prolog", "ƒ2"); exit != 1 || len(h.lines("calls")) != 1 {
		t.Errorf("exit %d after %d calls", exit, len(h.lines("calls")))
	}
}

func TestWithoutWeftHookNoNodeIsDrained(t *testing.T) {
	h := newHost(t, "")
	if err := os.Remove(h.o.Hook); err != nil {
		t.Fatal(err)
	}
	for _, phase := range scriptlets {
		if exit, says := h.run(phase, "ƒ2"); exit != 0 || !strings.HasPrefix(says, "weft: ") || !strings.Contains(says, "ƒ2") || !strings.Contains(says, "weft init flux --remove") {
			t.Errorf("%s: exit %d, %q", phase, exit, says)
		}
	}
}

// TestACancelledPrologEnds: Flux sends SIGTERM to the scriptlet alone, which must take what it started with it, in a try and between two.
func TestACancelledPrologEnds(t *testing.T) {
	for name, c := range map[string]struct{ hook, sleep string }{
		"in a try":          {"exec cat %s/wait", ""},
		"between two tries": {"exit 75", "#!/bin/sh\nexec cat %s/wait\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, "exit 0")
			fifo := filepath.Join(h.dir, "wait")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			hook := c.hook
			if strings.Contains(hook, "%s") {
				hook = fmt.Sprintf(hook, h.dir)
			}
			h.write("it's/weft-hook", "#!/bin/sh\n"+hook+"\n")
			if c.sleep != "" {
				h.write("bin/sleep", fmt.Sprintf(c.sleep, h.dir))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := h.command(ctx, "prolog", "ƒ2")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // opens when somebody reads: the prolog is where it should be
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 143 || ctx.Err() != nil {
				t.Errorf("exit %d, %v", code, ctx.Err())
			}
			for err = nil; err == nil; { // until nobody reads any more: the child has gone with it
				_, err = w.Write(make([]byte, 4096))
			}
			if !errors.Is(err, syscall.EPIPE) {
				t.Errorf("the child lives on: %v", err)
			}
		})
	}
}
