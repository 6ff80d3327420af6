package hclfile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"
)

// seen lists what a body has: every node of it, and where it stands.
func seen(t interface{ Fatalf(string, ...any) }, body *hclsyntax.Body) []string {
	if body == nil {
		return nil
	}
	var out []string
	diags := hclsyntax.VisitAll(body, func(node hclsyntax.Node) hcl.Diagnostics {
		switch node.(type) {
		case hclsyntax.Attributes, hclsyntax.Blocks: // their ranges are those of any of their members
		default:
			out = append(out, fmt.Sprintf("%s %T", node.Range(), node))
		}
		return nil
	})
	if diags.HasErrors() {
		t.Fatalf("%v", diags)
	}
	for _, block := range body.Blocks {
		out = append(out, fmt.Sprintf("%s %q %s", block.Type, block.Labels, block.DefRange()))
	}
	slices.Sort(out)
	return append(out, body.SrcRange.String(), body.EndRange.String())
}

// A text that is parsed in parts, as small as can be, says what it says as a whole, and is wrong where it is wrong as a whole.
func TestPartsAreTheWhole(t *testing.T) {
	lines := slices.Concat(pieces, []string{
		"a = 1\n", "b = [1,\n 2]\n", "c = x ? 1 : 2 # {\n", "limits \"l\" {\n  txqs = { reserved = 2 * share.cores, max = 8 }\n}\n", "quota \"q\" { per = \"user\" }\n", "\n", "# x\n",
		"d = (1 +\n 2)\r\n", "vni \"app\" {\n}\n",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(lines), 0, 30).Draw(t, "lines"), "")
		source := Source{Name: "p.hcl", Text: []byte(text)}
		cuts, ok := glance(source.Text, rapid.SampledFrom([]int{1, 1, 20}).Draw(t, "part"))
		if !ok || (&File{Source: source}).text() != nil {
			return
		}
		whole, wrong := parse(source, nil)
		parts, wrongInParts := parse(source, cuts)
		if wrong.HasErrors() != wrongInParts.HasErrors() {
			t.Fatalf("%q: as a whole %v; in parts at %v %v", text, wrong, cuts, wrongInParts)
		}
		if wrong.HasErrors() {
			return
		}
		if diff := cmp.Diff(seen(t, whole), seen(t, parts)); diff != "" {
			t.Fatalf("%q in parts at %v, which is +: %s", text, cuts, diff)
		}
	})
}

func TestTwiceInTwoParts(t *testing.T) {
	padding := "#" + strings.Repeat("x", partSize) + "\n\n"
	file, findings := Parse(Source{Name: "p.hcl", Text: []byte("a = 1\n" + padding + "b = 2\n" + padding + "a = 3\n")})
	if len(findings) != 1 || findings[0].Summary != redefined || findings[0].Line != 7 || findings[0].Snippet != "a = 3" || !strings.Contains(findings[0].Detail, "line 1 ") {
		t.Errorf("%+v", findings)
	}
	if !file.Whole || len(file.Body.Attributes) != 2 {
		t.Errorf("whole %v, %v", file.Whole, file.Body.Attributes)
	}
}
