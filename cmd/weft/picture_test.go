package main

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// picture is the demo as README shows it: these chapters, each line cut to columns.
const (
	picture = "../../docs/demo.svg"
	columns = 118
)

var chapters = []string{"1. ", "2. ", "4. ", "5. "}

// checkPicture compares the picture with the story that the demo has just told; -update draws it again.
func checkPicture(t *testing.T, story string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("the picture is not compared: its two users need root")
		return
	}
	want := scene(story)
	if *update {
		if err := os.WriteFile(picture, drawn(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	svg, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(steady(want), steady(shown(svg))); diff != "" {
		t.Errorf("docs/demo.svg shows another story; `make golden` draws it again (-demo +picture):\n%s", diff)
	}
}

// scene is the part of the story that the picture shows. The nodes print in any order.
func scene(story string) []string {
	var lines []string
	in := false
	for line := range strings.Lines(story) {
		line = strings.TrimRight(line, "\n")
		if line != "" && line[0] != ' ' {
			in = slices.ContainsFunc(chapters, func(c string) bool { return strings.HasPrefix(line, c) })
		}
		if !in {
			continue
		}
		if text := []rune(line); len(text) > columns {
			line = string(text[:columns-1]) + "…"
		}
		lines = append(lines, line)
	}
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && printed.MatchString(lines[to]) {
			to++
		}
		slices.SortStableFunc(lines[from:to], func(a, b string) int {
			return strings.Compare(printed.FindString(a), printed.FindString(b))
		})
		from = max(from, to-1)
	}
	return lines
}

var (
	printed = regexp.MustCompile(`^ +n\d  `)
	took    = regexp.MustCompile(`\b\d+(\.\d+)?m?s\b *`)
	spaces  = regexp.MustCompile(` +`)
	textTag = regexp.MustCompile(`<text [^>]*>(.*)</text>`)
)

// steady takes out what differs from one run to the next: times, and the width of their columns.
func steady(lines []string) string {
	all := took.ReplaceAllString(strings.Join(lines, "\n"), "TIME ")
	return spaces.ReplaceAllString(all, " ")
}

// drawn is a terminal with these lines. Commands and titles stand out.
func drawn(lines []string) []byte {
	const size, step, edge = 12, 17, 14
	var b bytes.Buffer
	width, height := columns*size*3/5+2*edge, len(lines)*step+2*edge
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">
<style>text{font:%dpx monospace;fill:#c9d1d9;white-space:pre}.title{font-weight:bold;fill:#fff}.command{fill:#7ee787}</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
`, width, height, width, height, size)
	for i, line := range lines {
		class := "output"
		switch {
		case strings.HasPrefix(line, "   $ "):
			class = "command"
		case line != "" && line[0] != ' ':
			class = "title"
		}
		fmt.Fprintf(&b, "<text class=\"%s\" x=\"%d\" y=\"%d\" xml:space=\"preserve\">%s</text>\n",
			class, edge, edge+(i+1)*step-4, html.EscapeString(line))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// shown reads the lines of a picture.
func shown(svg []byte) []string {
	var lines []string
	for _, m := range textTag.FindAllSubmatch(svg, -1) {
		lines = append(lines, html.UnescapeString(string(m[1])))
	}
	return lines
}

func TestPictureOfTheDemo(t *testing.T) {
	story := "\n1. A <system>\n   $ weft & more\n     n2  A=1\n     n2  B=1\n     n1  A=1\n   in 2s now\n\n3. Not shown\n   x\n\n4. Last\n   " +
		strings.Repeat("é", 200) + "\n"
	lines := scene(story)
	want := []string{"1. A <system>", "   $ weft & more", "     n1  A=1", "     n2  A=1", "     n2  B=1", "   in 2s now", "",
		"4. Last", "   " + strings.Repeat("é", columns-4) + "…"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("the scene (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(lines, shown(drawn(lines))); diff != "" {
		t.Errorf("the picture does not show its lines (-want +got):\n%s", diff)
	}
	later := slices.Clone(lines)
	later[5] = "   in 1.5s  now"
	if steady(later) != steady(lines) {
		t.Error("another time is another story")
	}
	later[5] = "   in 2s never"
	if steady(later) == steady(lines) {
		t.Error("another word is the same story")
	}
}
