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

// naive is a set as a map.
type naive map[string]bool

func naiveOf(l List) naive {
	m := naive{}
	for name := range l.Expand() {
		m[name] = true
	}
	return m
}

func (m naive) sorted() []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (m naive) filter(keep func(string) bool) naive {
	out := naive{}
	for name := range m {
		if keep(name) {
			out[name] = true
		}
	}
	return out
}

func TestSetsAgainstMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, k := drawList(t, "left"), drawList(t, "right")
		m, n := naiveOf(l), naiveOf(k)
		a, err := l.Set()
		if err != nil {
			t.Fatal(err)
		}
		b, err := k.Set()
		if err != nil {
			t.Fatal(err)
		}
		both := naive{}
		for _, m := range []naive{m, n} {
			for name := range m {
				both[name] = true
			}
		}
		for name := range both {
			for _, near := range []string{name, "0" + name, name + "0", name[:len(name)-1]} {
				if a.Contains(near) != m[near] || b.Contains(near) != n[near] {
					t.Fatalf("contains %q: %v and %v", near, a.Contains(near), b.Contains(near))
				}
			}
		}
		if a.Equal(b) != slices.Equal(m.sorted(), n.sorted()) {
			t.Fatalf("%v equals %v: %v", l, k, a.Equal(b))
		}
		for _, op := range []struct {
			name string
			do   func(*Set) (*Set, error)
			want naive
		}{
			{"union", a.Union, both},
			{"intersect", a.Intersect, m.filter(func(s string) bool { return n[s] })},
			{"minus", a.Minus, m.filter(func(s string) bool { return !n[s] })},
			{"minus itself", func(*Set) (*Set, error) { return a.Minus(a) }, naive{}},
		} {
			got, err := op.do(b)
			if err != nil {
				t.Fatal(err)
			}
			if want := op.want.sorted(); !slices.Equal(slices.Collect(got.All()), want) || got.Count() != uint64(len(want)) {
				t.Fatalf("%s of %v and %v: %d %v, want %v", op.name, l, k, got.Count(), slices.Collect(got.All()), want)
			}
			same, err := ParseSet(strings.Join(op.want.sorted(), ","))
			if err != nil || !got.Equal(same) || !same.Equal(got) || len(got.states) != len(same.states) {
				t.Fatalf("%s of %v and %v: not equal to the same names one by one: %v", op.name, l, k, err)
			}
			folded, err := got.Fold(100000)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := ParseSet(folded); err != nil || !back.Equal(got) {
				t.Fatalf("%s came back as %v: %v", folded, back, err)
			}
		}
		if zero := (&Set{}); zero.Equal(a) != (len(m) == 0) || a.Equal(zero) != (len(m) == 0) || zero.Contains("") || zero.Count() != 0 {
			t.Fatal("the zero set is not the empty set")
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
