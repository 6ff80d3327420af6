package rundir

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/core"
)

func TestHold(t *testing.T) {
	dir := t.TempDir()
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	here := core.Sign{Path: dir, Inode: st.Ino}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		signs []core.Sign
		want  bool
	}{
		"none":            {nil, true},
		"holds":           {[]core.Sign{here}, true},
		"another inode":   {[]core.Sign{here, {Path: dir, Inode: st.Ino + 1}}, false},
		"not there":       {[]core.Sign{here, {Path: filepath.Join(dir, "gone"), Inode: st.Ino}}, false},
		"not looked up":   {[]core.Sign{{Path: string(make([]byte, 5000)), Inode: st.Ino}}, false},
		"below no folder": {[]core.Sign{{Path: filepath.Join(file, "x"), Inode: st.Ino}}, false},
	} {
		if got := Hold(c.signs); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
