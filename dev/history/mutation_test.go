package history

import (
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
	name      string
	rules     []string // as failures' texts begin
	breaks    string   // what is wrong with it
	file      string   // from the module's root
	histories int      // ten times as many as catch it on average
	sessions  bool     // the histories run with -sessions
	old, new  string
}

func readMutation(path string) (mutation, error) {
	m := mutation{name: strings.TrimSuffix(filepath.Base(path), ".patch")}
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
			return m, fmt.Errorf("line %q: it is none of the format", line)
		}
	}
	if m.breaks == "" || len(m.rules) == 0 || m.file == "" || m.histories == 0 || m.old == m.new {
		return m, errors.New("it lacks the rule that it breaks, the file, the number of histories or the change")
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
	var list []mutation
	all := mutants{}
	for _, path := range paths {
		m, err := readMutation(path)
		if err == nil {
			err = all.add(m)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		list = append(list, m)
	}
	if t.Failed() || !effort.Full() {
		return
	}
	binary := all.build(t)
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) { m.mustBeCaught(t, binary) })
	}
}

var caught = regexp.MustCompile(`history_test\.go:\d+: ((?:R\d+|liveness): .*)(?s:.*)  seed (\d+): `)

func (m mutation) mustBeCaught(t *testing.T, binary string) {
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^TestHistories$", "-failures", "1",
		"-rules", strings.Join(m.rules, ","), "-sessions="+strconv.FormatBool(m.sessions))
	cmd.Env = append(os.Environ(), "WEFT_MUTATION="+m.name, "WEFT_HISTORIES="+strconv.Itoa(m.histories))
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
	t.Logf("seed %s of %d: %s", found[2], m.histories, found[1])
}
