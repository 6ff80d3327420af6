package slurm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCPUs(t *testing.T) {
	for text, want := range map[string][]run{
		"1":                    {{1, 1}},
		"5,1(x2)":              {{5, 1}, {1, 2}},
		"4(x2),8":              {{4, 2}, {8, 1}},
		"128(x11136)":          {{128, 11136}},
		"2147483647(x1),2(x3)": {{2147483647, 1}, {2, 3}},
	} {
		got, ok := parseCPUs(text)
		if !ok {
			t.Errorf("%q: it is refused", text)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(run{})); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for _, bad := range []string{"", ",", "0", "1,", "x2", "1(x", "1(x2", "1(x0)", "1(2)", "1(x2)3", "-1", "+1", " 1", "1(x-1)", "2147483648", "1(x99999999999)", strings.Repeat("1,", maxRuns) + "1"} {
		if runs, ok := parseCPUs(bad); ok {
			t.Errorf("%.40q: %v", bad, runs)
		}
	}
}

func FuzzParseCPUs(f *testing.F) {
	for _, s := range []string{"1", "5,1(x2)", "4(x2),8", "1(x", "(x2)", "1(x2)(x2)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		runs, _ := parseCPUs(text)
		for _, r := range runs {
			if r.cpus <= 0 || r.nodes <= 0 {
				t.Errorf("%q: %+v", text, runs)
			}
		}
	})
}
