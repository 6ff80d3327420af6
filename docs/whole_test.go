package docs

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// whole is a row of daemon/testdata/whole.tsv, with times in s and memory in MiB. All nodes connect, and the server's
// processor time for it follows. Then the one job is granted on all nodes, and the small jobs are, with the server's
// processor time for both. All nodes are clean. At last come the server's memory with all sessions open, and the most
// that was resident.
type whole struct{ nodes, connect, connectCPU, job, small, jobsCPU, clean, idle, peak float64 }

// panels are the parts of the picture, a line each. One that is flat grows as the system does.
var panels = []struct {
	title, unit string
	of          func(whole) float64
}{
	{"to connect", "ms", func(w whole) float64 { return 1e3 * w.connect / w.nodes }},
	{"server's time for it", "ms", func(w whole) float64 { return 1e3 * w.connectCPU / w.nodes }},
	{"the one job", "ms", func(w whole) float64 { return 1e3 * w.job / w.nodes }},
	{"to clean up", "ms", func(w whole) float64 { return 1e3 * w.clean / w.nodes }},
	{"memory", "KiB", func(w whole) float64 { return 1024 * w.idle / w.nodes }},
}

const wholeTable = "../daemon/testdata/whole.tsv"

func readWhole(t *testing.T) (rows []whole) {
	t.Helper()
	text, err := os.ReadFile(wholeTable)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var w whole
		_, err := fmt.Sscan(line, &w.nodes, &w.connect, &w.connectCPU,
			&w.job, &w.small, &w.jobsCPU, &w.clean, &w.idle, &w.peak)
		if err != nil {
			t.Fatalf("%s: %q: %v", wholeTable, line, err)
		}
		rows = append(rows, w)
	}
	return rows
}

// drawWhole draws a panel next to another, each with its own scale from 0 on; nodes are on a scale of powers.
func drawWhole(rows []whole) string {
	const width, height, left, top, bottom = 190, 150, 30, 40, 50
	var b strings.Builder
	all := len(panels) * (width + left)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `, all, top+height+bottom)
	b.WriteString(`font-family="sans-serif" font-size="11">` + "\n")
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	for i, p := range panels {
		most := 0.0
		for _, w := range rows {
			most = max(most, p.of(w))
		}
		x0, y0 := float64(i*(width+left)+left), float64(top+height)
		x := func(w whole) float64 {
			first, last := math.Log(rows[0].nodes), math.Log(rows[len(rows)-1].nodes)
			return x0 + 10 + (width-50)*(math.Log(w.nodes)-first)/(last-first)
		}
		y := func(w whole) float64 { return y0 - (height-20)*p.of(w)/most }
		fmt.Fprintf(&b, `<text x="%.0f" y="20" font-weight="bold">%s, %s a node</text>`+"\n", x0-20, p.title, p.unit)
		fmt.Fprintf(&b, `<path d="M%.0f %d V%.0f H%.0f" fill="none" stroke="#888"/>`+"\n", x0, top, y0, x0+width-30)
		line := make([]string, len(rows))
		for j, w := range rows {
			line[j] = fmt.Sprintf("%.1f,%.1f", x(w), y(w))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="#07c"/>`+"\n", x(w), y(w))
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%.3g</text>`+"\n", x(w), y(w)-8, p.of(w))
			fmt.Fprintf(&b, `<text transform="translate(%.1f %.1f) rotate(-40)" `, x(w)+4, y0+14)
			fmt.Fprintf(&b, `text-anchor="end" font-size="9">%.0f</text>`+"\n", w.nodes)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#07c"/>`+"\n", strings.Join(line, " "))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// TestWholePicture finds a picture of other figures.
func TestWholePicture(t *testing.T) {
	const path = "pictures/whole.svg"
	want := drawWhole(readWhole(t))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/%s is not of %s; run `make golden` (-figures +picture):\n%s", path, wholeTable, diff)
	}
}
