package plan_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/plan"
)

func TestOwn(t *testing.T) {
	sealed := string(plan.Sealed("#", "a\n"))
	for name, tt := range map[string]struct {
		was    string // "": there is no file
		gone   bool
		action string // "": nothing is planned
		refuse string
	}{
		"new":              {"", false, "create", ""},
		"as it is":         {string(plan.Sealed("--", "b\n")), false, "", ""},
		"older":            {sealed, false, "change", ""},
		"edited":           {"x" + sealed, false, "change", "it was edited by hand"},
		"foreign":          {"x\n", false, "change", "Weft did not write it"},
		"long":             {strings.Repeat("x", plan.MaxOwn) + "\n" + sealed, false, "change", "Weft did not write it"},
		"removed":          {sealed, true, "remove", ""},
		"edited, removed":  {sealed + "x", true, "remove", "it was edited by hand"},
		"foreign, removed": {"x\n", true, "", ""},
		"none, removed":    {"", true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := plan.Change{Path: filepath.Join(t.TempDir(), "f"), Gone: tt.gone}
			if !tt.gone {
				c.Text = plan.Sealed("--", "b\n")
			}
			if tt.was != "" {
				if err := os.WriteFile(c.Path, []byte(tt.was), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var p plan.Plan
			p.Own(c, plan.IsSealed)
			action, refuse := "", ""
			if len(p.Changes) > 0 {
				action = p.Changes[0].Action()
			}
			if len(p.Findings) > 0 {
				refuse = p.Findings[0].What
			}
			if action != tt.action || p.Refused() != (tt.refuse != "") || !strings.Contains(refuse, tt.refuse) {
				t.Errorf("action %q, refusal %q", action, refuse)
			}
		})
	}
}
