package history

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/dev/effort"
	"github.com/weft-hpc/weft/dev/mutationtest"
)

// TestMutations shows that the histories can fail: each patch makes a machine wrong in one place, and the rule that it names must catch it. That another
// rule does would show only that something is amiss, not that the histories check the named one. But for a full run it sees only that the patches apply.
func TestMutations(t *testing.T) {
	paths, err := filepath.Glob("testdata/mutations/*.patch")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d mutations: %v", len(paths), err)
	}
	var list []mutationtest.Mutation
	all := mutationtest.Mutants{}
	for _, path := range paths {
		m, err := mutationtest.Read(path)
		if err == nil {
			err = all.Add(m)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		list = append(list, m)
	}
	if t.Failed() || !effort.Full() {
		return
	}
	binary := filepath.Join(t.TempDir(), "history.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay", all.Overlay(t), "-c", "-o", binary, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the mutants do not build: %v\n%s", err, out)
	}
	for _, m := range list {
		t.Run(m.Name, func(t *testing.T) { mustBeCaught(t, m, binary) })
	}
}

var caught = regexp.MustCompile(`history_test\.go:\d+: ((?:R\d+|liveness): .*)(?s:.*)  seed (\d+): `)

func mustBeCaught(t *testing.T, m mutationtest.Mutation, binary string) {
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^TestHistories$", "-failures", "1",
		"-rules", strings.Join(m.Rules, ","), "-sessions="+strconv.FormatBool(m.Sessions))
	cmd.Env = append(os.Environ(), mutationtest.Switch+"="+m.Name, "WEFT_HISTORIES="+strconv.Itoa(m.Histories))
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err == nil {
		t.Fatalf("of %d histories none breaks %v, though %s", m.Histories, m.Rules, m.Breaks)
	}
	found := caught.FindSubmatch(out)
	if found == nil {
		t.Fatalf("the mutated histories ended without a rule that broke:\n%s", out)
	}
	t.Logf("seed %s of %d: %s", found[2], m.Histories, found[1])
}
