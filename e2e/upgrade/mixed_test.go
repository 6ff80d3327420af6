package upgrade

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/effort"
)

// TestMixed runs a server of each release with agents, hooks, plugins and `weft` of both.
func TestMixed(t *testing.T) {
	for _, of := range []struct{ server, other release }{{mark, tree}, {tree, mark}} {
		t.Run("server of "+of.server.name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, of.server, "n1", "n2", "n3")
			s.install(theServer, of.other, "adapter")
			s.install("n2", of.other)
			s.install("n3", of.other)
			s.install("n3", of.server, "adapter")
			s.up()
			s.works(of.server, of.other)
			s.reads(of.other, "n1") // n1 is of the server's release
			if effort.Night() {     // all sessions begin again
				s.stop(theServer)
				s.start(theServer)
				s.attached()
				s.works(of.other, of.server)
			}
		})
	}
}

// works runs jobs on all nodes by programs of both releases, the first of them as the first node's.
func (s *system) works(releases ...release) {
	s.t.Helper()
	s.granted(s.nodes[0], releases[0].path("weft")).finish()
	seen := map[string]string{}
	var tasks []*task
	for _, node := range s.nodes {
		for _, r := range releases {
			k := s.mustBegin(node, r.path("weft"))
			who := fmt.Sprintf("a job by release %s on %s", r.name, node)
			if seen[k.vnis] != "" {
				s.t.Errorf("VNI %s has %s and %s", k.vnis, seen[k.vnis], who)
			}
			seen[k.vnis] = who
			if n := len(only(s.services(node), k.vnis)); n != 2 {
				s.t.Errorf("%s has %d services on 2 NICs", who, n)
			}
			tasks = append(tasks, k)
		}
	}
	// One job on all nodes, whose hooks are of both releases.
	wide := s.submit(s.nodes...)
	vnis := map[string]bool{}
	for i, node := range s.nodes {
		v, err := s.hook(node, releases[i%2].path("weft-hook"), "prolog", wide)
		must(s.t, err)
		vnis[v] = true
		if all := only(s.services(node), v); len(all) != 2 || all[0].Owner != core.UID(owner) {
			s.t.Errorf("job %s has on %s: %+v", wide, node, all)
		}
		if seen[v] != "" {
			s.t.Errorf("VNI %s has job %s and %s", v, wide, seen[v])
		}
	}
	if len(vnis) != 1 {
		s.t.Errorf("the VNIs of one job: %v", vnis)
	}
	s.over(wide)
	for i, node := range s.nodes {
		_, err := s.hook(node, releases[(i+1)%2].path("weft-hook"), "epilog", wide)
		must(s.t, err)
	}
	for _, k := range tasks {
		k.finish()
	}
	s.clean()
}

// reads has `weft` of a release read and change a server, and read a node that has a job of `weft run`.
func (s *system) reads(by release, node string) {
	s.t.Helper()
	k := s.mustBegin(node, by.path("weft"))
	weft := func(host, command string) {
		args := append([]string{"--dir", s.path(host, "run")}, strings.Fields(command)...)
		if out, err := exec.Command(by.path("weft"), args...).CombinedOutput(); err != nil {
			s.t.Errorf("release %s: weft %s on %s: %v\n%s", by.name, command, host, err, out)
		}
	}
	for _, command := range []string{
		"status", "nodes", "jobs", "job " + k.name, "vnis", "plugin list", "services --all", "doctor --all",
		"drain " + node + " fan", "resume " + node,
	} {
		weft(theServer, command)
	}
	for _, command := range []string{"services", "plugin list", "doctor", "clean --dry-run", "env " + k.name} {
		weft(node, command)
	}
	k.finish()
}
