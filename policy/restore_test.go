package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/policy"
)

// A policy that a reservation names decides again as it did, whatever config.hcl says by now.
func TestRestore(t *testing.T) {
	p := load(t, base, site)
	again, err := policy.Restore(p.Text())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.Explain(facts(nil)).Blocks, again.Explain(facts(nil)).Blocks); diff != "" || again.Hash() != p.Hash() {
		t.Errorf("hash %s, was %s (-was +is):\n%s", again.Hash(), p.Hash(), diff)
	}
	for _, text := range []string{"x", p.Text() + "x", "#! policy file 1 \"a\"\n{\n"} {
		if again, err := policy.Restore(text); err == nil || again != nil {
			t.Errorf("%q was taken", text)
		}
	}
}
