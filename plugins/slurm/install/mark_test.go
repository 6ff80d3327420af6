package install

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// marked is a text with a block of Weft's and some lines replaced.
func marked(text string, lines ...int) string {
	set := map[int]bool{}
	for _, n := range lines {
		set[n] = true
	}
	b := block([]string{"Prolog=/p", "Epilog=/e"}, []replaced{{"slurm.conf", len(lines)}})
	return string(appendBlock(comment([]byte(text), set), b))
}

func TestRestore(t *testing.T) {
	for name, text := range map[string]string{
		"plain": "A=1\nProlog=/x\nB=2\n", "no end": "A=1\nProlog=/x", "empty": "", "carriage": "A=1\r\nProlog=/x\r\n", "goes on": "A=1\nProlog=/x\\\n",
		"about weft": "# weft replaced it: in March\n# BEGIN weft things\n",
	} {
		t.Run(name, func(t *testing.T) {
			with := marked(text, 2)
			got, _, err := restore("slurm.conf", []byte(with))
			if err != nil || string(got) != text {
				t.Errorf("%v: %q, not %q, of\n%s", err, got, text, with)
			}
		})
	}
}

func TestRestoreKeepsWhatWasAdded(t *testing.T) {
	with := "Z=0\n" + marked("A=1\nProlog=/x", 2) + "C=3\n"
	got, _, err := restore("slurm.conf", []byte(with))
	if want := "Z=0\nA=1\nProlog=/x\nC=3\n"; err != nil || string(got) != want {
		t.Errorf("%v: %q, not %q", err, got, want)
	}
}

func TestRestoreSeesAHand(t *testing.T) {
	text := "A=1\nProlog=/x\nB=2\n"
	with := marked(text, 2)
	for name, tt := range map[string]struct{ old, new, want string }{
		"a line of the block":      {"Epilog=/e", "Epilog=/other", "slurm.conf:6: it is not what Weft wrote"},
		"a line less":              {"Prolog=/p\n", "", "slurm.conf:5: it is not what Weft wrote"},
		"a line more":              {"Epilog=/e\n", "Epilog=/e\nNew=1\n", "slurm.conf:7: it is not what Weft wrote"},
		"the end":                  {markEnd, "# ", "slurm.conf:4: the block that begins here has no end"},
		"the begin":                {markBegin, "# ", "slurm.conf:8: a block ends here that never began"},
		"a replaced line":          {"Prolog=/x", "Prolog=/y", "slurm.conf:2: the line that was replaced"},
		"a second block":           {"B=2\n", "B=2\n" + block([]string{"X=1"}, nil), "slurm.conf:7: a second block begins"},
		"a replaced line put back": {markReplace + sum("Prolog=/x") + ": ", "", "slurm.conf:4: the block replaced 1 lines of /e/slurm.conf, and 0 are marked"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(with, tt.old, tt.new, 1)
			if changed == with {
				t.Fatal("nothing changed")
			}
			_, err := readConf("/e/slurm.conf", texts(map[string]string{"/e/slurm.conf": changed}))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "edited by hand") {
				t.Errorf("%v, not %s", err, tt.want)
			}
		})
	}
}

func TestMarkIsUndone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"A=1", "", "Prolog=/x\\", "# c", "weft", "B=2\r", "\\", "é"}), 0, 8).Draw(t, "lines")
		text := strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
		var which []int
		for n := range strings.Count(text, "\n") {
			if rapid.Bool().Draw(t, "replace") {
				which = append(which, n+1)
			}
		}
		with := marked(text, which...)
		got, m, err := restore("slurm.conf", []byte(with))
		if err != nil || string(got) != text || m.Back != len(which) {
			t.Fatalf("%v: %q, not %q", err, got, text)
		}
		before, _ := parse("f", []byte(text))
		after, err := parse("f", []byte(with))
		if err != nil {
			t.Fatal(err)
		}
		if len(which) == 0 && len(after) != len(before)+2 {
			t.Fatalf("%d settings became %d", len(before), len(after))
		}
	})
}

func FuzzRestore(f *testing.F) {
	f.Add([]byte(marked("A=1\nB=2", 1)))
	f.Add([]byte(marked("", 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		base, m, err := restore("f", text)
		if err != nil || len(text) > maxText/2 {
			return
		}
		if m.Block == 0 && m.Back == 0 && !bytes.Equal(base, text) {
			t.Fatal("a text without marks was changed")
		}
		again, _, err := restore("f", base)
		if err != nil || !bytes.Equal(again, base) {
			return // marks within a replaced line: nobody's but a fuzzer's
		}
		with := appendBlock(comment(base, map[int]bool{1: len(base) > 0}), block([]string{"P=1"}, nil))
		if back, _, err := restore("f", with); err != nil || !bytes.Equal(back, base) {
			t.Fatalf("%v: %q became %q", err, base, back)
		}
	})
}
