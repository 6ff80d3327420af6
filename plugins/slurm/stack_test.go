package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/plugins/slurm/stack"
)

// TestStack: the real sbatch tells which weft.so its Slurm loads, and Weft reads for which release it was built.
func TestStack(t *testing.T) {
	dir := t.TempDir()
	so := filepath.Join(dir, stack.File)
	compile(t, "spank/weft.c", so, "-shared", "-fPIC")
	built, err := stack.Built(so)
	if err != nil || built == 0 {
		t.Fatalf("%s, %v", built, err)
	}
	sbatch, err := exec.LookPath("sbatch")
	if err != nil {
		t.Skip("no sbatch here; `make test-deps` brings it")
	}
	bin := filepath.Dir(sbatch)
	r, err := stack.Prove(t.Context(), bin, so, nil)
	if err != nil || r.Major() != built.Major() {
		t.Errorf("Slurm %s loads a plugin of %s: %v", r, built, err)
	}
	bad := func(path, want string) {
		t.Helper()
		if _, err := stack.Prove(t.Context(), bin, path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	// Another major release, which has the same symbols but for one number.
	text, err := os.ReadFile("/usr/include/slurm/slurm_version.h")
	if err != nil {
		t.Fatal(err)
	}
	for name, define := range map[string]string{"older": "0x140b09", "newer": "0x1a0503"} {
		inc := filepath.Join(dir, name, "slurm")
		if err := os.MkdirAll(inc, 0o755); err != nil {
			t.Fatal(err)
		}
		undone := string(text) + "\n#undef SLURM_VERSION_NUMBER\n#define SLURM_VERSION_NUMBER " + define + "\n"
		if err := os.WriteFile(filepath.Join(inc, "slurm_version.h"), []byte(undone), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, h := range []string{"slurm.h", "slurm_errno.h", "spank.h"} {
			if err := os.Symlink("/usr/include/slurm/"+h, filepath.Join(inc, h)); err != nil {
				t.Fatal(err)
			}
		}
		other := filepath.Join(dir, name, stack.File)
		compile(t, "spank/weft.c", other, "-shared", "-fPIC", "-include", filepath.Join(inc, "slurm_version.h"))
		if got, err := stack.Built(other); err != nil || got == built {
			t.Errorf("%s is of %s: %v", name, got, err)
		}
		bad(other, "Incompatible Slurm plugin")
	}
	bad(filepath.Join(dir, "none.so"), "No such file")
	if err := os.WriteFile(filepath.Join(dir, "junk.so"), []byte("junk"), 0o755); err != nil {
		t.Fatal(err)
	}
	bad(filepath.Join(dir, "junk.so"), "file too short")
	for _, path := range []string{filepath.Join(dir, "junk.so"), filepath.Join(dir, "none.so"), "/bin/sh"} {
		if _, err := stack.Built(path); err == nil {
			t.Errorf("%s counts as Weft's plugin", path)
		}
	}
	// A command that reads no stack proves nothing.
	if err := os.WriteFile(filepath.Join(dir, "sbatch"), []byte("#!/bin/sh\necho slurm 22.05.8\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := stack.Prove(t.Context(), dir, so, nil); err == nil || !strings.Contains(err.Error(), "proves nothing") {
		t.Error(err)
	}
}
