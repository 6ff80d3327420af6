package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// Where no folder is named and the current one has no simulated system, a verb asks the server of this host.
func TestSocketOfTheDaemons(t *testing.T) {
	t.Chdir(t.TempDir())
	real := daemonDir
	t.Cleanup(func() { daemonDir = real })
	daemonDir = t.TempDir()
	want := filepath.Join(daemonDir, serverSocket)
	if err := os.WriteFile(want, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	o := Options{Dir: DefaultDir}
	if got, err := o.Socket(""); err != nil || got != want {
		t.Fatalf("the server's socket is %q (%v), want %q", got, err, want)
	}
}
