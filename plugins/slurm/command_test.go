package slurm

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
func tool(t *testing.T, text string) *commands {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "squeue"), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return newCommands(settings{bin: dir, conf: "/etc/slurm/slurm.conf"})
}

func TestCommandsHaveACleanEnvironment(t *testing.T) {
	t.Setenv("SLURM_CONF", "/tmp/evil")
	t.Setenv("SLURM_JOB_ID", "7")
	t.Setenv("SQUEUE_FORMAT", "%j")
	out, err := tool(t, `pwd; echo "$1"; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^PATH= | sort; cat`).run(t.Context(), "squeue", "a b;c")
	want := "/\na b;c\nLC_ALL=C\nSLURM_CONF=/etc/slurm/slurm.conf\nSLURM_TIME_FORMAT=%s\nTZ=UTC0\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = newCommands(settings{bin: "/usr/bin"}).run(t.Context(), "env")
	if err != nil || strings.Contains(string(out), "SLURM_CONF") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCommandsThatFail(t *testing.T) {
	_, err := tool(t, `echo half; echo "slurm_load_jobs error:
 Unable to contact" >&2; exit 3`).run(t.Context(), "squeue")
	f, ok := errors.AsType[*failure](err)
	if !ok || f.code != 3 || f.says != "slurm_load_jobs error: Unable to contact" {
		t.Errorf("%v", err)
	}
	checkError(t, away(err), core.SchedulerAway, "squeue: slurm_load_jobs error")
	_, err = tool(t, "exit 1").run(t.Context(), "squeue")
	if f, ok := errors.AsType[*failure](err); !ok || f.says == "" {
		t.Errorf("%v", err)
	}
	_, err = tool(t, `head -c 100000 /dev/zero | tr '\0' x >&2; exit 1`).run(t.Context(), "squeue")
	if f, ok := errors.AsType[*failure](err); !ok || len(f.says) > 600 {
		t.Errorf("%v", err)
	}
	_, err = newCommands(settings{bin: t.TempDir()}).run(t.Context(), "squeue")
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
	for range maxCommands {
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
