package upgrade

import (
	"os/exec"
	"testing"

	"github.com/weft-hpc/weft/dev/effort"
)

// TestBackToOneServer takes a system of several servers back to a release with one server, with a job that lives.
func TestBackToOneServer(t *testing.T) {
	t.Parallel()
	effort.NeedNight(t)
	s := newSeveral(t, tree, "n1", "n2")
	s.up()
	k := s.mustBegin("n1", s.program("n1", "weft"))
	before := standing{s, "n1", k.vnis, only(s.services("n1"), k.vnis)}
	for _, host := range s.hosts() {
		s.stop(host)
	}
	one := s.servers[0]
	copied := exec.Command(s.program(one, "weft"), "store", "copy", s.path(one, "config.hcl"), s.path(one, "server.db"))
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.servers, s.leader, s.etcd = s.servers[:1], one, ""
	for _, host := range s.hosts() {
		s.install(host, mark)
		s.start(host)
	}
	s.attached()
	before.stands("the way back")
	other := s.granted("n2", s.program("n2", "weft"))
	if other.vnis == k.vnis {
		t.Errorf("VNI %s is in two jobs", k.vnis)
	}
	k.finish()
	other.finish()
	s.clean()
}
