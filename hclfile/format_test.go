package hclfile_test

import (
	"testing"

	"github.com/weft-hpc/weft/hclfile"
)

func TestFormat(t *testing.T) {
	for in, want := range map[string]string{
		"a=1\nlong   =   [1,2]\nb \"x\" {\nc=1 # said\n}\n": "a    = 1\nlong = [1, 2]\nb \"x\" {\n  c = 1 # said\n}\n",
		"": "",
	} {
		for range 2 { // again, it changes nothing
			got, findings := hclfile.Format(hclfile.Source{Name: "x.hcl", Text: []byte(in)})
			if string(got) != want || findings != nil {
				t.Errorf("%q: %q %v", in, got, findings)
			}
			in = string(got)
		}
	}
	got, findings := hclfile.Format(hclfile.Source{Name: "x.hcl", Text: []byte("a = [\n")})
	if string(got) != "a = [\n" || !hclfile.Failed(findings) {
		t.Errorf("%q %v", got, findings)
	}
}
