package demo

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/cmd/weft/daemon"
	"github.com/weft-hpc/weft/cmd/weft/job"
	"github.com/weft-hpc/weft/cmd/weft/node"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/server"
)

func (s *story) begin() {
	s.chapter("A system of simulated nodes")
	s.names = [2]string{"the first user", "the second"}
	if os.Geteuid() == 0 {
		s.names = [2]string{"daemon", "nobody"}
		s.alice, s.bob = []string{"--user", "daemon"}, []string{"--user", "nobody"}
	}
	if len(s.opts.Nodes) < 4 {
		deviate("config.hcl declares %d nodes, and the story has 4", len(s.opts.Nodes))
	}
	s.up()
	s.tell("A server, and an agent on each of %s with %d NICs, all in this process. The rules are those of config.hcl and policy/.", strings.Join(s.opts.Nodes, ", "), s.opts.NICs)
	if os.Geteuid() != 0 {
		s.tell("You are not root, so the jobs of the two users are both yours.")
	}
}

// up waits until every node has reported all its NICs.
func (s *story) up() {
	s.until("every node attached", func() (bool, string) {
		all, _ := s.nodes()
		away := slices.DeleteFunc(all, func(n server.NodeRow) bool { return n.State == "up" && len(n.NICs) == s.opts.NICs })
		return len(away) == 0, fmt.Sprintf("%d of %d away", len(away), len(s.opts.Nodes))
	})
}

func (s *story) twoUsers() {
	s.chapter("Two users' jobs run side by side, each fenced off")
	n := s.opts.Nodes
	a, va := s.start(s.alice, n[0], n[1])
	b, vb := s.start(s.bob, n[0], n[1])
	for i, j := range []*launched{a, b} {
		s.shown(fmt.Sprintf("weft run -N2 %s-- sh -c 'env | grep SLINGSHOT; …'", map[bool]string{true: "--user " + s.names[i] + " "}[os.Geteuid() == 0]), func(w io.Writer) {
			fmt.Fprint(w, j.printed())
		})
		want := fmt.Sprintf("SLINGSHOT_VNIS=%d\n", []uint16{va, vb}[i])
		if strings.Count(j.printed(), want) != 2 || strings.Count(j.printed(), "SLINGSHOT_SVC_IDS=") != 2 {
			deviate("the job of %s lacks %q on one of its nodes:\n%s", s.names[i], strings.TrimSpace(want), j.printed())
		}
	}
	rows := s.services(n[0])
	s.shown("weft services --node "+n[0], func(w io.Writer) { node.PrintServices(w, rows) })
	s.tell("Each NIC has one service for each job. Only its owner may use it; its VNI, classes and resources are the job's own.")
	for _, r := range rows {
		if len(r.VNIs) != 1 || uint16(r.VNIs[0]) != va && uint16(r.VNIs[0]) != vb {
			deviate("service %d of %s has VNIs %v", r.Service, r.Device, r.VNIs)
		}
	}
	if len(rows) != 2*s.opts.NICs {
		deviate("%d services are on %s, not %d", len(rows), n[0], 2*s.opts.NICs)
	}
	held := time.Now()
	s.finishAll(a, b)
	s.tell("Both jobs end. Their services go at once. Their VNIs stay in quarantine before another job can get them.")
	s.rests(held, va, vb)
}

func (s *story) denied() {
	s.chapter("A job that asks for more than policy allows costs no node")
	j := s.refused("weft run --options classes=DEDICATED_ACCESS -- …", append(s.alice, "--options", "classes=DEDICATED_ACCESS")...)
	if !strings.Contains(j.errs.String(), "DEDICATED_ACCESS") {
		deviate("the refusal does not say why: %s", &j.errs)
	}
	nodes, drained := s.nodes()
	if len(drained) > 0 {
		deviate("nodes were drained: %v", drained)
	}
	s.tell("Its command never ran, it holds nothing, and all %d nodes are in service.", len(nodes))
}

func (s *story) nicFails() {
	s.chapter("A NIC fails under a job: all of it is rolled back, and that node alone is drained")
	bad, good := s.opts.Nodes[2], s.opts.Nodes[3]
	check(sim.At(dev.NICs(s.dir, bad)).SetFault(s.ctx, sim.Fault{Kind: sim.Fail, Device: "cxi2", Call: sim.CallCreate, Nth: 1}))
	before := time.Now()
	s.refused("weft run -N2 -- …     # cxi2 of "+bad+" cannot create a service", append(s.alice, "--on", bad+","+good)...)
	vni := s.only()
	var nodes []server.NodeRow
	s.until("no service and no job left, and "+bad+" drained", func() (bool, string) {
		var drained []string
		left := s.left()
		nodes, drained = s.nodes()
		jobs := 0
		for _, n := range nodes {
			jobs += n.Jobs
		}
		return left+jobs == 0 && slices.Equal(drained, []string{bad}),
			fmt.Sprintf("%d services and %d jobs left, drained %v", left, jobs, drained)
	})
	s.shown("weft nodes", func(w io.Writer) { node.PrintNodes(w, nodes) })
	s.tell("No service of it is left on any node.")
	s.rests(before, vni)
}

func (s *story) busy() {
	s.chapter("A job is killed while an application still uses its service")
	node := s.opts.Nodes[3]
	j, vni := s.start(s.bob, node)
	rows := s.services(node)
	if len(rows) == 0 {
		deviate("no service is on %s", node)
	}
	app := s.hold(node, rows[0].Device, rows[0].Service, rows[0].Owner)
	check(j.cmd.Process.Signal(syscall.SIGKILL))
	<-j.done
	s.show(vni, s.become(vni, "draining and busy", func(r server.VNIRow) bool {
		return r.State == "draining" && strings.Contains(r.Waits, rows[0].Device)
	}))
	s.tell("kill -9 ended the job, but %s holds service %d: no other job gets the VNI before that is gone.", rows[0].Device, rows[0].Service)
	if s.finish(app) < 0 {
		deviate("a signal ended the application: %s", &app.errs)
	}
	resting := s.state(vni, "quarantined")
	s.tell("The application ends. The node finds its NICs clean and says so:")
	s.show(vni, resting)
	s.show(vni, s.state(vni, "free"))
}

// hold starts the application of a service's owner.
func (s *story) hold(node, device string, service uint32, owner string) *launched {
	j := s.weft("sim", "app", "--node", node, "--device", device, "--service", fmt.Sprint(service),
		"--uid", strings.TrimPrefix(owner, "uid "), "--until-eof")
	s.wait("the application holds its service", j, func() bool { return strings.Contains(j.out.String(), "\n") })
	return j
}

func (s *story) serverStops() {
	s.chapter("The server stops in the middle, and starts again")
	a, va := s.start(s.alice, s.opts.Nodes[0])
	s.sys.StopServer()
	s.tell("The server is down. The job of %s on %s never notices, and a new one is refused, with a reason:", s.names[0], s.opts.Nodes[0])
	s.refused("weft run -- …", append(s.bob, "--on", s.opts.Nodes[1])...)
	check(s.sys.StartServer())
	s.up()
	b, vb := s.start(s.bob, s.opts.Nodes[1])
	s.tell("It is up again and knows what it gave: %s still has VNI %d, and %s gets %d.", s.names[0], va, s.names[1], vb)
	rows := s.vnis(nil)
	s.shown("weft vnis", func(w io.Writer) { job.PrintVNIs(w, rows) })
	if va == vb {
		deviate("VNI %d was given twice", va)
	}
	s.state(va, "active")
	s.finishAll(a, b)
}

func (s *story) account() {
	s.chapter("Every VNI is accounted for")
	var rows []server.VNIRow
	for _, v := range s.given {
		s.state(v, "free")
		rows = append(rows, s.vnis(server.JobArgs{VNI: v})...)
	}
	s.shown("weft vnis …     # all that the story used", func(w io.Writer) { job.PrintVNIs(w, rows) })
	var st server.Status
	check(s.o.Ask(s.ctx, "status", nil, &st))
	s.shown("weft status", func(w io.Writer) { daemon.PrintStatus(w, st) })
	for _, p := range st.Pools {
		if p.Used != 0 || p.Free != p.Size {
			deviate("pool %s has %d of %d VNIs in use at the end", p.Pool, p.Used, p.Size)
		}
	}
	if left := s.left(); left > 0 {
		deviate("%d services are left on the nodes", left)
	}
	s.tell("%d VNIs were given, none of them twice, and all are free again. No service is left on any NIC.", len(s.given))
}
