package hostlist

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawList draws a list of few names that often overlap.
func drawList(t *rapid.T, name string) List {
	number := rapid.Custom(func(t *rapid.T) string {
		low, width := rapid.IntRange(0, 120).Draw(t, "low"), rapid.IntRange(1, 3).Draw(t, "width")
		s := fmt.Sprintf("%0*d", width, low)
		if n := rapid.IntRange(0, 15).Draw(t, "more"); n > 0 {
			s += fmt.Sprintf("-%0*d", len(s), low+n)
		}
		return s
	})
	var terms []string
	for range rapid.IntRange(0, 5).Draw(t, name) {
		s := rapid.SampledFrom([]string{"n", "r", "n1", "", "x-"}).Draw(t, "text")
		for i := range rapid.IntRange(0, 2).Draw(t, "groups") {
			s += "[" + strings.Join(rapid.SliceOfN(number, 1, 2).Draw(t, "group"), ",") + "]" + rapid.SampledFrom([]string{"", "0", "n", "-ib"}).Draw(t, fmt.Sprint("text", i))
		}
		if s != "" {
			terms = append(terms, s)
		}
	}
	l, err := Parse(strings.Join(terms, ","))
	if err != nil {
		t.Fatalf("%v: %v", terms, err)
	}
	return l
}

func TestSetsAgainstMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawList(t, "list")
		want := map[string]bool{}
		for name := range l.Expand() {
			want[name] = true
		}
		s, err := ParseSet(l.String())
		if err != nil || len(s.names) != len(want) {
			t.Fatalf("%v: %d names, want %d: %v", l, len(s.names), len(want), err)
		}
		for name := range want {
			for _, near := range []string{name, "0" + name, name + "0", name[:len(name)-1]} {
				if s.Contains(near) != want[near] {
					t.Fatalf("%v: contains %q: %v", l, near, s.Contains(near))
				}
			}
		}
	})
}

func TestFoldKeepsEveryName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawList(t, "list")
		names := slices.Collect(l.Expand())
		if uint64(len(names)) != l.Count() {
			t.Fatalf("%d names, counted %d", len(names), l.Count())
		}
		again, err := Parse(l.String())
		if err != nil || !slices.Equal(slices.Collect(again.Expand()), names) {
			t.Fatalf("%v came back as %v: %v", l, again, err)
		}
		if rapid.Bool().Draw(t, "shuffle") {
			names = rapid.Permutation(names).Draw(t, "names")
		}
		folded, err := Parse(Fold(names))
		if err != nil || !slices.Equal(slices.Collect(folded.Expand()), names) {
			t.Fatalf("%v folded to %s: %v", names, Fold(names), err)
		}
	})
}
