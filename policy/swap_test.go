package policy_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/policy"
)

// TestFolderIsReadAsOnePolicy reads a folder while another is exchanged for it again and again, as `weft policy apply`
// does, which also undoes that. All files of a folder hold the same letter, so a reading of two folders shows.
func TestFolderIsReadAsOnePolicy(t *testing.T) {
	const files, swaps = 8, 100
	dir, next := filepath.Join(t.TempDir(), "policy"), filepath.Join(t.TempDir(), "next")
	put := func(folder string, turn int) error {
		errs := []error{os.Mkdir(folder, 0o755)}
		for i := range files {
			path := filepath.Join(folder, fmt.Sprintf("%d%s", i, policy.Suffix))
			errs = append(errs, os.WriteFile(path, fmt.Appendf(nil, "%c", 'a'+turn%26), 0o644))
		}
		return errors.Join(errs...)
	}
	if err := put(dir, 0); err != nil {
		t.Fatal(err)
	}
	var ended atomic.Bool
	failed := make(chan error, 1)
	go func() {
		defer ended.Store(true)
		var err error
		for turn := 1; turn < swaps && err == nil; turn++ {
			err = put(next, turn)
			for range 1 + turn%16 {
				err = errors.Join(err, unix.Renameat2(unix.AT_FDCWD, next, unix.AT_FDCWD, dir, unix.RENAME_EXCHANGE))
			}
			err = errors.Join(err, os.RemoveAll(next))
		}
		failed <- err
	}()
	for !ended.Load() && !t.Failed() {
		got, _, findings := policy.Gather([]string{dir})
		var letters strings.Builder
		for _, f := range got {
			letters.Write(f.Text)
		}
		s := letters.String()
		switch {
		case len(findings) == 1 && findings[0].Summary == policy.Exchanged: // refused is not mixed
		case findings != nil:
			t.Errorf("a reading fails: %+v", findings)
		case len(s) != files || strings.Trim(s, s[:1]) != "":
			t.Errorf("a reading has files of several policies: %q", s)
		}
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}
