package upgrade

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weft-hpc/weft/dev/effort"
)

// TestDriver has `weft plugin verify` of each release start and try the example driver that the other release built.
func TestDriver(t *testing.T) {
	effort.NeedNight(t)
	need(t)
	for root, r := range map[string]release{filepath.Join(filepath.Dir(mark.dir), "source"): mark, "../..": tree} {
		must(t, r.compile(filepath.Join(root, "examples/nicdriver"), "."))
	}
	for _, of := range []struct{ weft, driver release }{{mark, tree}, {tree, mark}} {
		c := exec.Command(of.weft.path("weft"), "plugin", "verify", "--in-memory", "--vnis", "65000-65004",
			of.driver.path("nicdriver"))
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("weft of release %s, driver of release %s: %v\n%s", of.weft.name, of.driver.name, err, out)
		}
	}
}
