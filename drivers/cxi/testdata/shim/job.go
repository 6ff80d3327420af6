package shim

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

//go:embed c/job.c
var job []byte

//go:embed c/speed.c
var speed []byte

// Speed makes the library of speed.c in a folder with a sysfs of SHS 14.0.1. A call of the driver costs what so many
// random bytes do.
func Speed(t testing.TB, nics, cost int) (library, sys string) {
	t.Helper()
	dir := t.TempDir()
	library, sys = filepath.Join(dir, "libcxi.so.1"), filepath.Join(dir, "sys")
	gcc(t, speed, library, "-shared", "-fPIC", fmt.Sprintf("-DCOST=%d", cost))
	Tree(t, sys, &kernel.R1401, nics, "LL_BE_BD_ET")
	return library, sys
}

// Job runs the C program of job.c, the fewest calls that a job's services take, on a library. It gives a function that
// runs so many jobs and tells how long they took.
func Job(t testing.TB, library string, nics int) func(jobs int) time.Duration {
	t.Helper()
	program := filepath.Join(t.TempDir(), "job")
	gcc(t, job, program)
	cmd := exec.Command(program, library, fmt.Sprint(nics))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return func(jobs int) (took time.Duration) {
		t.Helper()
		if _, err := fmt.Fprintln(in, jobs); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fscanln(out, &took); err != nil {
			t.Fatal(err)
		}
		return took
	}
}

func gcc(t testing.TB, source []byte, into string, more ...string) {
	t.Helper()
	c := into + ".c"
	if err := os.WriteFile(c, source, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-Wall", "-Wextra", "-Werror", "-O2", "-o", into, c, "-ldl", "-lpthread"}, more...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
}
