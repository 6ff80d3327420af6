package core_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weft-hpc/weft/core"
)

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "nothing",
		" \n\t\x00":                         "nothing",
		"a\nb\r\n c":                        "a b c",
		"\x1b[2Ja":                          "[2Ja",
		"\u0085\u009ba\x7fb":                "a b",
		"a\u202egnp.exe\u2066\u200b\ufeffb": "a gnp.exe b",
		"é\xff":                             "é?",
		strings.Repeat("x", 512):            strings.Repeat("x", 512),
		strings.Repeat("x", 513):            strings.Repeat("x", 512) + "…",
		strings.Repeat("é", 300):            strings.Repeat("é", 256) + "…",
		"x" + strings.Repeat("é", 300):      "x" + strings.Repeat("é", 255) + "…",
	} {
		got := core.OneLine(text, "nothing")
		if got != want || !utf8.ValidString(got) {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestOnNetworks(t *testing.T) {
	const text = "`ip link set hsnN up`; `cxi_stat` shows it, hsnN too"
	for networks, want := range map[string]string{
		"":          text,
		"hsn0":      "`ip link set hsn0 up`; `cxi_stat` shows it, hsnN too",
		"hsn0 hsn1": "`ip link set hsn0 up; ip link set hsn1 up`; `cxi_stat` shows it, hsnN too",
		"hsn0 ":     text, // the second is not known
	} {
		var names []string
		if networks != "" {
			names = strings.Split(networks, " ")
		}
		if got := core.OnNetworks(text, names); got != want {
			t.Errorf("%q: %q, not %q", networks, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	got, err := core.Lines([]core.Variable{
		{Name: "A", Value: "1,2"}, {Name: "B", Unset: true}, {Name: "C"}, {Name: "D", Unset: true},
	})
	if want := "unset B\nunset D\nexport A=1,2\nexport C=\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v, not %q", got, err, want)
	}
	for _, bad := range []core.Variable{{Name: "A", Value: "1\nexport B=2"}, {Name: "A=1\nB", Unset: true}} {
		if got, err := core.Lines([]core.Variable{{Name: "A", Value: "1"}, bad}); err == nil || got != nil {
			t.Errorf("%+v: %q", bad, got)
		}
	}
}

func TestVariableOneLine(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        bool
	}{
		{"SLINGSHOT_VNIS", "1024,1025", true},
		{"_A1", "", true},
		{"", "x", false},
		{"1A", "x", false},
		{"a", "x", false},
		{"A=B", "x", false},
		{"A B", "x", false},
		{"A", "x\nexport B=1", false},
		{"A", "x\x00", false},
		{"A", "x\x7f", false},
		{"A", "é \\ \"", true},
	} {
		if got := (core.Variable{Name: test.name, Value: test.value}).OneLine(); got != test.want {
			t.Errorf("%q=%q: %v", test.name, test.value, got)
		}
	}
}

func TestCounts(t *testing.T) {
	for n, want := range []string{"0 VNIs: 0 are", "1 VNI: 1 is", "2 VNIs: 2 are"} {
		if got := core.Plural(n, "VNI") + ": " + core.Are(n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := core.Plural(1, "address") + " of " + core.Plural(2, "address"); got != "1 address of 2 addresses" {
		t.Error(got)
	}
}
