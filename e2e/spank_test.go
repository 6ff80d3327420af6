package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/dev/effort"
)

// buildSpank compiles weft.so by the command that its head documents.
func buildSpank(t testing.TB, to string) {
	t.Helper()
	if h := filepath.Join(include(), "slurm", "spank.h"); !exists(h) {
		if slurmPrefix != "" {
			t.Fatalf("%s: it is not there; install the headers of this Slurm too", h)
		}
		t.Skipf("no %s here; `make test-deps` brings it", h)
	}
	cc := exec.Command("cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", to, "../plugins/slurm/spank/weft.c")
	if slurmPrefix != "" {
		cc.Args = append(cc.Args, "-I"+include())
	}
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cc.Args, err, out)
	}
}

// output waits until a job's output has a line that says that it is over.
func (w *site) output(path string) string {
	w.t.Helper()
	var text string
	until(w.t, path+" says that it is over", func() (bool, string) {
		text = tail(path, 1<<16)
		return strings.Contains(text, "OVER"), text
	})
	return text
}

// TestSpank: without Prolog, TaskProlog and PrologFlags=Alloc every task has its network, or does not start.
func TestSpank(t *testing.T) {
	t.Parallel()
	w := newSite(t, setup{spank: true})
	whole := func(text string, want int) {
		t.Helper()
		all := read(t, text)
		if len(all) != want {
			t.Fatalf("%d tasks told, want %d:\n%s", len(all), want, text)
		}
		for _, s := range all {
			w.isolated(s)
			if s.VNIs != all[0].VNIs {
				t.Errorf("%+v: one job has one VNI, as %+v", s, all[0])
			}
		}
	}
	show := show + "\n"

	out := w.mustAs(alice, "srun", "-N2", "sh", "-c", show)
	whole(out, 2)
	w.clean()

	// A script, its steps, and what it starts itself; several steps at once.
	path := w.path("out", "script")
	three := "for i in 1 2 3; do srun -N2 -n2 --overlap sh -c " + quoted(show) + " & done; wait\n"
	w.batch(bob, show+"srun sh -c "+quoted(show)+"\n"+three+"echo OVER\n", "-N2", "-o", path)
	whole(w.output(path), 1+2+3*2)
	w.clean()

	// The components of a het job share one reservation.
	path = w.path("out", "het")
	w.batch(alice, show+"srun --het-group=0,1 sh -c "+quoted(show)+"\necho OVER\n", "-N1", "-o", path, ":", "-N1")
	whole(w.output(path), 3)
	w.clean()

	// A run that begins again has another generation, of which slurmstepd does not know.
	path = w.path("out", "again")
	script := show + "[ \"$SLURM_RESTART_COUNT\" = 1 ] && echo OVER\nsleep 100\n"
	job := w.batch(alice, script, "-N1", "-o", path, "--open-mode=append", "--requeue")
	until(t, "the first run tells", func() (bool, string) { s := tail(path, 1<<16); return len(read(t, s)) == 1, s })
	w.mustRoot("scontrol", "requeue", job)
	w.hurry(job)
	if again := read(t, w.output(path)); len(again) != 2 || again[0].VNIs == again[1].VNIs {
		t.Errorf("two runs: %+v", again)
	}
	w.mustRoot("scancel", job)
	w.clean()
	w.nothingDrained()
	w.examined("n1")
}

// examined sees that the doctor of a node where jobs run finds nothing that stops them, and then finds it.
func (w *site) examined(node string) {
	w.t.Helper()
	doctor := func() (string, int) {
		out, err := w.root(filepath.Join(bin, "weft"), "--dir", w.path(node), "doctor")
		if bad, ok := errors.AsType[*exec.ExitError](err); ok {
			return out, bad.ExitCode()
		}
		return out, 0
	}
	const jobsRun, noJobs = 1, 2 // the exit code is at most the first, or the second
	if out, code := doctor(); code > jobsRun || !strings.Contains(out, "the SPANK plugin loads") {
		w.t.Errorf("the doctor of %s, where jobs run, ends with %d\n%s", node, code, out)
	}
	for gone, want := range map[string]string{
		"weft.so": "the SPANK plugin cannot be used",
		"epilog":  "slurmd does not find Epilog here",
	} {
		must(w.t, os.Rename(w.path(gone), w.path("gone")))
		if out, code := doctor(); code != noJobs || !strings.Contains(out, want) {
			w.t.Errorf("the doctor of %s without %s ends with %d\n%s", node, gone, code, out)
		}
		must(w.t, os.Rename(w.path("gone"), w.path(gone)))
	}
}

// TestSpankRefuses: who may not start reads why, and no node is drained for it.
func TestSpankRefuses(t *testing.T) {
	t.Parallel()
	w := newSite(t, setup{spank: true})
	const why = "option \"--network=nonsense\"" // of the job; since 24.05 of an srun's step
	started := w.path("out", "started")
	check := func(what, text string) {
		t.Helper()
		if !strings.Contains(text, why) || exists(started) {
			t.Errorf("%s: a task started: %v; its user reads\n%s", what, exists(started), text)
		}
	}
	out, err := w.as(alice, "srun", "-N2", "--network=nonsense", "touch", started)
	if check("srun", out); err == nil {
		t.Error("srun: it exits with 0")
	}
	w.batch(alice, "touch "+started+"\n", "-N2", "--network=nonsense", "--array=1-6", "-o", w.path("out", "array-%a"))
	for i := range 6 {
		path := w.path("out", fmt.Sprintf("array-%d", i+1))
		until(t, path+" says why", func() (bool, string) { s := tail(path, 1<<16); return strings.Contains(s, why), s })
		check("a task of an array", tail(path, 1<<16))
	}
	w.clean()

	// weft-hook is not there. The plugin itself asks the agent, so tasks start; without an agent they read why not.
	w.stacked("n1", w.path("none"))
	w.oneStep(alice, "n1", 1)
	w.clean()
	w.procs[agentOf("n1")].kill()
	path := w.path("out", "no-hook")
	w.batch(alice, "touch "+started+"\n", "-N1", "-w", "n1", "-o", path)
	const noHook = "/none: No such file or directory"
	until(t, "the script's user reads why", func() (bool, string) {
		s := tail(path, 1<<16)
		return strings.Contains(s, noHook), s
	})
	out, err = w.as(alice, "srun", "-N1", "-w", "n1", "touch", started)
	if err == nil || exists(started) || !strings.Contains(out, noHook) {
		t.Errorf("neither agent nor weft-hook: %v, started: %v\n%s", err, exists(started), out)
	}
	w.startAgent("n1")
	w.attached()
	w.stacked("n1", filepath.Join(bin, "weft-hook"))

	// No agent, and then one that hangs.
	for _, hangs := range []bool{false, true} {
		until(t, "n1 is idle", func() (bool, string) { s, why := w.nodeState("n1"); return s == "idle", s + " " + why })
		agent := w.procs[agentOf("n1")]
		if hangs {
			must(t, syscall.Kill(agent.cmd.Process.Pid, syscall.SIGSTOP))
		} else {
			agent.kill()
		}
		out, err := w.as(alice, "srun", "-N1", "-w", "n1", "touch", started)
		if err == nil || exists(started) || !strings.Contains(out, "weft: ") {
			t.Errorf("the agent hangs=%v: %v, started: %v\n%s", hangs, err, exists(started), out)
		}
		if hangs {
			must(t, syscall.Kill(agent.cmd.Process.Pid, syscall.SIGCONT))
		} else {
			w.startAgent("n1")
			w.attached()
		}
	}
	w.clean()

	// Root's way around a Weft that is broken, whatever the agent has left.
	soon := time.Now().Add(time.Hour).Format(time.RFC3339)
	w.mustRoot(bin+"/weft", "--dir", w.path("n1"), "agent", "bypass", "--until", soon)
	w.procs[agentOf("n1")].kill()
	for _, left := range []bool{true, false} {
		if !left {
			must(t, os.Remove(w.path("n1", "hooks.json")))
		}
		out, err := w.as(alice, "srun", "-N1", "-w", "n1", "echo", "RAN")
		if err != nil || !strings.Contains(out, "RAN") {
			t.Errorf("bypassed, hooks.json is there: %v: %v\n%s", left, err, out)
		}
	}
	w.nothingDrained()
}

// TestSpankBesideHooks: both together are right.
func TestSpankBesideHooks(t *testing.T) {
	t.Parallel()
	effort.NeedFull(t)
	for _, alloc := range []bool{true, false} {
		w := newSite(t, setup{spank: true, hooked: true, alloc: alloc})
		for _, s := range read(t, w.mustAs(alice, "srun", "-N2", "-n4", "sh", "-c", show)) {
			w.isolated(s)
		}
		out, err := w.as(alice, "srun", "-N2", "--network=nonsense", "true")
		if err == nil && alloc || !strings.Contains(out, "nonsense") {
			t.Errorf("alloc=%v: refused with %v\n%s", alloc, err, out)
		}
		w.clean()
		w.nothingDrained()
	}
}

// fakeAgent answers every request to a node's agent with a frame of text, as an agent of another release may.
func (w *site) fakeAgent(node, text string) (stop func()) {
	w.t.Helper()
	path := w.path(node, "root.sock")
	must(w.t, os.RemoveAll(path))
	ln, err := net.Listen("unix", path)
	must(w.t, err)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			var size [4]byte
			if _, err := io.ReadFull(c, size[:]); err == nil {
				_, _ = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(size[:])))
				_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
			}
			_ = c.Close()
		}
	}()
	return func() { must(w.t, ln.Close()) }
}

// TestSpankOfAnotherRelease: where the agent is of another release than weft.so, no task starts, its user reads the
// remedy, and no node is drained.
func TestSpankOfAnotherRelease(t *testing.T) {
	t.Parallel()
	effort.NeedNight(t)
	w := newSite(t, setup{nodes: []string{"n1"}, spank: true})
	started := w.path("out", "started")
	w.procs[agentOf("n1")].kill()
	for name, tt := range map[string]struct{ reply, want string }{
		"newer: a line that weft.so does not know": {"export A=1\ncgroup /x\n", "build weft.so of the agent's release"},
		"newer: another version of the frame":      {`{"version":2,"reply":{"lines":["export A=1"]}}`, "release"},
		"older: it knows no lines":                 {`{"version":1,"result":{"Output":"export A=1"}}`, "weft: "},
		"older: it has not such a phase": {
			`{"version":1,"error":{"reason":"bad-call","what":"phase \"step\": there is none of that name"}}`,
			"none of that name",
		},
		"an answer without an end": {"export A=1", "not whole"},
		"an empty answer":          {"", "weft: "},
	} {
		stop := w.fakeAgent("n1", tt.reply)
		out, err := w.as(alice, "srun", "-N1", "sh", "-c", "touch "+started)
		if err == nil || exists(started) || !strings.Contains(out, tt.want) {
			t.Errorf("%s: srun: %v, a task started: %v\n%s", name, err, exists(started), out)
		}
		path := w.path("out", "batch")
		w.batch(alice, "touch "+started+"\n", "-N1", "-o", path)
		until(t, "the script's user reads why", func() (bool, string) {
			s := tail(path, 1<<16)
			return strings.Contains(s, tt.want), s
		})
		if exists(started) {
			t.Errorf("%s: the script started", name)
		}
		must(t, os.RemoveAll(path))
		stop()
	}
	w.startAgent("n1")
	w.attached()
	w.clean()
	w.nothingDrained()
}
