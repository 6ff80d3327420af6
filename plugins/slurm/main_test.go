package slurm

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// checkError wants one line of a reason.
func checkError(t *testing.T, err error, want core.Reason, says string) {
	t.Helper()
	e, ok := errors.AsType[*core.Error](err)
	if !ok || e.Reason != want || !strings.Contains(e.Line(), says) || strings.ContainsRune(e.Line(), '\n') {
		t.Errorf("got %s, want one line of %s that says %q", describe(err), want, says)
	}
}

func describe(err error) string {
	if e, ok := errors.AsType[*core.Error](err); ok {
		return fmt.Sprintf("%s: %q", e.Reason, e.Line())
	}
	return fmt.Sprintf("%T: %v", err, err)
}
