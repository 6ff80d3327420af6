package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/host/cgroup"
)

const inCgroup = "HOST_TEST_IN_CGROUP"

// TestCgroup runs itself in a group that is delegated as systemd does it, in cgroup v1 or v2, whichever is mounted.
func TestCgroup(t *testing.T) {
	if os.Getenv(inCgroup) == "" {
		folders := delegate(t)
		cmd := exec.Command("/bin/sh", append([]string{"-c", `self=$0
for folder; do echo $$ > $folder/cgroup.procs || exit 1; done
exec "$self" -test.run '^TestCgroup$' -test.short -test.v`, os.Args[0]}, folders...)...)
		cmd.Env = append(os.Environ(), inCgroup+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestCgroup") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	tree, err := cgroup.Delegated()
	if err != nil || tree == nil {
		t.Fatalf("its own group: %v, %v", tree, err)
	}
	limits := quick
	limits.HealthEvery = time.Minute // or a check that meets the end of the connection comes before the kernel's word
	s := newStage(t, limits)
	s.cgroup = tree
	var memory atomic.Int64
	memory.Store(192 << 20)
	p := s.puppet(func(spec *Spec) {
		spec.Bounds = func() Bounds { return Bounds{Memory: memory.Load(), Processes: 64} }
	})
	if want := fmt.Sprintf("memory 192 MiB, 64 processes, %v", tree); p.Status().Limit != want {
		t.Errorf("its limit is %q, not %q", p.Status().Limit, want)
	}
	t.Run("children", func(t *testing.T) {
		child := begun(t, p, "stranger")
		_, _ = do(t.Context(), p, "exit")
		s.pid(p)
		if !over(t, child, 20_000) {
			t.Error("the child lives on")
		}
	})
	t.Run("memory", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		const want = "the kernel killed it: it may have 192 MiB"
		if _, err := do(ctx, p, "grow-256"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it grew: %v", err)
		}
		s.pid(p)
	})
	t.Run("processes", func(t *testing.T) {
		memory.Store(8 << 30) // the race detector's children are large
		_, _ = do(t.Context(), p, "exit")
		s.pid(p)
		for range 64 {
			if text, _ := do(t.Context(), p, "stranger"); strings.Contains(text, "resource temporarily unavailable") {
				return
			}
		}
		t.Error("it has 64 children")
	})
}

// delegate makes a group in each hierarchy that systemd would.
func delegate(t *testing.T) (folders []string) {
	t.Helper()
	hierarchies := []string{"memory", "pids", "systemd"}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		hierarchies = []string{""}
	}
	for _, h := range hierarchies {
		folder := filepath.Join("/sys/fs/cgroup", h, fmt.Sprint("weft-test-", os.Getpid()))
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Skip("NOT RUN: plugins in a cgroup: ", err)
		}
		t.Cleanup(func() {
			if err := os.Remove(folder); err != nil {
				t.Error(err)
			}
		})
		folders = append(folders, folder)
	}
	if err := unix.Setxattr(folders[len(folders)-1], "trusted.delegate", []byte("1"), 0); err != nil {
		t.Skip("NOT RUN: plugins in a cgroup: ", err)
	}
	return folders
}
