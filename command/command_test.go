package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// tool makes a program of a shell's text, as one of Slurm's commands, and gives what runs it.
func tool(t *testing.T, text string) *queue {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "squeue"), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return programs(dir)
}

func programs(dir string) *queue {
	p := Programs{
		Whose: "Slurm's", Folder: dir, Env: []string{"SLURM_TIME_FORMAT=%s", "SLURM_CONF=/etc/slurm/slurm.conf"},
		Remedy: "set `bin` to the folder of Slurm's commands",
	}
	return p.queue()
}

func checkError(t *testing.T, err error, reason core.Reason, part string) {
	t.Helper()
	if e := core.AsError(err); e == nil || e.Reason != reason || !strings.Contains(e.Line(), part) {
		t.Errorf("%v, want %s with %q", err, reason, part)
	}
}

func TestCommandsHaveACleanEnvironment(t *testing.T) {
	t.Setenv("SLURM_CONF", "/tmp/evil")
	t.Setenv("SLURM_JOB_ID", "7")
	t.Setenv("SQUEUE_FORMAT", "%j")
	script := `pwd; echo "$1"; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^PATH= | sort; cat`
	out, err := tool(t, script).run(t.Context(), "squeue", "a b;c")
	want := "/\na b;c\nLC_ALL=C\nSLURM_CONF=/etc/slurm/slurm.conf\nSLURM_TIME_FORMAT=%s\nTZ=UTC0\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = Programs{Folder: "/usr/bin"}.Runner()(t.Context(), "env")
	if err != nil || strings.Contains(string(out), "SLURM_CONF") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCommandsThatFail(t *testing.T) {
	_, err := tool(t, `echo half; echo "slurm_load_jobs error:
 Unable to contact" >&2; exit 3`).run(t.Context(), "squeue")
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.Code != 3 || f.Says != "slurm_load_jobs error: Unable to contact" {
		t.Errorf("%v", err)
	}
	checkError(t, Away(err), core.SchedulerAway, "squeue: slurm_load_jobs error")
	_, err = tool(t, "exit 1").run(t.Context(), "squeue")
	if f, ok := errors.AsType[*Failure](err); !ok || f.Says == "" {
		t.Errorf("%v", err)
	}
	_, err = tool(t, `head -c 100000 /dev/zero | tr '\0' x >&2; exit 1`).run(t.Context(), "squeue")
	if f, ok := errors.AsType[*Failure](err); !ok || len(f.Says) > 600 {
		t.Errorf("%v", err)
	}
	_, err = programs(t.TempDir()).run(t.Context(), "squeue")
	checkError(t, err, core.SchedulerAway, "set `bin`")
}

func TestCommandsEndWithTheirDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := tool(t, "exec sleep 600").run(ctx, "squeue")
	checkError(t, err, core.SchedulerAway, "it does not answer")
	// A child that holds the pipe open is left behind too.
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = tool(t, "sleep 5 & wait").run(ctx, "squeue")
	checkError(t, err, core.SchedulerAway, "it does not answer")
}

func TestFewCommandsAtATime(t *testing.T) {
	c := tool(t, "exit 0")
	for range atOnce {
		c.slots <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := c.run(ctx, "squeue")
	checkError(t, err, core.SchedulerAway, "4 of Slurm's commands run already")
	<-c.slots
	if _, err := c.run(t.Context(), "squeue"); err != nil {
		t.Error(err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	b := bounded{most: 5}
	if n, err := b.Write([]byte("abc")); n != 3 || err != nil {
		t.Error(n, err)
	}
	if _, err := b.Write([]byte("def")); !errors.Is(err, errTooMuch) {
		t.Error(err)
	}
	cut := bounded{most: 5, cut: true}
	for range 3 {
		if n, err := cut.Write([]byte("abc")); n != 3 || err != nil {
			t.Error(n, err)
		}
	}
	if cut.text.String() != "abcab" {
		t.Error(cut.text.String())
	}
}
