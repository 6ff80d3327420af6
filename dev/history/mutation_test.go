package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/dev/effort"
)

// mutation is a small wrong change of a machine: testdata/mutations/NAME.patch. The head says which rule it breaks, or which
// rules, any of which may show it first, in which file, and how many histories catch it; "sessions" where those must have
// more ends of sessions. Then come lines of the file, "-" for those that go, "+" for those that come, and " " for those that
// stay.
type mutation struct {
	rules     []string // as failures' texts begin
	breaks    string   // what is wrong with it
	file      string   // from the module's root
	histories int      // ten times as many as catch it on average
	sessions  bool     // the histories run with -sessions
	old, new  string
}

func readMutation(path string) (mutation, error) {
	var m mutation
	text, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	for _, line := range strings.SplitAfter(string(text), "\n") {
		kind, rest := byte(0), ""
		if line != "" {
			kind, rest = line[0], line[1:]
		}
		word, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case kind == 0:
		case kind == ' ':
			m.old, m.new = m.old+rest, m.new+rest
		case kind == '-':
			m.old += rest
		case kind == '+':
			m.new += rest
		case word == "breaks":
			rules, text, _ := strings.Cut(value, ": ")
			m.rules, m.breaks = strings.Fields(rules), text
		case word == "file":
			m.file = value
		case word == "sessions":
			m.sessions = true
		case word == "histories":
			if m.histories, err = strconv.Atoi(value); err != nil {
				return m, err
			}
		default:
			return m, fmt.Errorf("%s: line %q: it is none of the format", path, line)
		}
	}
	if m.breaks == "" || len(m.rules) == 0 || m.file == "" || m.histories == 0 || m.old == m.new {
		return m, fmt.Errorf("%s: it lacks the rule that it breaks, the file, the number of histories or the change", path)
	}
	return m, nil
}

// TestMutations shows that the histories can fail: each patch makes a machine wrong in one place, and the rule that it names must catch it. That another
// rule does would show only that something is amiss, not that the histories check the named one. But for a full run it sees only that the patches apply.
func TestMutations(t *testing.T) {
	paths, err := filepath.Glob("testdata/mutations/*.patch")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d mutations: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".patch"), func(t *testing.T) {
			m, err := readMutation(path)
			if err != nil {
				t.Fatal(err)
			}
			overlay := m.overlay(t)
			if effort.Full() {
				m.mustBeCaught(t, overlay)
			}
		})
	}
}

// overlay writes the changed file, and gives what `go test` must be told to read it in place of the right one.
func (m mutation) overlay(t *testing.T) string {
	target, err := filepath.Abs(filepath.Join("../..", filepath.FromSlash(m.file)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		t.Fatalf("it no longer applies: %s has %d times\n%s", m.file, n, m.old)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	listing, err := json.Marshal(map[string]map[string]string{"Replace": {target: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{changed: []byte(strings.Replace(string(text), m.old, m.new, 1)), overlay: listing} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

var caught = regexp.MustCompile(`history_test\.go:\d+: ((?:R\d|liveness): .*)`)

func (m mutation) mustBeCaught(t *testing.T, overlay string) {
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-overlay", overlay, "-run", "^TestHistories$", ".",
		"-failures", "1", "-rules", strings.Join(m.rules, ","), "-sessions="+strconv.FormatBool(m.sessions))
	cmd.Env = append(os.Environ(), "WEFT_HISTORIES="+strconv.Itoa(m.histories))
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err == nil {
		t.Fatalf("of %d histories none breaks %v, though %s", m.histories, m.rules, m.breaks)
	}
	found := caught.FindSubmatch(out)
	if found == nil {
		t.Fatalf("the mutated histories ended without a rule that broke:\n%s", out)
	}
	t.Logf("%s", found[1])
}
