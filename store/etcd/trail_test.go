package etcd

import (
	"testing"

	"github.com/weft-hpc/weft/core"
)

// A standby that was away vouches for no head that came meanwhile, until it has seen the leader write again.
func TestAGapInTheTrail(t *testing.T) {
	head := func(revision uint64) core.Head { return core.Head{Store: "a", Epoch: 1, Revision: revision} }
	saw := func(tr *trail, mod, probe int64, revision uint64) {
		tr.saw(news{head: mod, probe: probe, leader: Leader{Term: 1}, at: place{mod, 1}}, head(revision))
	}
	for name, c := range map[string]struct {
		away func(*trail)
		mod  int64
		want core.Head // afterwards
	}{
		"no gap":                         {func(*trail) {}, 30, head(3)},
		"a gap in which nothing came":    {func(tr *trail) { tr.when -= 2 * longGap }, 20, head(2)},
		"a gap in which something came":  {func(tr *trail) { tr.when -= 2 * longGap }, 30, core.Head{}},
		"a copy that is newer":           {func(tr *trail) { tr.broken = true }, 30, core.Head{}},
		"a copy that is older":           {func(tr *trail) { tr.broken = true }, 10, head(2)},
		"a copy of the same, raft began": {func(tr *trail) { tr.back(place{20, 0}) }, 20, head(2)},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &trail{when: running()}
			saw(tr, 10, 10, 1)
			saw(tr, 20, 10, 2)
			c.away(tr)
			saw(tr, c.mod, 10, uint64(c.mod/10))
			if tr.newest != c.want {
				t.Errorf("it vouches for %+v, want %+v", tr.newest, c.want)
			}
			saw(tr, c.mod, 11, uint64(c.mod/10))
			if want := head(uint64(c.mod / 10)); tr.newest != want {
				t.Errorf("after a pulse it vouches for %+v, want %+v", tr.newest, want)
			}
		})
	}
}
