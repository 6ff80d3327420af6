package install

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []statement
	}{
		"plain":         {"A=1\nb = two words\n", []statement{{setting: setting{File: "f", First: 1, Last: 1, Key: "A", Value: "1"}}, {setting: setting{File: "f", First: 2, Last: 2, Key: "b", Value: "two", More: true}}}},
		"quoted":        {`A="x y"` + "\n", []statement{{setting: setting{File: "f", First: 1, Last: 1, Key: "A", Value: "x y"}}}},
		"no end":        {"A=1", []statement{{setting: setting{File: "f", First: 1, Last: 1, Key: "A", Value: "1"}}}},
		"carriage":      {"A=1\r\n", []statement{{setting: setting{File: "f", First: 1, Last: 1, Key: "A", Value: "1"}}}},
		"comment":       {"# A=1\nA=2 # B=3 \\\nC=4\n", []statement{{setting: setting{File: "f", First: 2, Last: 2, Key: "A", Value: "2"}}, {setting: setting{File: "f", First: 3, Last: 3, Key: "C", Value: "4"}}}},
		"escaped":       {`A=x\#y\\z` + "\n", []statement{{setting: setting{File: "f", First: 1, Last: 1, Key: "A", Value: `x#y\z`}}}},
		"goes on":       {"A=1\\\n2\\ \n3\nB=1\n", []statement{{setting: setting{File: "f", First: 1, Last: 3, Key: "A", Value: "123"}}, {setting: setting{File: "f", First: 4, Last: 4, Key: "B", Value: "1"}}}},
		"two are one":   {"A=1\\\\\nB=2\n", []statement{{setting: setting{File: "f", First: 1, Last: 1, Key: "A", Value: `1\`}}, {setting: setting{File: "f", First: 2, Last: 2, Key: "B", Value: "2"}}}},
		"ends going on": {"A=1\\", []statement{{setting: setting{File: "f", First: 1, Last: 1, Key: "A", Value: "1"}}}},
		"empty value":   {"A=\nB=1\n", []statement{{setting: setting{File: "f", First: 1, Last: 1, Key: "A"}}, {setting: setting{File: "f", First: 2, Last: 2, Key: "B", Value: "1"}}}},
		"operator":      {"A+=1\n", []statement{{setting: setting{File: "f", First: 1, Last: 1, Key: "A", Value: "1"}}}},
		"include":       {"INCLUDE  more.conf\nincluded=1\n", []statement{{Include: "more.conf", setting: setting{File: "f", First: 1, Last: 1}}, {setting: setting{File: "f", First: 2, Last: 2, Key: "included", Value: "1"}}}},
		"neither":       {"what is this\n", []statement{{setting: setting{File: "f", First: 1, Last: 1, Value: "what is this"}}}},
		"nothing":       {"\n  \n#\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse("f", []byte(tt.text))
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(statement{})); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	if _, err := parse("f", []byte("A=1\nB=\x00\n")); err == nil || !strings.Contains(err.Error(), "f:2:") {
		t.Errorf("a zero byte: %v", err)
	}
}

// texts opens files of a map.
func texts(files map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("no such file")
	}
}

func TestInclude(t *testing.T) {
	c, err := readConf("/e/slurm.conf", texts(map[string]string{
		"/e/slurm.conf":     "ClusterName=Tioga\nProlog=/1\ninclude sub/%c.conf\nInclude /abs.conf\n",
		"/e/sub/tioga.conf": "prolog=/2\nInclude deeper\n",
		"/e/sub/deeper":     "PROLOG=/3\n",
		"/abs.conf":         "Epilog=/4\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := c.last("Prolog")
	if want := (setting{File: "/e/sub/deeper", First: 1, Last: 1, Key: "PROLOG", Value: "/3"}); got != want || len(c.all("prolog")) != 3 || len(c.Files) != 4 {
		t.Errorf("%+v of %d files", got, len(c.Files))
	}
}

func TestIncludeIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"itself":  {map[string]string{"/e/slurm.conf": "Include slurm.conf\n"}, "16 deep"},
		"missing": {map[string]string{"/e/slurm.conf": "Include more\n"}, "/e/more: no such file"},
		"large":   {map[string]string{"/e/slurm.conf": "Include more\n", "/e/more": strings.Repeat("#", maxText+1)}, "8388609 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readConf("/e/slurm.conf", texts(tt.files))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, not %s", err, tt.want)
			}
		})
	}
	many := map[string]string{"/e/slurm.conf": ""}
	for i := range maxFiles {
		name := fmt.Sprintf("f%d", i)
		many["/e/slurm.conf"] += "Include " + name + "\n"
		many["/e/"+name] = ""
	}
	if _, err := readConf("/e/slurm.conf", texts(many)); err == nil || !strings.Contains(err.Error(), "more than 256 files") {
		t.Error(err)
	}
	wide := map[string]string{"/e/slurm.conf": strings.Repeat("Include big\n", 64), "/e/big": strings.Repeat("#\n", 1<<19)}
	if _, err := readConf("/e/slurm.conf", texts(wide)); err == nil || !strings.Contains(err.Error(), "in all") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("A=1\\\n2 # x\nInclude y\nProlog=\"a b\"\n")
	f.Add("\\")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parse("f", []byte(text))
		if err != nil {
			return
		}
		end := 0
		for _, s := range got {
			if s.First <= end || s.Last < s.First || s.Last > 1+strings.Count(text, "\n") {
				t.Fatalf("line %d to %d after %d", s.First, s.Last, end)
			}
			end = s.Last
			if strings.ContainsAny(s.Key, " =\n") {
				t.Fatalf("key %q", s.Key)
			}
		}
	})
}
