package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// How Weft marks what is its own in slurm.conf. Slurm cuts comments off before it looks for a backslash at a line's end, so a marked line never joins
// another.
const (
	markBegin   = "# BEGIN weft"
	markEnd     = "# END weft "
	markReplace = "# weft replaced "
	unended     = ", after a line without an end"
	explained   = ": made by `weft init slurm`, and taken out by `weft init slurm --remove`: do not edit it"
)

// replacement is a line that begins so; a person's own comment about Weft is none.
var replacement = regexp.MustCompile("^" + markReplace + "[0-9a-f]{8}: ")

// replaced counts what one file has lost to the block, so that a line that somebody gave back by hand is missed.
type replaced struct {
	File  string
	Lines int
}

// sum is short: it guards against a hand's edit, not against a forger.
func sum(line string) string {
	s := sha256.Sum256([]byte(line))
	return hex.EncodeToString(s[:4])
}

// block is the marked block with these lines; the end line has a sum for each line between.
func block(lines []string, lost []replaced) string {
	var out strings.Builder
	out.WriteString(markBegin + explained + "\n")
	var sums []string
	lines = slices.Clone(lines)
	for _, r := range lost {
		lines = append(lines, fmt.Sprintf("%s%s: %d", lostBegin, r.File, r.Lines))
	}
	for _, l := range lines {
		out.WriteString(l + "\n")
		sums = append(sums, sum(l))
	}
	out.WriteString(markEnd + strings.Join(sums, " ") + "\n")
	return out.String()
}

// append puts a block at the end of a text.
func appendBlock(text []byte, block string) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		block = "\n" + strings.Replace(block, markBegin, markBegin+unended, 1)
	}
	return append(bytes.Clone(text), block...)
}

// comment turns physical lines of a text, from 1, into marked comments.
func comment(text []byte, lines map[int]bool) []byte {
	var out bytes.Buffer
	n := 0
	for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
		if n++; lines[n] {
			fmt.Fprintf(&out, "%s%s: ", markReplace, sum(ended(string(line))))
		}
		out.Write(line)
	}
	return out.Bytes()
}

func ended(line string) string { return strings.TrimSuffix(line, "\n") }

// marks are what restore has met.
type marks struct {
	Lost  map[string]int // by file: how many lines the block replaced
	Back  int            // lines that were given back
	Block int            // the line at which the block begins; 0: there is none
	Lines []string       // what stands in it
}

// restore gives a text as it was before Weft, or says which line of Weft's somebody has edited.
func restore(name string, text []byte) ([]byte, marks, error) {
	m := marks{Lost: map[string]int{}}
	if !bytes.Contains(text, []byte("weft")) {
		return text, m, nil
	}
	var out bytes.Buffer
	n, begun, seam := 0, 0, -1
	for raw := range strings.SplitAfterSeq(string(text), "\n") {
		n++
		line := ended(raw)
		switch {
		case begun > 0 && strings.HasPrefix(line, markEnd):
			if i, bad := differs(m.Lines, strings.Fields(strings.TrimPrefix(line, markEnd))); bad {
				return nil, m, edited(name, begun+1+i, "it is not what Weft wrote there")
			}
			begun = 0
		case begun > 0:
			m.Lines = append(m.Lines, line)
			if file, count, ok := parseLost(line); ok {
				m.Lost[file] = count
			}
		case strings.HasPrefix(line, markBegin+":"), strings.HasPrefix(line, markBegin+","):
			if m.Block > 0 {
				return nil, m, edited(name, n, fmt.Sprintf("a second block begins here; the first is in line %d", m.Block))
			}
			if begun, m.Block = n, n; strings.HasPrefix(line, markBegin+unended) {
				seam = out.Len()
			}
		case strings.HasPrefix(line, markEnd):
			return nil, m, edited(name, n, "a block ends here that never began")
		case replacement.MatchString(line):
			was, rest, _ := strings.Cut(strings.TrimPrefix(raw, markReplace), ": ")
			if was != sum(ended(rest)) {
				return nil, m, edited(name, n, "the line that was replaced is not what it was")
			}
			m.Back++
			out.WriteString(rest)
		default:
			out.WriteString(raw)
		}
	}
	if begun > 0 {
		return nil, m, edited(name, begun, "the block that begins here has no end")
	}
	if seam > 0 && seam == out.Len() {
		out.Truncate(seam - 1) // nothing was added behind the block, so the line before it can do without an end again
	}
	return out.Bytes(), m, nil
}

// differs finds the first line that has not its sum.
func differs(lines, sums []string) (int, bool) {
	for i, l := range lines {
		if i >= len(sums) || sum(l) != sums[i] {
			return i, true
		}
	}
	return len(lines), len(lines) != len(sums)
}

const lostBegin = "# lines replaced in "

func parseLost(line string) (file string, count int, ok bool) {
	rest, ok := strings.CutPrefix(line, lostBegin)
	i := strings.LastIndex(rest, ": ")
	if !ok || i < 0 {
		return "", 0, false
	}
	count, err := strconv.Atoi(rest[i+2:])
	return rest[:i], count, err == nil
}

// edited refuses to touch what a hand has changed.
func edited(name string, line int, why string) error {
	return core.Errorf(core.BadConfig, "%s:%d: %s: it was edited by hand", name, line, why).
		WithRemedy("give back what Weft wrote, or take it out by hand: the lines from \"" + markBegin + "\" to \"" + strings.TrimSpace(markEnd) +
			"\", and what stands before the colon in each line that begins with \"" + strings.TrimSpace(markReplace) + "\"")
}
