package run

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/plugins/local"
)

// TestEnviron shows that what a shell carries of the job's variables is gone even where a node's answer forgets to say so.
func TestEnviron(t *testing.T) {
	stale := []string{
		"A=1", "SLINGSHOT_VNIS=1", "SLINGSHOT_DEVICES=1", "SLINGSHOT_SVC_IDS=1", "SLINGSHOT_TCS=1", "FI_CXI_COLL_JOB_ID=1", "FI_CXI_COLL_JOB_STEP_ID=1",
		"FI_CXI_COLL_MCAST_TOKEN=1", "FI_CXI_COLL_FABRIC_MGR_URL=1", "FI_CXI_HWCOLL_ADDRS_PER_JOB=1", "FI_CXI_HWCOLL_MIN_NODES=1", "WEFT_JOB=1", "WEFT_NODE=1",
		"WEFT_FROM=1",
		"SLINGSHOT_VNIS=2", "FI_CXI_RX_MATCH_MODE=1", "NAMELESS", "SLINGSHOT_VNIS", "B=",
	}
	for name, c := range map[string]struct {
		answer local.Answer
		want   []string
	}{
		"nothing said": {local.Answer{Job: "n1.1"}, []string{"A=1", "FI_CXI_RX_MATCH_MODE=1", "NAMELESS", "B=", "WEFT_JOB=n1.1", "WEFT_NODE=n1"}},
		"some set and unset": {
			local.Answer{Job: "n1.1", Unset: []string{"A"}, Set: []local.Variable{{Name: "SLINGSHOT_VNIS", Value: "3"}, {Name: "B", Value: "x=y"}}},
			[]string{"FI_CXI_RX_MATCH_MODE=1", "NAMELESS", "SLINGSHOT_VNIS=3", "B=x=y", "WEFT_JOB=n1.1", "WEFT_NODE=n1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, environ(stale, c.answer, "n1")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNodesThatSayTheSame: each line comes once, in the order of the job's nodes, with those that say it.
func TestNodesThatSayTheSame(t *testing.T) {
	var out strings.Builder
	said := [][]byte{[]byte("weft: a\nweft: b\nc\n"), nil, []byte("weft: b\nweft: d\n"), []byte("weft: a\nweft: a\n")}
	tell(&out, []string{"n1", "n2", "n3", "n4"}, said)
	const want = "weft: n[1,4]: a\nweft: n[1,3]: b\nc\nweft: n3: d\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", &out, want)
	}
	out.Reset()
	if tell(&out, []string{"n1"}, said[:1]); out.String() != string(said[0]) {
		t.Errorf("a job on one node: %q", &out)
	}
}
