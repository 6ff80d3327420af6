package hostlist

import (
	"slices"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"n[001-003,7]", "r[1-2]n[1-3]", "n[1-3]-ib", "x1000c0s0b0n0", "n[1-999999999]", "a,,b", "n[1-2][3-4]5", "[0-9][0-9][0-9][0-9]", "n[08-11],n[8-11]",
		"n[1-", "n[1-010]", "\xff", "n[000000000000000000-999999999999999999]", "a[1]b[2]c[3]d[4]e[5]f[6]g[7]h[8]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := Parse(s)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
				t.Errorf("error of several lines or %d bytes: %q", len(err.Error()), err)
			}
			return
		}
		set, err := ParseSet(s)
		if (err == nil) != (l.Count() <= MaxSet) {
			t.Errorf("%q: a set of %d names: %v", s, l.Count(), err)
		}
		names, tooMany := l.ExpandMax(5000)
		if tooMany != nil {
			return
		}
		for _, name := range names {
			if !Valid(name) || !set.Contains(name) {
				t.Errorf("%q holds %q: valid %v", s, name, Valid(name))
			}
		}
		back, err := Parse(Fold(names))
		if err != nil || !slices.Equal(slices.Collect(back.Expand()), names) {
			t.Errorf("%q: %v folded to %q: %v", s, names, Fold(names), err)
		}
		if other, err := ParseSet(back.String()); err != nil || !slices.Equal(other.names, set.names) {
			t.Errorf("%q: folded, it is not the same set: %v", s, err)
		}
	})
}

func FuzzParseExecHost(f *testing.F) {
	for _, s := range []string{"n1/0*4+n2/0", "n1/0*0", "+", "n1/0*", "a/1+a/2*3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		chunks, err := ParseExecHost(s)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, c := range chunks {
			if !Valid(c.Host) || c.Cores < 0 || seen[c.Host] {
				t.Errorf("%q: %v", s, chunks)
			}
			seen[c.Host] = true
		}
	})
}
