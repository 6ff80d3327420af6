package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core/node"
)

// Only processes of the named users count, and of their variables only the VNIs.
func TestProcesses(t *testing.T) {
	uid := uint32(os.Getuid())
	proc := t.TempDir()
	for name, text := range map[string]string{
		"7": "HOME=/\x00SLINGSHOT_VNIS=4034,4035\x00", "8": "OLD_SLINGSHOT_VNIS=1\x00", "9": "",
		"self": "SLINGSHOT_VNIS=2\x00", "10": "SLINGSHOT_VNIS=4036",
	} {
		if err := os.MkdirAll(filepath.Join(proc, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, name, "environ"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(proc, "11"), 0o755); err != nil { // it ends between two looks
		t.Fatal(err)
	}
	got, err := processes(proc, []uint32{uid})
	want := []node.Process{{UID: uid, VNIs: "4036"}, {UID: uid, VNIs: "4034,4035"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if got, err := processes(proc, []uint32{uid + 1}); len(got) != 0 || err != nil {
		t.Errorf("another user's processes: %v %v", got, err)
	}
	if _, err := processes(filepath.Join(proc, "none"), nil); err == nil {
		t.Error("no processes can be read, and that is no error")
	}
}
