package etcd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// FuzzChanges reads changes, and reads them again as append writes them.
func FuzzChanges(f *testing.F) {
	node, err := record.Append(nil, engine.Node{Name: "n1", Boot: "b"})
	if err != nil {
		f.Fatal(err)
	}
	deleted := engine.Join{Serial: 1 << 40, Node: "n1"}.Slot()
	f.Add(change{engine.Node{Name: "n1"}.Slot(), node}.append(change{at: deleted}.append(nil)))
	f.Add([]byte{1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := changes("part/1", b)
		if err != nil {
			if r := core.AsError(err).Reason; r != core.StoreCorrupt && r != core.StoreNewer {
				t.Errorf("%s: %v", r, err)
			}
			return
		}
		var again []byte
		for _, c := range list {
			again = c.append(again)
		}
		back, err := changes("part/1", again)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(list, back, cmp.AllowUnexported(change{})); d != "" {
			t.Error(d)
		}
	})
}
