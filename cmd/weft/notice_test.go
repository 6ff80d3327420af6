package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
)

// A job that starts at once says nothing; one that waits says for what, once.
func TestARunThatWaitsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var quick, slow strings.Builder
		over := notice(&quick, "job n1.1 waits")
		time.Sleep(runPatience - time.Millisecond)
		over()
		over = notice(&slow, "job n1.2 waits")
		time.Sleep(time.Minute)
		synctest.Wait()
		over()
		if quick.String() != "" || slow.String() != "weft: job n1.2 waits\n" {
			t.Errorf("%q and %q", &quick, &slow)
		}
	})
	if text := (&runArgs{label: "local"}).waits(&options{dir: t.TempDir()}, "n1.3"); !strings.Contains(text, "job n1.3 waits for") || !strings.Contains(text, "server") {
		t.Errorf("%q", text)
	}
}

// On the server's host of a real system another node's agent cannot be asked, which is not to say that the system has no such node.
func TestANodeOfARealSystem(t *testing.T) {
	dir := t.TempDir()
	o := &options{dir: dir}
	if _, err := o.node("n2"); !strings.Contains(err.Error(), "has none of that name") {
		t.Errorf("where no system runs: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := o.node("n2")
	if e := core.AsError(err); strings.Contains(e.What, "none of that name") || !strings.Contains(e.What, "does not run on this host") || !strings.Contains(e.Remedy, "on the node itself") {
		t.Errorf("on the server's host: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "nodes"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := o.node("n2"); !strings.Contains(err.Error(), "has none of that name") {
		t.Errorf("of a simulated system: %v", err)
	}
}
