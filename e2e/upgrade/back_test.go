package upgrade

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

// standing is a job that lives while daemons are upgraded, and its services.
type standing struct {
	s    *system
	node string
	vnis string
	all  []core.Service
}

// stands fails where the job's services are others than they were.
func (j standing) stands(after string) {
	j.s.t.Helper()
	if diff := cmp.Diff(j.all, only(j.s.services(j.node), j.vnis)); diff != "" {
		j.s.t.Errorf("after %s: the services of VNI %s on %s: (-before +now)\n%s", after, j.vnis, j.node, diff)
	}
}

// TestThereAndBack upgrades a system host by host, server first, and takes it back the other way, while jobs live. No
// job notices, each daemon knows the jobs of its predecessor, and no VNI is given twice.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	s := newSystem(t, mark, "n1", "n2")
	s.up()
	var live []standing
	given := map[string]bool{}
	took := func(vnis, node string) {
		t.Helper()
		if given[vnis] {
			t.Errorf("VNI %s was given twice", vnis)
		}
		given[vnis] = true
		all := only(s.services(node), vnis)
		if len(all) != 2 {
			t.Errorf("VNI %s has %d services on %s", vnis, len(all), node)
		}
		live = append(live, standing{s, node, vnis, all})
	}
	var ends []func()
	// begin starts a job of each scheduler. They live until the end.
	begin := func(r release) {
		t.Helper()
		for _, node := range s.nodes {
			k := s.mustBegin(node, r.path("weft"))
			took(k.vnis, node)
			ends = append(ends, k.finish)
		}
		wide := s.submit("n1", "n2")
		for _, node := range s.nodes {
			v, err := s.hook(node, r.path("weft-hook"), "prolog", wide)
			must(t, err)
			if node == "n1" {
				took(v, node)
			} else if live[len(live)-1].vnis != v {
				t.Errorf("job %s has VNI %s on n1, %s on n2", wide, live[len(live)-1].vnis, v)
			}
		}
		ends = append(ends, func() {
			s.over(wide)
			for _, node := range s.nodes {
				_, err := s.hook(node, s.program(node, "weft-hook"), "epilog", wide)
				must(t, err)
			}
		})
	}
	begin(mark)
	step := func(host string, r release) {
		t.Helper()
		s.upgrade(host, r)
		s.attached()
		for _, j := range live {
			j.stands(fmt.Sprintf("%s is of release %s", host, r.name))
		}
	}
	// finish ends the oldest job.
	finish := func() {
		t.Helper()
		vnis, node := live[0].vnis, live[0].node
		ends[0]()
		live, ends = live[1:], ends[1:]
		s.until("the services of a job that ended are gone", func() (bool, string) {
			left := only(s.services(node), vnis)
			return len(left) == 0, fmt.Sprint(left)
		})
	}
	for _, host := range s.hosts() {
		step(host, tree)
		begin(mark)
		begin(tree)
		finish()
	}
	for _, host := range slices.Backward(s.hosts()) {
		step(host, mark)
		begin(tree)
		finish()
	}
	for len(ends) > 0 {
		finish()
	}
	s.clean()
}
