package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
)

func TestCommandsEnvironment(t *testing.T) {
	t.Setenv("SLURM_CONF", "/tmp/evil")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "squeue"), []byte("#!/bin/sh\nenv | grep -e SLURM -e ^TZ= | sort\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := commands(settings{bin: dir, conf: "/etc/slurm/slurm.conf"})(t.Context(), "squeue")
	if want := "SLURM_CONF=/etc/slurm/slurm.conf\nSLURM_TIME_FORMAT=%s\nTZ=UTC0\n"; err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = commands(settings{bin: dir})(t.Context(), "squeue")
	if err != nil || strings.Contains(string(out), "SLURM_CONF") {
		t.Errorf("%v\n%s", err, out)
	}
	_, err = commands(settings{bin: t.TempDir()})(t.Context(), "squeue")
	checkError(t, err, core.SchedulerAway, "set `bin`")
}
