package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "empty",
		"# required /x.so":                      "empty",
		"  # x":                                 "empty",
		"required /x.so":                        "required /x.so []",
		"\trequired\t/x.so a=b  c # d\n":        "required /x.so [a=b c]",
		"optional x.so a#b":                     "optional x.so [a]",
		"include /etc/p.d/*.conf":               "include /etc/p.d/*.conf",
		"Required /x.so":                        "ignored Required /x.so",
		"required":                              "ignored required",
		"required # /x.so":                      "ignored required",
		"/x.so":                                 "ignored /x.so",
		"required\r/x.so":                       "ignored required\r/x.so",
		`required "/x y.so"`:                    `required "/x [y.so"]`,
		"required " + strings.Repeat("a", 5000): "ignored " + core.Clip("required "+strings.Repeat("a", 5000)),
	} {
		l, kind := parse(text)
		got := map[bool]string{true: "required", false: "optional"}[l.Required] + fmt.Sprintf(" %s %v", l.Plugin, l.Args)
		switch kind {
		case loads:
		case empty:
			got = "empty"
		case includes:
			got = "include " + l.Plugin
		case ignored:
			got = "ignored " + l.Plugin
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const text = "required /a.so\ninclude p.d/*.conf\ninclude none/*\nwhat\nrequired /b/weft.so x\n"
	main := put("plugstack.conf", text)
	one := put("p.d/1.conf", "\noptional weft.so\n")
	put("p.d/2", "required /never.so\n")
	s, err := Read(main)
	want := Stack{
		Lines: []Line{
			{File: main, Number: 1, Required: true, Plugin: "/a.so", Args: []string{}},
			{File: one, Number: 2, Plugin: "weft.so", Args: []string{}},
			{File: main, Number: 5, Required: true, Plugin: "/b/weft.so", Args: []string{"x"}},
		},
		Ignored: []Line{{File: main, Number: 4, Plugin: "what"}},
	}
	if diff := cmp.Diff(want, s); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if got := s.Loads(File); len(got) != 2 || got[0].File != one {
		t.Errorf("%+v", got)
	}
	if s, err := Read(filepath.Join(dir, "none")); err != nil || len(s.Lines) > 0 {
		t.Errorf("a missing one is an empty one: %+v, %v", s, err)
	}
	loop := put("loop", "include loop\n")
	if _, err := Read(loop); err == nil || !strings.Contains(err.Error(), "more than 256 files") {
		t.Error(err)
	}
	if _, err := Read(put("long", strings.Repeat("#", maxText+1))); err == nil {
		t.Error("a file of any size is read")
	}
}

func TestRelease(t *testing.T) {
	for text, want := range map[string]string{
		"slurm-wlm 22.05.8\n": "22.05.8", "slurm 23.11.4": "23.11.4", "slurm 26.05.0rc1": "26.05.0",
		"slurm 25.11.0-0rc2": "25.11.0",
		"":                   "0.00.0", "slurm": "0.00.0", "slurm 22.05": "0.00.0",
		"slurm 22.05.999": "0.00.0", "1922.05.8": "0.00.0",
	} {
		if got := ParseRelease(text); got.String() != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if r := ParseRelease("slurm 23.02.1"); r != 0x170201 || r.Major() != "23.02" {
		t.Errorf("%x %s", uint32(r), r.Major())
	}
}

// FuzzParse: a line that loads a plugin names it and says how, and nothing of a comment counts.
func FuzzParse(f *testing.F) {
	f.Add("required /x.so a=b # c\n")
	f.Add("include *\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, kind := parse(text)
		if kind == empty {
			return
		}
		if l.Plugin == "" || kind != ignored && strings.ContainsAny(l.Plugin+strings.Join(l.Args, ""), "# \t\n") {
			t.Fatalf("%q: %+v", text, l)
		}
		again, kind2 := parse(text + "# more")
		if len(text) < maxLine-10 && !strings.Contains(text, "#") && (kind2 != kind || !cmp.Equal(again, l)) {
			t.Fatalf("%q: with a comment %+v", text, again)
		}
	})
}
