package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weft-hpc/weft/core"
)

func TestPrepareThenCleanUp(t *testing.T) {
	b := newBench(2)
	c := b.prepare(job("7", 0), 1000, 10)
	got := b.replies[c]
	want := []core.Variable{
		{Name: "FI_CXI_COLL_JOB_ID", Unset: true},
		{Name: "FI_CXI_COLL_JOB_STEP_ID", Unset: true},
		{Name: "FI_CXI_COLL_MCAST_TOKEN", Unset: true},
		{Name: "FI_CXI_COLL_FABRIC_MGR_URL", Unset: true},
		{Name: "FI_CXI_HWCOLL_ADDRS_PER_JOB", Unset: true},
		{Name: "FI_CXI_HWCOLL_MIN_NODES", Unset: true},
		{Name: "SLINGSHOT_VNIS", Value: "4034"},
		{Name: "SLINGSHOT_DEVICES", Value: "cxi0,cxi1"},
		{Name: "SLINGSHOT_SVC_IDS", Value: "3,3"},
		{Name: "SLINGSHOT_TCS", Value: "0x8"},
	}
	if got.Err != nil {
		t.Fatalf("prepare: %v", got.Err)
	}
	if d := cmp.Diff(want, got.Environment); d != "" {
		t.Errorf("environment (-want +got):\n%s", d)
	}
	if n := len(b.ours()); n != 2 {
		t.Errorf("%d services on the NICs, want 2", n)
	}
	c = b.cleanUp(job("7", 1), 20) // Slurm's Epilog shows the next count
	if got := b.replies[c]; got.Err != nil || got.Pending {
		t.Errorf("clean-up: %+v", got)
	}
	if left := b.ours(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	if e := b.m.Entries(); len(e) != 1 || e[0].Phase != Clean {
		t.Errorf("entries: %+v", e)
	}
	if count[Publish](b) != 1 || count[Withdraw](b) != 1 {
		t.Errorf("published %d times, withdrawn %d times", count[Publish](b), count[Withdraw](b))
	}
}
