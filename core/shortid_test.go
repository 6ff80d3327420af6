package core_test

import (
	"testing"

	"github.com/weft-hpc/weft/core"
)

func TestShortJobID(t *testing.T) {
	for id, want := range map[string][2]string{
		"1017.pbs1": {"1017", "pbs1"}, "43[7].pbs1.example.org": {"43[7]", "pbs1.example.org"},
		"1017": {"1017", ""}, "43[].pbs1": {"43[].pbs1", ""}, "n1.5": {"n1.5", ""},
		"7.5": {"7.5", ""}, "ƒ9y6M3wD": {"ƒ9y6M3wD", ""},
		"": {"", ""}, "[7].pbs1": {"[7].pbs1", ""}, "12.": {"12.", ""},
	} {
		if short, server := core.ShortJobID(id); short != want[0] || server != want[1] {
			t.Errorf("%q: %q and %q", id, short, server)
		}
	}
}
