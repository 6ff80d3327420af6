package hostlist

import (
	"slices"
	"strconv"
)

// Fold writes names as one list that expands to the same names in the same order, repetitions included: neighbours that differ in one number are written
// as one, so n1, n2, n4 becomes n[1-2,4] and r1n1, r1n2, r2n1, r2n2 becomes r[1-2]n[1-2]. Padding is kept. The names must be Valid; empty ones are left
// out. Sort them first (Compare) for the shortest text.
func Fold(names []string) string {
	var l List
	var run []term
	flush := func() {
		if len(run) > 0 {
			l.terms = append(l.terms, foldRun(run)...)
			run = run[:0]
		}
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		t := split(name)
		if len(run) > 0 && !slices.Equal(run[0].text, t.text) {
			flush()
		}
		run = append(run, t)
	}
	flush()
	return l.String()
}

// split takes a name apart: each of its numbers becomes a group of one. Numbers too long for brackets, and those behind the eighth, stay text.
func split(name string) term {
	var t term
	text := 0
	for i := 0; i < len(name); {
		if !isDigit(name[i]) {
			i++
			continue
		}
		from := i
		for i < len(name) && isDigit(name[i]) {
			i++
		}
		if i-from > MaxDigits || len(t.groups) == MaxGroups {
			continue
		}
		n, _ := strconv.ParseUint(name[from:i], 10, 64)
		t.text = append(t.text, name[text:from])
		t.groups = append(t.groups, group{{n, n, i - from}})
		text = i
	}
	t.text = append(t.text, name[text:])
	return t
}

// foldRun folds terms with the same text, from the last group to the first. What stands before a group is a single number while that group is folded,
// so the order of expansion stays.
func foldRun(run []term) []term {
	out := slices.Clone(run)
	for d := len(run[0].groups) - 1; d >= 0; d-- {
		merged := out[:1]
		for _, t := range out[1:] {
			last := &merged[len(merged)-1]
			if sameBut(d, last.groups, t.groups) {
				last.groups[d] = last.groups[d].append(t.groups[d][0])
			} else {
				merged = append(merged, t)
			}
		}
		out = merged
	}
	return out
}

// sameBut reports whether all groups but d are equal.
func sameBut(d int, a, b []group) bool {
	for i := range a {
		if i != d && !slices.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// append puts a number behind the group, into its last range where it is the next.
func (g group) append(s span) group {
	last := &g[len(g)-1]
	if s.low == last.high+1 && s.width == digits(s.low, last.width) {
		last.high = s.high
		return g
	}
	return append(g, s)
}
