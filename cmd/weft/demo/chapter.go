package demo

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/cmd/weft/daemon"
	"github.com/weft-hpc/weft/cmd/weft/job"
	"github.com/weft-hpc/weft/cmd/weft/node"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/server"
)

func (s *story) begin() error {
	s.chapter("A system of simulated nodes")
	s.names = [2]string{"the first user", "the second"}
	if os.Geteuid() == 0 {
		s.names = [2]string{"daemon", "nobody"}
		s.alice, s.bob = []string{"--user", "daemon"}, []string{"--user", "nobody"}
	}
	if len(s.opts.Nodes) < 4 {
		return fmt.Errorf("config.hcl declares %d nodes, and the story has 4", len(s.opts.Nodes))
	}
	if err := s.until("every node attached", func() (bool, string, error) {
		nodes, err := s.nodes()
		up := 0
		for _, n := range nodes {
			if n.State == "up" && len(n.NICs) == s.opts.NICs {
				up++
			}
		}
		return up == len(s.opts.Nodes), fmt.Sprintf("%d of %d", up, len(s.opts.Nodes)), err
	}); err != nil {
		return err
	}
	s.tell("A server, and an agent on each of %s with %d NICs, all in this process. The rules are those of config.hcl and policy/.", strings.Join(s.opts.Nodes, ", "), s.opts.NICs)
	if os.Geteuid() != 0 {
		s.tell("You are not root, so the jobs of the two users are both yours.")
	}
	return nil
}

func (s *story) twoUsers() error {
	s.chapter("Two users' jobs run side by side, each fenced off")
	n := s.opts.Nodes
	a, va, err := s.start(s.alice, n[0], n[1])
	if err != nil {
		return err
	}
	b, vb, err := s.start(s.bob, n[0], n[1])
	if err != nil {
		return err
	}
	for i, j := range []*launched{a, b} {
		s.shown(fmt.Sprintf("weft run -N2 %s-- sh -c 'env | grep SLINGSHOT; …'", map[bool]string{true: "--user " + s.names[i] + " "}[os.Geteuid() == 0]), func(w io.Writer) {
			fmt.Fprint(w, j.printed())
		})
		want := fmt.Sprintf("SLINGSHOT_VNIS=%d\n", []uint16{va, vb}[i])
		if strings.Count(j.printed(), want) != 2 || strings.Count(j.printed(), "SLINGSHOT_SVC_IDS=") != 2 {
			return fmt.Errorf("the job of %s lacks %q on one of its nodes:\n%s", s.names[i], strings.TrimSpace(want), j.printed())
		}
	}
	rows, err := s.services(n[0])
	if err != nil {
		return err
	}
	s.shown("weft services --node "+n[0], func(w io.Writer) { node.PrintServices(w, rows, false) })
	s.tell("Each NIC has one service for each job. Only its owner may use it; its VNI, classes and resources are the job's own.")
	for _, r := range rows {
		if len(r.VNIs) != 1 || uint16(r.VNIs[0]) != va && uint16(r.VNIs[0]) != vb {
			return fmt.Errorf("service %d of %s has VNIs %v", r.Service, r.Device, r.VNIs)
		}
	}
	if len(rows) != 2*s.opts.NICs {
		return fmt.Errorf("%d services are on %s, not %d", len(rows), n[0], 2*s.opts.NICs)
	}
	held := time.Now()
	for _, j := range []*launched{a, b} {
		if err := j.finish(s.ctx); err != nil {
			return err
		}
	}
	s.tell("Both jobs end. Their services go at once. Their VNIs stay in quarantine before another job can get them.")
	return s.rests(held, va, vb)
}

func (s *story) denied() error {
	s.chapter("A job that asks for more than policy allows costs no node")
	j, err := s.refused("weft run --options classes=DEDICATED_ACCESS -- …", append(s.alice, "--options", "classes=DEDICATED_ACCESS")...)
	if err != nil {
		return err
	}
	if !strings.Contains(j.errs.String(), "DEDICATED_ACCESS") {
		return fmt.Errorf("the refusal does not say why: %s", j.errs)
	}
	nodes, err := s.nodes()
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Drained != "" {
			return fmt.Errorf("node %s was drained: %s", n.Node, n.Drained)
		}
	}
	s.tell("Its command never ran, it holds nothing, and all %d nodes are in service.", len(nodes))
	return nil
}

func (s *story) nicFails() error {
	s.chapter("A NIC fails under a job: all of it is rolled back, and that node alone is drained")
	bad, good := s.opts.Nodes[2], s.opts.Nodes[3]
	err := sim.SetFault(s.ctx, dev.NICs(s.dir, bad), sim.Fault{Kind: sim.Fail, Device: "cxi2", Call: sim.CallCreate, Nth: 1})
	if err != nil {
		return err
	}
	before := time.Now()
	if _, err := s.refused("weft run -N2 -- …     # cxi2 of "+bad+" cannot create a service", append(s.alice, "--on", bad+","+good)...); err != nil {
		return err
	}
	vni, err := s.only()
	if err != nil {
		return err
	}
	if err := s.until("no service left, and "+bad+" drained", func() (bool, string, error) {
		left := 0
		for _, node := range s.opts.Nodes {
			rows, err := s.services(node)
			if err != nil {
				return false, "", err
			}
			left += len(rows)
		}
		nodes, err := s.nodes()
		drained := []string{}
		for _, n := range nodes {
			if n.Drained != "" {
				drained = append(drained, n.Node)
			}
		}
		return left == 0 && slices.Equal(drained, []string{bad}), fmt.Sprintf("%d services left, drained %v", left, drained), err
	}); err != nil {
		return err
	}
	nodes, err := s.nodes()
	if err != nil {
		return err
	}
	s.shown("weft nodes", func(w io.Writer) { node.PrintNodes(w, nodes) })
	s.tell("No service of it is left on any node.")
	return s.rests(before, vni)
}

func (s *story) busy() error {
	s.chapter("A job is killed while an application still uses its service")
	node := s.opts.Nodes[3]
	j, vni, err := s.start(s.bob, node)
	if err != nil {
		return err
	}
	rows, err := s.services(node)
	if err != nil || len(rows) == 0 {
		return fmt.Errorf("%d services on %s: %w", len(rows), node, err)
	}
	app, err := s.hold(node, rows[0].Device, rows[0].Service, rows[0].Owner)
	if err != nil {
		return err
	}
	if err := j.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-j.done
	busy, err := s.become(vni, "draining and busy", func(r server.VNIRow) bool {
		return r.State == "draining" && strings.Contains(r.Waits, rows[0].Device)
	})
	if err != nil {
		return err
	}
	s.show(vni, busy)
	s.tell("kill -9 ended the job, but %s holds service %d: no other job gets the VNI before that is gone.", rows[0].Device, rows[0].Service)
	if err := app.finish(s.ctx); err != nil && exitOf(err) < 0 {
		return err
	}
	resting, err := s.state(vni, "quarantined")
	if err != nil {
		return err
	}
	s.tell("The application ends. The node finds its NICs clean and says so:")
	s.show(vni, resting)
	free, err := s.state(vni, "free")
	if err != nil {
		return err
	}
	s.show(vni, free)
	return nil
}

func (s *story) show(vni uint16, rows []server.VNIRow) {
	s.shown(fmt.Sprintf("weft vnis %d", vni), func(w io.Writer) { job.PrintVNIs(w, rows) })
}

// hold starts the application of a service's owner.
func (s *story) hold(node, device string, service uint32, owner string) (*launched, error) {
	j, err := s.weft("sim", "app", "--node", node, "--device", device, "--service", fmt.Sprint(service),
		"--uid", strings.TrimPrefix(owner, "uid "), "--until-eof")
	if err != nil {
		return nil, err
	}
	select {
	case <-j.lines:
		return j, nil
	case <-j.done:
		return nil, fmt.Errorf("the application could not hold its service: %s", j.errs)
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (s *story) serverStops() error {
	s.chapter("The server stops in the middle, and starts again")
	a, va, err := s.start(s.alice, s.opts.Nodes[0])
	if err != nil {
		return err
	}
	s.sys.StopServer()
	s.tell("The server is down. The job of %s on %s never notices, and a new one is refused, with a reason:", s.names[0], s.opts.Nodes[0])
	if _, err := s.refused("weft run -- …", append(s.bob, "--on", s.opts.Nodes[1])...); err != nil {
		return err
	}
	if err := s.sys.StartServer(); err != nil {
		return err
	}
	if err := s.until("every node back", func() (bool, string, error) {
		nodes, err := s.nodes()
		away := slices.DeleteFunc(nodes, func(n server.NodeRow) bool { return n.State == "up" })
		return len(away) == 0, fmt.Sprintf("%d away", len(away)), err
	}); err != nil {
		return err
	}
	b, vb, err := s.start(s.bob, s.opts.Nodes[1])
	if err != nil {
		return err
	}
	s.tell("It is up again and knows what it gave: %s still has VNI %d, and %s gets %d.", s.names[0], va, s.names[1], vb)
	rows, err := s.vnis()
	if err != nil {
		return err
	}
	s.shown("weft vnis", func(w io.Writer) { job.PrintVNIs(w, rows) })
	if va == vb {
		return fmt.Errorf("VNI %d was given twice", va)
	}
	_, err = s.state(va, "active")
	return errors.Join(err, a.finish(s.ctx), b.finish(s.ctx))
}

func (s *story) account() error {
	s.chapter("Every VNI is accounted for")
	var rows []server.VNIRow
	for _, v := range s.given {
		if _, err := s.state(v, "free"); err != nil {
			return err
		}
		now, err := cli.List[server.VNIRow](s.ctx, s.o, "vnis", server.JobArgs{VNI: v})
		if err != nil {
			return err
		}
		rows = append(rows, now...)
	}
	s.shown("weft vnis …     # all that the story used", func(w io.Writer) { job.PrintVNIs(w, rows) })
	var st server.Status
	if err := s.o.Ask(s.ctx, "status", nil, &st); err != nil {
		return err
	}
	s.shown("weft status", func(w io.Writer) { daemon.PrintStatus(w, st) })
	for _, p := range st.Pools {
		if p.Used != 0 || p.Free != p.Size {
			return fmt.Errorf("pool %s has %d of %d VNIs in use at the end", p.Pool, p.Used, p.Size)
		}
	}
	for _, node := range s.opts.Nodes {
		left, err := s.services(node)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return fmt.Errorf("%d services are left on %s", len(left), node)
		}
	}
	s.tell("%d VNIs were given, none of them twice, and all are free again. No service is left on any NIC.", len(s.given))
	return nil
}
