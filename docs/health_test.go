package docs

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/drivers/cxi/health"
)

var healthTable = regexp.MustCompile(`(?s)\| severity \| finding \| good is \| source \|\n.*?\n\n`)

// TestHealthTable holds the table of a NIC's checks in doctor.md against the driver's.
func TestHealthTable(t *testing.T) {
	const page = "doctor.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| severity | finding | good is | source |\n|---|---|---|---|\n")
	for _, c := range health.Checks {
		fmt.Fprintf(&want, "| %s | %s | %s | %s |\n", c.Severity, c.Fault, c.Limit, c.Source)
	}
	want.WriteByte('\n')
	if *update {
		text = healthTable.ReplaceAllLiteral(text, []byte(want.String()))
		if err := os.WriteFile(page, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want.String(), string(healthTable.Find(text))); diff != "" {
		t.Errorf("docs/%s has other checks than the driver; run `make golden` (-driver +page):\n%s", page, diff)
	}
}
