// Package disktest shows tests which files a power cut leaves of those that a program wrote and synced.
package disktest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// childEnv is the folder of a process that Cut has started.
const childEnv = "WEFT_DISKTEST_DIR"

// mark begins a line that the process told.
const mark = "told: "

// calls are the system calls that change files or tell lines.
const calls = "trace=openat,write,pwrite64,ftruncate,fsync,fdatasync,renameat,renameat2,unlinkat"

// Do works in a folder and tells what must outlive a power cut from then on.
type Do func(dir string, tell func(string)) error

// Check looks at the folder that a power cut leaves after Do has told these lines.
type Check func(t *testing.T, dir string, told []string)

// Cut starts the calling test again as a process that runs do, and reads its calls from strace. It calls check for a
// power cut at each line that do tells and at each rename. faults are those of `strace -e inject=`.
func Cut(t *testing.T, faults []string, do Do, check Check) {
	t.Helper()
	if dir := os.Getenv(childEnv); dir != "" {
		runtime.LockOSThread() // strace counts and writes by thread
		err := do(dir, func(line string) { _, _ = os.Stdout.WriteString(mark + line + "\n") })
		if err != nil {
			t.Fatal(err)
		}
		t.SkipNow() // the caller's next lines are for its parent
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed, so nobody sees what is synced")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, trace := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	args := []string{"-ff", "-qq", "-y", "-xx", "-s", "4000000", "-e", calls, "-e", "signal=none", "-o", trace}
	for _, f := range faults {
		args = append(args, "-e", "inject="+f)
	}
	cmd := exec.CommandContext(t.Context(), strace, append(args, exe, "-test.run=^"+regexp.QuoteMeta(t.Name())+"$")...)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("under strace: %v\n%s", err, out)
	}
	d := newDisk(dir)
	cut := func() {
		for _, keep := range []func() bool{func() bool { return false }, func() bool { return rand.IntN(2) == 0 }} {
			left := t.TempDir()
			if err := d.write(left, keep); err != nil {
				t.Fatal(err)
			}
			check(t, left, d.told)
		}
	}
	text, err := traceOf(trace)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if d.call(line) {
			cut()
		}
	}
	if len(d.told) == 0 {
		t.Error("the process told nothing")
	}
}

// traceOf is the trace of the thread that told lines.
func traceOf(trace string) ([]byte, error) {
	threads, err := filepath.Glob(trace + ".*")
	if err != nil {
		return nil, err
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil || bytes.Contains(text, escaped(mark)) {
			return text, err
		}
	}
	return nil, errors.New("no thread told a line")
}
