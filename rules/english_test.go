package rules

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// A reader takes in no more at once.
const (
	maxWords   = 30  // of a sentence
	maxColumns = 120 // of a line; a tab counts as one
)

// later is the one list of files whose English is not rewritten yet.
// Each line is the path of one file. A file that moves takes its line along; no new file comes in.
const later = "rules/english.txt"

const (
	englishRule = "every file is in plain English"
	onceRule    = "no message says a part twice"
	listRule    = later + " names only files that still break a rule of language"
)

var englishRules = []rule{
	{
		name: englishRule,
		why:  "a reader understands each sentence the first time; CONTRIBUTING.md has the rules with examples",
		check: func(t *tree) []string {
			var broken []string
			listed := excused(t)
			for _, name := range readable(t) {
				if !slices.Contains(listed, name) {
					broken = append(broken, english(t, name)...)
				}
			}
			return broken
		},
	},
	{
		name:  onceRule,
		why:   "a message names its subject once: where each caller puts it in front again, the reason comes last and late",
		check: repeated,
	},
	{
		name: listRule,
		why:  "the list only shrinks, and a file that has left it stays in plain English",
		check: func(t *tree) []string {
			var broken []string
			names := readable(t)
			for i, entry := range excused(t) {
				if entry != "" && (!slices.Contains(names, entry) || len(english(t, entry)) == 0) {
					broken = append(broken, fmt.Sprintf("%s:%d: take %s off the list: no such file breaks a rule", later, i+1, entry))
				}
			}
			return broken
		},
	},
}

// readable are the files that have English: Go that people wrote, and pages.
func readable(t *tree) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.texts)), func(name string) bool {
		return path.Ext(name) != ".md" && path.Ext(name) != ".go" || strings.HasSuffix(name, ".pb.go") ||
			strings.Contains(name, "/testdata/")
	})
}

// excused are the lines of the list.
func excused(t *tree) []string { return strings.Split(strings.TrimSpace(t.texts[later]), "\n") }

// repeated lists the lines of expected output in which a message has a part twice: "NIC cxi2: cannot …: NIC cxi2: EIO".
func repeated(t *tree) []string {
	var broken []string
	for _, name := range slices.Sorted(maps.Keys(t.texts)) {
		if !strings.Contains(name, "/testdata/") && path.Ext(name) != ".md" {
			continue
		}
		for i, line := range strings.Split(t.texts[name], "\n") {
			for message := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune("\"'`;^", r) }) {
				parts := strings.Split(message, ": ")
				for j, part := range parts[:len(parts)-1] {
					if part = strings.TrimSpace(part); part != "" && slices.Contains(parts[j+1:], part) {
						broken = append(broken, fmt.Sprintf("%s:%d: %q stands twice in %q", name, i+1, part, message))
					}
				}
			}
		}
	}
	return broken
}

// english lists the lines, sentences and turns of phrase in one file that stop a reader.
func english(t *tree, name string) []string {
	var broken []string
	for i, line := range strings.Split(t.texts[name], "\n") {
		columns := utf8.RuneCountInString(line)
		if columns > maxColumns && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "//go:") {
			broken = append(broken, fmt.Sprintf("%s:%d: the line has %d columns", name, i+1, columns))
		}
	}
	for _, p := range passages(t, name) {
		broken = append(broken, stops(p)...)
	}
	return broken
}

// stops lists the long sentences of a passage and its turns of phrase that stop a reader.
func stops(p passage) []string {
	var broken []string
	for _, sentence := range sentences(plain(p.text)) {
		if words := len(strings.Fields(sentence)); words > maxWords {
			broken = append(broken, fmt.Sprintf("%s: a sentence of %d words: %q", p.at, words, sentence))
		}
		for _, turn := range turns {
			if found := turn.match.FindString(sentence); found != "" {
				broken = append(broken, fmt.Sprintf("%s: %q: write it as in %q: %q", p.at, found, turn.after, sentence))
			}
		}
	}
	return broken
}
