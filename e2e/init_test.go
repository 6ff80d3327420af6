package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hooked is a cluster whose weft-hook only notes that it was called, so that nothing but Slurm and `weft init slurm` is tried.
type hooked struct {
	*cluster
	begin []byte // slurm.conf before Weft
}

// newHooked starts one. lines may name the folder DIR.
func newHooked(t *testing.T, lines ...string) *hooked {
	t.Helper()
	needSlurm(t)
	dir := folder(t)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "DIR", dir)
	}
	h := &hooked{cluster: newCluster(t, dir, lines, "n1", "n2")}
	must(t, os.WriteFile(h.path("out", "calls"), nil, 0o666))
	must(t, os.Chmod(h.path("out", "calls"), 0o666))
	h.program("weft-hook", `[ "$1" != --say ] || shift 2; echo "$2 $SLURMD_NODENAME" >>`+h.path("out", "calls")+`; [ $2 != taskprolog ] || echo export BY_WEFT=1`)
	return h
}

// program writes one that everybody may run.
func (h *hooked) program(name, text string) {
	h.t.Helper()
	must(h.t, os.MkdirAll(filepath.Dir(h.path(name)), 0o755))
	must(h.t, os.WriteFile(h.path(name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

// notes is the text of a program of the site's.
func (h *hooked) notes(who string) string {
	return `echo "` + who + ` $SLURMD_NODENAME" >>` + h.path("out", "calls")
}

func (h *hooked) start() {
	h.t.Helper()
	h.up()
	var err error
	h.begin, err = os.ReadFile(h.conf())
	must(h.t, err)
}

// weft runs `weft init slurm`.
func (h *hooked) weft(args ...string) {
	h.t.Helper()
	h.mustRoot(append([]string{
		filepath.Join(bin, "weft"), "init", "slurm", "--bin", commandsFolder(), "--conf", h.conf(),
		"--hooks", h.path("hooks"), "--weft-hook", h.path("weft-hook"),
	}, args...)...)
}

// init runs `weft init slurm` and lets the daemons read what it wrote.
func (h *hooked) init(args ...string) {
	h.t.Helper()
	h.weft(args...)
	h.mustRoot("scontrol", "reconfigure")
}

// called empties the notes and gives those that begin with one of the words, each as "who node".
func (h *hooked) called(words ...string) []string {
	h.t.Helper()
	text, err := os.ReadFile(h.path("out", "calls"))
	must(h.t, err)
	must(h.t, os.Truncate(h.path("out", "calls"), 0))
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), func(l string) bool {
		return l == "" || len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(l, w) })
	})
}

// quiet waits until no job is left, so that every Epilog has run.
func (h *hooked) quiet() {
	h.t.Helper()
	until(h.t, "every node is idle", func() (bool, string) {
		out, _ := h.root("sinfo", "-h", "-N", "-o", "%N %T")
		return strings.Count(out, " idle\n") == len(h.nodes), out
	})
}

// reads waits until every daemon has read the last slurm.conf: a job of the smallest kind sees or does not see Weft's TaskProlog.
func (h *hooked) reads(with bool) string {
	h.t.Helper()
	var out string
	until(h.t, fmt.Sprintf("tasks see Weft: %v", with), func() (bool, string) {
		var err error
		out, err = h.as(alice, "srun", "-N2", "sh", "-c", "echo weft=$BY_WEFT site=$BY_SITE")
		return err == nil && strings.Count(out, "weft=1") == map[bool]int{true: 2}[with], out
	})
	h.quiet()
	h.called()
	return out
}

// release is the running Slurm's, as in 22.05.8. Debian writes "slurm-wlm 22.05.8".
func (c *cluster) release() string {
	words := strings.Fields(c.mustRoot("squeue", "--version"))
	return words[len(words)-1]
}

func TestInit(t *testing.T) {
	t.Parallel()
	h := newHooked(t, "Prolog=DIR/site-prolog", "TaskProlog=DIR/site-task", "Epilog=DIR/epilog.d/*")
	h.program("site-prolog", h.notes("site-prolog"))
	h.program("site-task", "printf 'export BY_SITE=1'") // no end of the line
	h.program("epilog.d/10-site", h.notes("site-10"))
	h.program("epilog.d/90-site", h.notes("site-90"))
	h.start()
	if out := h.reads(false); strings.Count(out, "site=1") != 2 {
		t.Fatalf("the site's own hooks do not run: %s", out)
	}

	// The hook files come first, and mean nothing yet but where the site has a folder. Then the lines. Before Slurm 23.02
	// each step reads slurm.conf, and so TaskProlog's line at once; since then slurmd hands on what it has read
	// (slurm_conf_init_stepd, src/common/read_config.c).
	with, without := 2, 0
	if h.release() >= "23.02" {
		with, without = without, with
	}
	step := func(when string, want int) {
		t.Helper()
		if out, err := h.as(alice, "srun", "-N2", "sh", "-c", "echo weft=$BY_WEFT"); err != nil || strings.Count(out, "weft=1") != want {
			t.Errorf("%s: %v: %s", when, err, out)
		}
		h.quiet()
		h.nothingDrained()
	}
	h.weft("--write", "--files")
	h.mustRoot("scontrol", "reconfigure")
	step("with the hook files alone", 0)
	h.weft("--write")
	step("with the lines, which slurmd has not read", with)
	if got := h.called("prolog", "taskprolog"); len(got) != with {
		t.Errorf("before slurmd has read the lines it calls %q", got)
	}
	h.mustRoot("scontrol", "reconfigure")
	if out := h.reads(true); strings.Count(out, "site=1") != 2 {
		t.Errorf("the site's TaskProlog is lost: %s", out)
	}
	out, err := h.as(alice, "srun", "-N1", "-w", "n1", "true")
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	h.quiet()
	if got, want := h.called(), []string{"site-prolog n1", "prolog n1", "taskprolog n1", "epilog n1", "site-90 n1", "site-10 n1"}; !slices.Equal(got, want) {
		t.Errorf("called %q, not %q", got, want)
	}

	// weft-hook goes before the lines do: no task runs, and no node is lost.
	must(t, os.Rename(h.path("weft-hook"), h.path("gone")))
	out, err = h.as(alice, "srun", "-N2", "echo", "it ran")
	if err == nil || strings.Contains(out, "it ran") || !strings.Contains(out, "weft: this task cannot have its network: "+h.path("weft-hook")+" is not there") {
		t.Errorf("%v: %s", err, out)
	}
	h.quiet()
	h.nothingDrained()
	if got := h.called("site"); len(got) != 6 {
		t.Errorf("without weft-hook the site's own are %q", got)
	}
	must(t, os.Rename(h.path("gone"), h.path("weft-hook")))

	// The lines go. Until slurmd has read that, it runs the hook files, and jobs cost no node.
	h.weft("--remove")
	step("without the lines, which slurmd has not read", without)
	if got := h.called("prolog"); len(got) != 2 {
		t.Errorf("before slurmd has read that the lines are gone it calls %q", got)
	}
	h.mustRoot("scontrol", "reconfigure")
	if out := h.reads(false); strings.Count(out, "site=1") != 2 {
		t.Errorf("the site's TaskProlog is not back: %s", out)
	}
	h.reads(false)
	h.weft("--remove") // the files
	out, err = h.as(alice, "srun", "-N1", "-w", "n1", "true")
	h.quiet()
	if got, want := h.called(), []string{"site-prolog n1", "site-90 n1", "site-10 n1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("called %q, not %q: %v: %s", got, want, err, out)
	}
	h.nothingDrained()
	if now, err := os.ReadFile(h.conf()); err != nil || string(now) != string(h.begin) {
		t.Errorf("slurm.conf is not what it was: %v\n%s", err, now)
	}
	for _, path := range []string{h.path("hooks"), h.path("epilog.d", "zz-weft")} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// TestInitAlloc sees that PrologFlags is in force by `scontrol reconfigure` alone.
func TestInitAlloc(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	h.start()
	h.init("--write")
	h.reads(true)
	if out, err := h.as(alice, "salloc", "-N2", "true"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h.quiet()
	if got := h.called("prolog"); len(got) != 0 {
		t.Errorf("without Alloc an allocation calls %q", got)
	}
	h.init("--alloc", "--write")
	h.reads(true)
	if out, err := h.as(alice, "salloc", "-N2", "true"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h.quiet()
	got := h.called("prolog")
	slices.Sort(got)
	if want := []string{"prolog n1", "prolog n2"}; !slices.Equal(got, want) {
		t.Errorf("with Alloc an allocation calls %q, not %q", got, want)
	}
	h.init("--remove")
	h.reads(false)
	if now, err := os.ReadFile(h.conf()); err != nil || string(now) != string(h.begin) {
		t.Errorf("slurm.conf is not what it was: %v\n%s", err, now)
	}
	h.nothingDrained()
}

// TestInitRunning sees what the change does to a job that runs: with Alloc, Slurm runs no Prolog for it any more; without, one runs where its first step on a
// node comes after the change.
func TestInitRunning(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{"": {"prolog n2"}, "--alloc": nil} {
		t.Run("flag "+name, func(t *testing.T) {
			h := newHooked(t)
			h.start()
			if name != "" && h.release() >= "26.05" {
				t.Skip("slurmd drains a node that waits for Prolog by Alloc of a job that runs (_wait_for_request_launch_prolog, req.c)")
			}
			begun, gate := h.path("out", "begun"), h.path("out", "gate")
			job := h.batch(alice, "touch "+begun+"; while [ ! -e "+gate+" ]; do sleep 0.1; done\nsrun -N2 sh -c 'echo step $SLURMD_NODENAME $BY_WEFT'\n", "-N2", "-n2", "-o", h.path("out", "job"))
			until(t, "the script runs", func() (bool, string) { return exists(begun), h.state(job) })
			h.init(slices.DeleteFunc([]string{name, "--write"}, func(s string) bool { return s == "" })...)
			h.readsBeside()
			must(t, os.WriteFile(gate, nil, 0o644))
			h.awaitState(job, "COMPLETED")
			h.quiet()
			if text := tail(h.path("out", "job"), 1000); !strings.Contains(text, "step n1 1") || !strings.Contains(text, "step n2 1") {
				t.Errorf("its step after the change: %s", text)
			}
			if got := h.called("prolog"); !slices.Equal(got, want) {
				t.Errorf("called %q, not %q", got, want)
			}
			h.nothingDrained()
		})
	}
}

// readsBeside is reads while one job is running.
func (h *hooked) readsBeside() {
	h.t.Helper()
	until(h.t, "tasks see Weft", func() (bool, string) {
		out, err := h.as(alice, "srun", "-N2", "-n2", "sh", "-c", "echo weft=$BY_WEFT")
		return err == nil && strings.Count(out, "weft=1") == 2, out
	})
	until(h.t, "its Epilogs are over", func() (bool, string) {
		out, _ := h.root("squeue", "-h", "-a", "-t", "all", "-o", "%i %T")
		return strings.Count(out, "RUNNING")+strings.Count(out, "COMPLETING") == 1, out
	})
	h.called()
}
