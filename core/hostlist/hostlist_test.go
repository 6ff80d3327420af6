package hostlist

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weft-hpc/weft/core"
)

func TestParse(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{" \t", ""},
		{"n1", "n1"},
		{"n[001-003,7]", "n001 n002 n003 n7"},
		{"r[1-2]n[1-3]", "r1n1 r1n2 r1n3 r2n1 r2n2 r2n3"},
		{"n[1-3]-ib", "n1-ib n2-ib n3-ib"},
		{"x1000c0s0b0n0", "x1000c0s0b0n0"},
		{"x[1000-1001]c0s[0,7]b0n0", "x1000c0s0b0n0 x1000c0s7b0n0 x1001c0s0b0n0 x1001c0s7b0n0"},
		{"b, a ,\tb", "b a b"},
		{"n[8-11]", "n8 n9 n10 n11"},
		{"n[08-11]", "n08 n09 n10 n11"},
		{"n[099-101]", "n099 n100 n101"},
		{"n[99-101]", "n99 n100 n101"},
		{"n[1-2][0,5]", "n10 n15 n20 n25"},
		{"[1-2]", "1 2"},
		{"n[3]0.site.org", "n30.site.org"},
		{"n[2,1,2]", "n2 n1 n2"},
	} {
		l, err := Parse(test.in)
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
			continue
		}
		got, err := l.ExpandMax(100)
		if err != nil || strings.Join(got, " ") != test.want || l.Count() != uint64(len(got)) {
			t.Errorf("%q: %d %v %v, want %s", test.in, l.Count(), got, err, test.want)
		}
		s, err := ParseSet(test.in)
		slices.Sort(got)
		if want := slices.Compact(got); err != nil || !slices.Equal(s.names, want) {
			t.Errorf("%q as a set: %v %v, want %v", test.in, s.names, err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{",", `hostlist: byte 1, near ",": a name is empty`},
		{"a,,b", `hostlist: byte 3, near "a,,b": a name is empty`},
		{"a,", `hostlist: byte 3, near "a,": a name is empty`},
		{"n[1-3", `hostlist: byte 2, near "n[1-3": the bracket is not closed`},
		{"n[", `hostlist: byte 2, near "n[": the bracket is not closed`},
		{"n[]", `hostlist: byte 3, near "n[]": a number is missing`},
		{"n[1-]", `hostlist: byte 5, near "n[1-]": a number is missing`},
		{"n[a]", `hostlist: byte 3, near "n[a]": a number is missing`},
		{"n[1;2]", `hostlist: byte 4, near "n[1;2]": ';' cannot stand in brackets, only numbers and ranges can`},
		{"n[3-1]", `hostlist: byte 3, near "n[3-1]": the range ends before it begins`},
		{"n[1-010]", `hostlist: byte 3, near "n[1-010]": the two ends of the range are padded differently`},
		{"n1]", `hostlist: byte 3, near "n1]": ']' cannot stand in a name`},
		{"a b", `hostlist: byte 3, near "a b": 'b' cannot stand in a name`},
		{"../etc", `hostlist: byte 1, near "../etc": a name cannot begin with '.'`},
		{"a/../etc", `hostlist: byte 2, near "a/../etc": '/' cannot stand in a name`},
		{"n1,..", `hostlist: byte 4, near "n1,..": a name cannot begin with '.'`},
		{"-w[1-2]", `hostlist: byte 1, near "-w[1-2]": a name cannot begin with '-'`},
		{"a\nb", `hostlist: byte 2, near "a\nb": '\n' cannot stand in a name`},
		{"n[1234567890123456789]", `hostlist: byte 3, near "n[1234567890123456789]": a number has more than 18 digits`},
		{strings.Repeat("[1]", 9), `hostlist: byte 25, near "1][1][1][1][1][1][1][1]": a name has more than 8 bracketed groups`},
		{strings.Repeat("a", 256), `hostlist: byte 1, near "aaaaaaaaaaaaaaaaaaaa": a name is longer than 255 bytes`},
		{strings.Repeat("a,", MaxRanges) + "a", `hostlist: byte 262145, near "a,a,a,a,a,a,a,a,a,a,a": there are more than 131072 names and ranges`},
		{strings.Repeat("a", MaxText+1), `hostlist: 1048577 bytes are more than the 1048576 allowed`},
	} {
		_, err := Parse(test.in)
		if !errors.Is(err, core.Invalid) || err.Error() != test.want {
			t.Errorf("%q\ngot  %v\nwant %s", core.Clip(test.in), err, test.want)
		}
	}
}

func TestHugeRangesTakeBytes(t *testing.T) {
	l, err := Parse("n[1-999999999]")
	if err != nil || l.Count() != 999999999 {
		t.Fatalf("%d %v", l.Count(), err)
	}
	if _, err := l.ExpandMax(100000); err == nil || err.Error() != "hostlist: 999999999 names are more than the 100000 allowed" {
		t.Error(err)
	}
	l, err = Parse("n" + strings.Repeat("[0-999999999999]-", 6))
	if err != nil || l.Count() != math.MaxUint64 {
		t.Fatalf("%d %v", l.Count(), err)
	}
	for range l.Expand() {
		break
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"n1 n2 n3 n7", "n[1-3,7]"},
		{"n001 n002 n003 n7", "n[001-003,7]"},
		{"n8 n9 n10 n11", "n[8-11]"},
		{"n08 n09 n10 n11", "n[08-11]"},
		{"n9 n010", "n[9,010]"},
		{"n09 n10 n100", "n[09-10,100]"},
		{"n99 n100 n0101", "n[99-100,0101]"},
		{"r1n1 r1n2 r2n1 r2n2", "r[1-2]n[1-2]"},
		{"r1n1 r2n1 r1n2 r2n2", "r[1-2]n1,r[1-2]n2"},
		{"n1-ib n2-ib", "n[1-2]-ib"},
		{"n1-ib0 n2-ib0", "n[1-2]-ib0"},
		{"login n1 login login", "login,n1,login,login"},
		{"n2 n1 n1", "n[2,1,1]"},
		{"x1000c0s0b0n0 x1000c0s0b0n1 x1000c0s0b1n0 x1000c0s0b1n1", "x1000c0s0b[0-1]n[0-1]"},
		{"n12345678901234567890 n12345678901234567891", "n12345678901234567890,n12345678901234567891"},
		{"1a1a1a1a1a1a1a1a1a1 1a1a1a1a1a1a1a1a1a2", "1a1a1a1a1a1a1a1a1a1,1a1a1a1a1a1a1a1a1a2"},
	} {
		names := strings.Fields(test.in)
		if got := Fold(names); got != test.want {
			t.Errorf("%s: %s, want %s", test.in, got, test.want)
		}
		l, err := Parse(Fold(names))
		if err != nil {
			t.Errorf("%s: %v", test.in, err)
			continue
		}
		if got := slices.Collect(l.Expand()); !slices.Equal(got, names) {
			t.Errorf("%s came back as %v", test.in, got)
		}
	}
}

func TestSetsAreBounded(t *testing.T) {
	s, err := ParseSet(fmt.Sprintf("n[1-%d]", MaxSet))
	if err != nil || !s.Contains(fmt.Sprintf("n%d", MaxSet)) || s.Contains(fmt.Sprintf("n%d", MaxSet+1)) {
		t.Errorf("a set of %d names: %v", MaxSet, err)
	}
	for _, text := range []string{fmt.Sprintf("n[0-%d]", MaxSet), "n[1-999999999]", "n" + strings.Repeat("[0-999999999999]-", 6)} {
		if s, err := ParseSet(text); !errors.Is(err, core.Invalid) || s.Contains("n1") {
			t.Errorf("%s as a set: %v", text, err)
		}
	}
}

func TestCompare(t *testing.T) {
	names := []string{"n10", "n2", "n", "n02", "n1-ib", "m3", "n1", "n002", "n1a"}
	slices.SortFunc(names, Compare)
	if want := strings.Fields("m3 n n1 n1-ib n1a n002 n02 n2 n10"); !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestValid(t *testing.T) {
	for name, want := range map[string]bool{"n1": true, "A-b_c.d": true, "": false, "a/b": false, "a b": false, "n[1]": false, "é": false, "..": false, "-w": false, strings.Repeat("a", 256): false} {
		if Valid(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestParseExecHost(t *testing.T) {
	for _, test := range []struct {
		in   string
		want []Chunk
	}{
		{"n1/0*4+n2/0", []Chunk{{"n1", 4}, {"n2", 1}}},
		{"n1/0*4+n2/0*2+n1/1*3", []Chunk{{"n1", 7}, {"n2", 2}}},
		{"n1/0*0", []Chunk{{"n1", 0}}},
		{"", nil}, {"n1", nil}, {"n1/", nil}, {"/0", nil}, {"n1/0*", nil}, {"n1/0*-4", nil}, {"n1/0+", nil}, {"n1/x*2", nil}, {"../0", nil},
		{"n1/0*99999999999", nil}, {"n1/0\n", nil},
	} {
		got, err := ParseExecHost(test.in)
		if diff := cmp.Diff(test.want, got); diff != "" || (err == nil) != (test.want != nil) {
			t.Errorf("%q: %v %s", test.in, err, diff)
		}
	}
}
