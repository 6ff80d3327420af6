package hclfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

var update = flag.Bool("update", false, "write the golden files anew")

var shape = hclfile.Shape{
	Attributes: []string{"nodes", "quarantine", "count"},
	Required:   []string{"nodes"},
	Blocks:     map[string]hclfile.BlockShape{"server": {Once: true}, "pool": {Labels: []string{"NAME"}}},
}

func check(text string) []hclfile.Finding {
	file, findings := hclfile.Parse(hclfile.Source{Name: "t.hcl", Text: []byte(text)})
	if file.Body != nil {
		findings = append(findings, file.Check(file.Body, shape)...)
		for name, attr := range file.Body.Attributes {
			var more []hclfile.Finding
			switch name {
			case "nodes":
				_, more = file.String(attr.Expr, name)
			case "quarantine":
				_, more = file.Duration(attr.Expr, name, 1e9, 3600e9)
			case "count":
				_, more = file.Int(attr.Expr, name, 1, 8)
			}
			findings = append(findings, more...)
		}
	}
	return hclfile.Sort(findings)
}

func TestFindings(t *testing.T) {
	for name, text := range map[string]string{
		"typo":       "nodes = \"n1\"\nquarantin = \"60s\"\npol \"jobs\" {}\nwhatever_it_is = 1\n",
		"kinds":      "nodes { }\npool = 3\nserver {}\n",
		"labels":     "nodes = \"n1\"\npool {}\nserver \"x\" {}\npool \"a\" \"b\" {\n}\n",
		"twice":      "nodes = \"n1\"\nnodes = \"n2\"\nserver {}\nserver {}\n",
		"missing":    "count = 1\n",
		"types":      "nodes = 4\nquarantine = \"60\"\ncount = \"4\"\n",
		"bounds":     "nodes = null\nquarantine = \"2h\"\ncount = 9\n",
		"variable":   "nodes = name\nquarantine = \"${x}s\"\ncount = 1.5\n",
		"syntax":     "nodes = [\"a\"\nserver {\n",
		"nul":        "nodes = \"a\"\ncount = \x001\n",
		"utf8":       "nodes = \"a\"\nquarantine = \"é\xff\"\n",
		"terminal":   "nodes = \"n1\"\n\t# x\n  count = \"\x1b[2J\u202e\"\n",
		"exponent":   "nodes = \"n1\"\ncount = 1e999999999\n",
		"digits":     "nodes = \"n1\"\ncount = 111111111111111111111\n",
		"deep":       "nodes = " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n",
		"operators":  "nodes = \"n1\"\ncount = 1" + strings.Repeat("+1", 2000) + "\n",
		"literal":    "nodes = \"" + strings.Repeat("n", 20000) + "\"\n",
		"multi-line": "nodes = [\n \"a\",\n \"b\"\n]\n",
	} {
		t.Run(name, func(t *testing.T) {
			findings := check(text)
			if !hclfile.Failed(findings) {
				t.Fatal("nothing was found")
			}
			var out bytes.Buffer
			if err := hclfile.Text(&out, findings, false); err != nil {
				t.Fatal(err)
			}
			for _, r := range out.String() {
				if r < ' ' && r != '\n' || r == 0x7f || r == 0x202e {
					t.Errorf("the text holds %U, which a terminal would obey", r)
				}
			}
			golden(t, name, out.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what was found (-want +got):\n%s", path, diff)
	}
}

// A file's name is shown as harmlessly as its text.
func TestFileNameInFindings(t *testing.T) {
	for _, text := range []string{"x = 1\n", "x = \xff\n"} {
		file, findings := hclfile.Parse(hclfile.Source{Name: "e\x1b[31m\n.hcl", Text: []byte(text)})
		if file.Body != nil {
			findings = append(findings, file.Check(file.Body, shape)...)
		}
		var out strings.Builder
		if err := hclfile.Text(&out, findings, false); err != nil || findings == nil {
			t.Fatal(findings, err)
		}
		if first, _, _ := strings.Cut(out.String(), "\n"); !strings.HasPrefix(first, "e?[31m?.hcl:1:") {
			t.Errorf("the place is shown as %q", first)
		}
	}
}

func TestJSONHoldsAllThatTextHolds(t *testing.T) {
	findings := check("quarantin = \"60s\"\ncount = 9\n")
	var first, second bytes.Buffer
	out, err := json.Marshal(findings)
	if err != nil {
		t.Fatal(err)
	}
	var back []hclfile.Finding
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(hclfile.Text(&first, findings, true), hclfile.Text(&second, back, true)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.String(), second.String()); diff != "" {
		t.Error(diff)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.hcl")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 10<<20); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		large:                        "it has 10485760 bytes, more than the 1048576 (1 MiB) that a file may have",
		dir:                          "it cannot be read: it is no regular file",
		filepath.Join(dir, "no.hcl"): "there is no such file",
	} {
		source, findings := hclfile.Read(path)
		if len(findings) != 1 || findings[0].Summary != want || len(source.Text) != 0 {
			t.Errorf("Read(%s): %+v", path, findings)
		}
		err := hclfile.AsError(findings)
		if !errors.Is(err, core.Invalid) || err.Error() != path+": "+want {
			t.Errorf("AsError: %v", err)
		}
	}
	if err := hclfile.AsError([]hclfile.Finding{{Severity: hclfile.Notice}}); err != nil {
		t.Errorf("a notice is an error: %v", err)
	}
}

func TestSourceFromMemoryIsBoundedToo(t *testing.T) {
	for name, text := range map[string][]byte{
		"size":  make([]byte, hclfile.MaxSize+1),
		"marks": bytes.Repeat([]byte("; "), hclfile.MaxSize/2),
		"words": bytes.Repeat([]byte("a "), hclfile.MaxSize/2),
	} {
		file, findings := hclfile.Parse(hclfile.Source{Name: name, Text: text})
		if file.Body != nil || len(findings) != 1 {
			t.Errorf("%s: %d findings, body %v", name, len(findings), file.Body != nil)
		}
	}
}

// The bounds must leave room for what sites really write: a rule that lists thousands of users, a long comment.
func TestLargeButHonestFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("users = [\n")
	for i := range 20000 {
		fmt.Fprintf(&b, "  \"user%d\", # a person\n", i)
	}
	b.WriteString("]\n")
	file, findings := hclfile.Parse(hclfile.Source{Name: "t.hcl", Text: []byte(b.String())})
	if findings != nil {
		t.Fatal(findings)
	}
	items, findings := file.Items(file.Body.Attributes["users"].Expr, "users")
	if findings != nil || len(items) != 20000 {
		t.Fatalf("%d items, %v", len(items), findings)
	}
}

func TestNear(t *testing.T) {
	known := []string{"vnis", "quarantine", "jobs", "io", "driver", "server"}
	for given, want := range map[string]string{
		"vniss": "vnis", "Vnis": "vnis", "quarantin": "quarantine", "job": "jobs", "xyz": "", "vnsi": "vnis", "serevr": "server", "ip": "io", "": "", "ab": "",
		strings.Repeat("v", 100): "",
	} {
		if got := hclfile.Near(given, known); got != want {
			t.Errorf("Near(%q) = %q, want %q", given, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("nodes = \"n[1-4]\"\npool \"jobs\" {\n  vnis = \"1-2\"\n}\n")
	f.Add("a = \"${b ? [1,2] : {x = 3}}\" ")
	f.Add("a = <<E\n%{ if x }${y}%{ endif }\nE\n")
	f.Add("a = b[*].c.0.d[1]\n")
	f.Fuzz(func(t *testing.T, text string) {
		findings := check(text)
		var out bytes.Buffer
		if err := hclfile.Text(&out, findings, false); err != nil {
			t.Fatal(err)
		}
		if len(findings) > 3*len(text)+200 {
			t.Fatalf("%d findings for %d bytes", len(findings), len(text))
		}
	})
}

// An attribute that is given twice is the one mistake after which a body is whole.
func TestTwice(t *testing.T) {
	file, findings := hclfile.Parse(hclfile.Source{Name: "p.hcl", Text: []byte("a = 1\n\nb = 2\na = 3\n")})
	if len(findings) != 1 || findings[0].Line != 4 || findings[0].Snippet != "a = 3" {
		t.Errorf("%+v", findings)
	}
	if !file.Whole || len(file.Body.Attributes) != 2 {
		t.Errorf("whole %v, %v", file.Whole, file.Body.Attributes)
	}
}
