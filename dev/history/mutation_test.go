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
)

// mutation is a small wrong change of a machine: testdata/mutations/NAME.patch. The head says what rule it breaks, or which rules, any of which may show
// it first, and in which file; then come lines of the file, "-" for those that go, "+" for those that come, and " " for those that stay.
type mutation struct {
	rules     []string // as failures' texts begin
	breaks    string   // what is wrong with it
	file      string   // from the module's root
	histories int      // how many are enough to catch it for certain
	old, new  string
}

// enough histories to catch an ordinary mutation many times over.
const enough = 6000

func readMutation(path string) (mutation, error) {
	m := mutation{histories: enough}
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
		case word == "histories":
			if m.histories, err = strconv.Atoi(value); err != nil {
				return m, err
			}
		default:
			return m, fmt.Errorf("%s: line %q: it is none of the format", path, line)
		}
	}
	if m.breaks == "" || len(m.rules) == 0 || m.file == "" || m.old == m.new {
		return m, fmt.Errorf("%s: it says not which rule it breaks, in which file, by what", path)
	}
	return m, nil
}

// TestMutations shows that the histories can fail: each patch makes a machine wrong in one place, and the rule that it names must catch it. That another
// rule does would show only that something is amiss, not that the named one is asked.
func TestMutations(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("it builds the histories once a mutation: without -short and -race only")
	}
	paths, err := filepath.Glob("testdata/mutations/*.patch")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d mutations: %v", len(paths), err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".patch"), func(t *testing.T) {
			m, err := readMutation(path)
			if err != nil {
				t.Fatal(err)
			}
			m.mustBeCaught(t, root)
		})
	}
}

// looks is how many failed histories are looked through for the rule that a mutation names.
const looks = 4

var caught = regexp.MustCompile(`history_test\.go:\d+: ((R\d|liveness): .*)`)

func (m mutation) mustBeCaught(t *testing.T, root string) {
	target := filepath.Join(root, filepath.FromSlash(m.file))
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
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-overlay", overlay, "-run", "^TestHistories$", ".", "-failures", strconv.Itoa(looks))
	cmd.Env = append(os.Environ(), "WEFT_HISTORIES="+strconv.Itoa(m.histories))
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err == nil {
		t.Fatalf("%d histories do not notice that %s", m.histories, m.breaks)
	}
	broken := map[string]string{}
	for _, found := range caught.FindAllStringSubmatch(string(out), -1) {
		if broken[found[2]] == "" {
			broken[found[2]] = found[1]
		}
	}
	if len(broken) == 0 {
		t.Fatalf("the mutated histories ended without a rule that broke:\n%s", out)
	}
	for _, rule := range m.rules {
		if text := broken[rule]; text != "" {
			t.Log(text)
			return
		}
	}
	t.Errorf("it is said to break %v, and of the histories' rules others were broken: %q", m.rules, broken)
}
