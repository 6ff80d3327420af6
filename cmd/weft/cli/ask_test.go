package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
)

// On the server's host of a real system another node's agent cannot be asked, which is not to say that the system has no such node.
func TestANodeOfARealSystem(t *testing.T) {
	dir := t.TempDir()
	o := &Options{Dir: dir}
	if _, err := o.Node("n2"); !strings.Contains(err.Error(), "has none of that name") {
		t.Errorf("where no system runs: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := o.Node("n2")
	if e := core.AsError(err); strings.Contains(e.What, "none of that name") || !strings.Contains(e.What, "does not run on this host") || !strings.Contains(e.Remedy, "on the node itself") {
		t.Errorf("on the server's host: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "nodes"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Node("n2"); !strings.Contains(err.Error(), "has none of that name") {
		t.Errorf("of a simulated system: %v", err)
	}
}
