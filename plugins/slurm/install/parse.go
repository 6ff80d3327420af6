package install

import (
	"bytes"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// maxText bounds one file of the configuration, in bytes; the largest systems name their nodes in a few hundred kilobytes.
const maxText = 8 << 20

// setting is one "Key=Value" of slurm.conf.
type setting struct {
	File  string
	First int // its physical lines, from 1; more than one where a line ends in a backslash
	Last  int
	Key   string
	Value string
	More  bool // something follows the value on the same line
}

// statement is a logical line: a setting, an Include, or text that is neither.
type statement struct {
	setting
	Include string
}

// parse reads one file as Slurm does: comments are cut off each physical line before a backslash at its end joins it to the next; escapes are resolved
// last (src/common/parse_config.c, the same from 22.05 to 26.11).
func parse(name string, text []byte) ([]statement, error) {
	if len(text) > maxText {
		return nil, core.Errorf(core.BadConfig, "%s: it has %d bytes and may have %d", name, len(text), maxText)
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return nil, core.Errorf(core.BadConfig, "%s:%d: a zero byte: this is no text", name, 1+bytes.Count(text[:i], []byte("\n")))
	}
	var out []statement
	var joined strings.Builder
	first, number := 1, 0
	for line := range strings.SplitAfterSeq(string(text), "\n") {
		number++
		part, goesOn := continued(uncommented(line))
		joined.WriteString(part)
		if goesOn && strings.HasSuffix(line, "\n") { // a backslash at the file's end joins nothing
			continue
		}
		if s, ok := read(unescaped(joined.String())); ok {
			s.File, s.First, s.Last = name, first, number
			out = append(out, s)
		}
		joined.Reset()
		first = number + 1
	}
	return out, nil
}

// uncommented cuts a line at the first # that no backslash escapes.
func uncommented(line string) string {
	escaped := false
	for i := range len(line) {
		switch {
		case line[i] == '#' && !escaped:
			return line[:i]
		case line[i] == '\\':
			escaped = !escaped
		default:
			escaped = false
		}
	}
	return line
}

// continued reports whether the next line belongs to this one, and what this one brings.
func continued(line string) (string, bool) {
	body := strings.TrimRight(line, spaces)
	n := len(body) - len(strings.TrimRight(body, `\`))
	if n%2 == 1 {
		return body[:len(body)-1], true
	}
	return line, false
}

const spaces = " \t\n\v\f\r"

func unescaped(line string) string {
	if !strings.Contains(line, `\`) {
		return line
	}
	out := make([]byte, 0, len(line))
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			if i++; i == len(line) {
				break
			}
		}
		out = append(out, line[i])
	}
	return string(out)
}

// read understands a logical line; ok is false for one that says nothing.
func read(line string) (statement, bool) {
	if strings.Trim(line, spaces) == "" {
		return statement{}, false
	}
	const include = "include"
	if len(line) > len(include) && strings.EqualFold(line[:len(include)], include) && strings.ContainsRune(spaces, rune(line[len(include)])) {
		if f := strings.Fields(line[len(include):]); len(f) > 0 {
			return statement{Include: f[0], setting: setting{More: len(f) > 1}}, true
		}
	}
	key, rest := cutKey(strings.TrimLeft(line, spaces))
	if key == "" {
		return statement{setting: setting{Value: strings.Trim(line, spaces)}}, true
	}
	value, rest := cutValue(rest)
	return statement{setting: setting{Key: key, Value: value, More: strings.Trim(rest, spaces) != ""}}, true
}

// cutKey takes "KEY =", or one of Slurm's operators in the place of =, from the start of a line.
func cutKey(line string) (key, rest string) {
	n := strings.IndexFunc(line, func(r rune) bool { return !word(r) })
	if n <= 0 {
		return "", line
	}
	rest = strings.TrimLeft(line[n:], spaces)
	if rest != "" && strings.ContainsRune("-*+/", rune(rest[0])) {
		rest = rest[1:]
	}
	if !strings.HasPrefix(rest, "=") {
		return "", line
	}
	return line[:n], strings.TrimLeft(rest[1:], spaces)
}

func word(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.'
}

func cutValue(text string) (value, rest string) {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		if value, rest, ok := strings.Cut(quoted, `"`); ok {
			return value, rest
		}
	}
	n := strings.IndexAny(text, spaces)
	if n < 0 {
		return text, ""
	}
	return text[:n], text[n:]
}
