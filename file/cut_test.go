package file_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/dev/disktest"
	"github.com/weft-hpc/weft/file"
)

// A power cut leaves the text of the last Replace that has returned, or that of the one that runs.
func TestReplaceOutlivesAPowerCut(t *testing.T) {
	disktest.Cut(t, nil, func(dir string, tell func(string)) error {
		for i := range 5 {
			if err := file.Replace(filepath.Join(dir, "f"), []byte(strconv.Itoa(i)), file.How{Mode: 0o600}); err != nil {
				return err
			}
			tell(strconv.Itoa(i))
		}
		return nil
	}, func(t *testing.T, dir string, told []string) {
		text, err := os.ReadFile(filepath.Join(dir, "f"))
		if len(told) == 0 && os.IsNotExist(err) {
			return
		}
		if n, bad := strconv.Atoi(string(text)); err != nil || bad != nil || n != len(told) && n != len(told)-1 {
			t.Errorf("after %d calls the file has %q, %v", len(told), text, err)
		}
	})
}

// Each rename is Rename's, or needs no sync.
func TestRenamesAreSynced(t *testing.T) {
	want := []string{
		"dev/cluster/cluster.go",               // a socket
		"drivers/cxi/testdata/shim/healthy.go", // a test's sysfs
		"file/file.go",                         // Rename, and Replace of a volatile file
		"hook/listener/listen.go",              // a socket
		"policy/folder/folder.go",              // a folder, synced before and after
	}
	if diff := cmp.Diff(want, callers(t, "os.Rename(", ".Renameat", "unix.Rename")); diff != "" {
		t.Errorf("other source files rename: -want +got\n%s", diff)
	}
}
