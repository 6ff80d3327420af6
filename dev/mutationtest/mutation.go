package mutationtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mutation is a small wrong change of a machine: NAME.patch. The head names the rule that it breaks, or several where
// any of them may show it first. It names the file, and says how many histories catch the mutation. "sessions" is for
// histories that need more ends of sessions. "with" has words that only the test knows. Then come lines of the
// file, "-" for those that go, "+" for those that come, and " " for those that stay.
type Mutation struct {
	Name      string
	Rules     []string // as failures' texts begin
	Breaks    string   // what is wrong with it
	File      string   // from the module's root
	Histories int      // ten times as many as catch it on average
	Sessions  bool     // the histories run with -sessions
	With      []string // what the test does; none: its usual things
	old, new  string
}

// Read reads one of a file. NAME.1.patch and NAME.2.patch are two parts of one mutation.
func Read(path string) (Mutation, error) {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	m := Mutation{Name: name}
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
			m.Rules, m.Breaks = strings.Fields(rules), text
		case word == "file":
			m.File = value
		case word == "sessions":
			m.Sessions = true
		case word == "with":
			m.With = strings.Split(value, ", ")
		case word == "histories":
			if m.Histories, err = strconv.Atoi(value); err != nil {
				return m, err
			}
		default:
			return m, fmt.Errorf("line %q: the format has no such line", line)
		}
	}
	if m.Breaks == "" || len(m.Rules) == 0 || m.File == "" || m.Histories == 0 || m.old == m.new {
		return m, errors.New("it lacks the rule that it breaks, the file, the number of histories or the change")
	}
	return m, nil
}
