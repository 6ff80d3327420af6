package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/cmd/weft/cli"
)

// Ctrl-C is no deviation, and leaves nothing behind.
func TestInterruptedDemo(t *testing.T) {
	for _, test := range []struct {
		interrupt bool
		want      string
		code      int
	}{{true, "interrupted", 130}, {false, "deviated", 1}} {
		ctx, cancel := context.WithCancel(t.Context())
		if test.interrupt {
			cancel()
		}
		dir := filepath.Join(t.TempDir(), "demo")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		err := demoEnd(ctx, errors.New("x"), dir)
		cancel()
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("interrupted %v: %v", test.interrupt, err)
		}
		if got := cli.ExitCode(err); got != test.code {
			t.Errorf("interrupted %v: exit %d", test.interrupt, got)
		}
		if _, err := os.Stat(dir); os.IsNotExist(err) != test.interrupt {
			t.Errorf("interrupted %v: its folder: %v", test.interrupt, err)
		}
	}
}
