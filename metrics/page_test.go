package metrics_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-hpc/weft/metrics"
)

const page = "../docs/metrics.md"

var described = regexp.MustCompile(`fqName: "(\w+)"`)

// table is what a page has, by the help that is in the program.
func table(t *testing.T, golden string) string {
	t.Helper()
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+?)(?:_bucket)?\{([^}]*)\}`).FindAllStringSubmatch(string(text), -1) {
		if labels[m[1]] != nil {
			continue
		}
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			if l[1] != "le" {
				labels[m[1]] = append(labels[m[1]], "`"+l[1]+"`")
			}
		}
	}
	var b strings.Builder
	b.WriteString("| metric | type | labels | what it says |\n|---|---|---|---|\n")
	for _, m := range regexp.MustCompile(`(?m)^# HELP (\w+) (.*)\n# TYPE \w+ (\w+)$`).FindAllStringSubmatch(string(text), -1) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m[1], m[3], strings.Join(labels[m[1]], ", "), strings.ReplaceAll(m[2], `\\`, `\`))
	}
	return b.String()
}

func TestPageOfTheDocuments(t *testing.T) {
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(got), "<!-- server -->\n")
	_, tail, ended := strings.Cut(string(got), "<!-- end -->\n")
	if !ok || !ended {
		t.Fatalf("%s has lost the marks of its tables", page)
	}
	want := head + "<!-- server -->\n### The server's\n\n" + table(t, "testdata/server.txt") + "\n<!-- agent -->\n### The agent's\n\n" + table(t, "testdata/agent.txt") +
		"\n<!-- end -->\n" + tail
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not what the program says; run `make golden` (-program +page):\n%s", page, diff)
	}
}

// TestEveryFigureIsShown holds the golden pages against the figures of state that the collectors can show, so that the table lacks none.
func TestEveryFigureIsShown(t *testing.T) {
	for golden, c := range map[string]prometheus.Collector{
		"testdata/server.txt": metrics.NewServer(metrics.ServerOptions{}), "testdata/agent.txt": metrics.NewAgent(metrics.AgentOptions{}),
	} {
		text, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		ch := make(chan *prometheus.Desc, 100)
		c.Describe(ch)
		close(ch)
		n := 0
		for d := range ch {
			m := described.FindStringSubmatch(d.String())
			if m == nil {
				t.Fatalf("a description reads %s", d)
			}
			if n++; !strings.Contains(string(text), "# HELP "+m[1]+" ") {
				t.Errorf("%s: the scenario does not show %s", golden, m[1])
			}
		}
		if n < 8 {
			t.Errorf("%s: only %d metrics are described", golden, n)
		}
	}
}

// TestAlertsNameMetricsThatAre reads the alerts of the page.
func TestAlertsNameMetricsThatAre(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	alerts, tables, _ := strings.Cut(string(text), "## All metrics")
	names := regexp.MustCompile(`weft_\w+`).FindAllString(alerts, -1)
	if len(names) < 10 {
		t.Fatalf("only %q", names)
	}
	for _, name := range names {
		if !strings.Contains(tables, "| `"+name+"` |") {
			t.Errorf("%s is in an alert and in no table", name)
		}
	}
}
