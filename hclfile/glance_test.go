package hclfile

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pieces are what a text is drawn from: all that opens, closes or counts, and neighbours that read differently together than apart.
var pieces = []string{
	"{", "}", "[", "]", "(", ")", "\"", "\"", "\n", "\r\n", "\r", ",", " ", "\t", "#", "/", "//", "/*", "*/", "*", "<<", "<<-", "EOT", "EOT\n", "$", "${", "$${", "%{", "~}", "%",
	"\\", "\\\"", "'", "`", ";", ".", "..", "...", "=", "==", "=>", "!", "?", ":", "&&", "|", "-", "+", "_", "a", "a-", "e5", "E", "1", "12345", "123456789", "1234567890", "1e5", "1.5e-3",
	"é", "٣", "e\u0301", "\u200d", "\u2028", "\ufeff", "x = ", "rule \"r\" {\n", "}\n", "users = [\"ann\", \"bob\"]\n",
}

// A text that is called plain has nothing that the look at its tokens would refuse.
func TestGlanceIsWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "runs") {
			piece := rapid.SampledFrom(pieces).Draw(t, "piece")
			times := 1
			if rapid.IntRange(0, 9).Draw(t, "often") == 0 {
				times = rapid.SampledFrom([]int{2, MaxDepth - 1, MaxDepth, MaxDepth + 1, MaxOperators / 2, MaxOperators + 1}).Draw(t, "times")
			}
			text.WriteString(strings.Repeat(piece, times))
		}
		agree(t, []byte(text.String()))
	})
}

func agree(t interface{ Fatalf(string, ...any) }, text []byte) {
	file := &File{Source: Source{Name: "p.hcl", Text: text}}
	if file.text() != nil || !glance(text) {
		return
	}
	if findings := file.tokens(); findings != nil {
		t.Fatalf("called plain:\n%q\nbut: %+v", text, findings)
	}
}

func FuzzGlance(f *testing.F) {
	for _, piece := range pieces {
		f.Add(piece+"x = 1 + 2\n", 40)
	}
	f.Fuzz(func(t *testing.T, text string, times int) {
		agree(t, []byte(text))
		if times > 0 && times < 2000 && len(text) < 200 {
			agree(t, []byte(strings.Repeat(text, times)))
		}
	})
}

// Each bound by itself is seen, at the last value that keeps it and the first that does not.
func TestGlanceAtTheBounds(t *testing.T) {
	for name, of := range map[string]func(n int) string{
		"depth":     func(n int) string { return "x = " + strings.Repeat("[", MaxDepth-1+n) },
		"literal":   func(n int) string { return "x = \"" + strings.Repeat("a", MaxLiteral-1+n) + "\"\n" },
		"digits":    func(n int) string { return "x = " + strings.Repeat("1", MaxDigits-1+n) + "\n" },
		"operators": func(n int) string { return "x = " + strings.Repeat("+", MaxOperators-2+n) + "\n" },
	} {
		if !glance([]byte(of(1))) || glance([]byte(of(2))) {
			t.Errorf("%s: just within: %v; just beyond: %v", name, glance([]byte(of(1))), glance([]byte(of(2))))
		}
	}
	for _, text := range []string{"x = \"${y}\"", "x = <<E\nE\n", "x = \"\\n\"", "/* */", "x = 1e9", "x = 1..e9", "x = \"\n", "x = \"a\rb\""} {
		if glance([]byte(text)) {
			t.Errorf("called plain: %q", text)
		}
	}
}

// Each piece many times over, by itself and beside a letter, in a literal and outside.
func TestGlanceOfRepeatedPieces(t *testing.T) {
	for _, piece := range pieces {
		for _, one := range []string{piece, "a" + piece} {
			many := strings.Repeat(one, MaxOperators+5)
			agree(t, []byte(many))
			agree(t, []byte("x = \""+many+"\"\n"))
		}
	}
}

// What sites write is plain, or all this would be for nothing.
func TestGlanceIsEnoughForMost(t *testing.T) {
	for _, path := range []string{"../config.hcl", "../policy/default.policy.hcl"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !glance(text) {
			t.Errorf("%s is not plain", path)
		}
	}
	var many bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&many, "rule \"r%d\" {\n  match {\n    users = [\n      \"u%d\",\n    ]\n  }\n  when = job.nodes >= %d && job.queue != \"debug\" # 8 + 8 {\n}\n", i, i, i)
	}
	if !glance(many.Bytes()) {
		t.Error("a thousand rules are not plain")
	}
}
