package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/server"
)

// story is the demo's state.
type story struct {
	ctx        context.Context
	out        io.Writer
	colour     bool
	dir        string
	sys        *dev.System
	opts       dev.Options
	o          *cli.Options
	number     int
	quarantine time.Duration // of the pool
	alice      []string      // flags of the two users
	bob        []string
	names      [2]string
	jobs       []*launched
	given      []uint16 // every VNI that a job of the story got
}

// says is what each job of the story runs on each of its nodes: it prints what Weft gave it, and works until it is told to end.
const says = `env | grep -E '^(SLINGSHOT_|FI_CXI)' | sort | sed "s/^/$WEFT_NODE  /"; echo READY; read end || true`

// start begins a job, waits until its command has said READY on each of its nodes, and gives its VNI.
func (s *story) start(flags []string, on ...string) (*launched, uint16, error) {
	j, err := s.launch(append(flags, "--on", strings.Join(on, ",")), "sh", "-c", says)
	if err != nil {
		return nil, 0, err
	}
	for range on {
		if err := j.ready(s.ctx); err != nil {
			return nil, 0, err
		}
	}
	vni, err := s.only()
	return j, vni, err
}

// only is the one VNI of the newest job.
func (s *story) only() (uint16, error) {
	rows, err := s.vnis()
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		if !slices.Contains(s.given, uint16(r.VNI)) {
			s.given = append(s.given, uint16(r.VNI))
			return uint16(r.VNI), nil
		}
	}
	return 0, errors.New("the job got no VNI that no job had before")
}

// launch begins a job.
func (s *story) launch(flags []string, command ...string) (*launched, error) {
	args := append([]string{"run", "--scheduler", s.opts.Local}, flags...)
	return s.weft(append(append(args, "--"), command...)...)
}

// refused runs a job that must not start, and shows what it said.
func (s *story) refused(command string, flags ...string) (*launched, error) {
	j, err := s.launch(flags, "echo", "this must not run")
	if err != nil {
		return nil, err
	}
	<-j.done
	s.shown(command, func(w io.Writer) { fmt.Fprint(w, j.errs) })
	if exitOf(j.err) != cli.ExitRun || j.out.Len() > 0 {
		return nil, fmt.Errorf("the job ended with %w and said %q", j.err, j.out)
	}
	return j, nil
}

// vnis asks who holds what.
func (s *story) vnis() ([]server.VNIRow, error) {
	return cli.List[server.VNIRow](s.ctx, s.o, "vnis", nil)
}

func (s *story) nodes() ([]server.NodeRow, error) {
	return cli.List[server.NodeRow](s.ctx, s.o, "nodes", nil)
}

// services are the jobs' services on a node's NICs.
func (s *story) services(node string) ([]agent.ServiceRow, error) {
	rows, err := cli.ListNode[agent.ServiceRow](s.ctx, s.o, node, "services", nil)
	kept := rows[:0]
	for _, r := range rows {
		if r.Kind == "job" || r.Kind == "unknown" {
			kept = append(kept, r)
		}
	}
	return kept, err
}

// until asks again until what is hoped for is so; it says what was last seen when it never is.
func (s *story) until(what string, so func() (bool, string, error)) error {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(10*time.Second + s.quarantine)
	defer limit.Stop()
	seen := ""
	for {
		ok, now, err := so()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		seen = now
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("%s: not within %s; last seen: %s", what, 10*time.Second+s.quarantine, seen)
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// state waits until the VNI is in a state, and gives it as it was then.
func (s *story) state(vni uint16, want string) ([]server.VNIRow, error) {
	return s.become(vni, want, func(r server.VNIRow) bool { return r.State == want })
}

// rests waits until the VNI is in its quarantine. On a slow machine that may be over before anybody looks, but not before it has lasted, and the
// job has not ended before since.
func (s *story) rests(since time.Time, vnis ...uint16) error {
	for _, vni := range vnis {
		if _, err := s.become(vni, "quarantined", func(r server.VNIRow) bool {
			return r.State == "quarantined" || r.State == "free" && time.Since(since) >= s.quarantine
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) become(vni uint16, want string, is func(server.VNIRow) bool) (seen []server.VNIRow, err error) {
	err = s.until(fmt.Sprintf("VNI %d %s", vni, want), func() (bool, string, error) {
		rows, err := cli.List[server.VNIRow](s.ctx, s.o, "vnis", server.JobArgs{VNI: vni})
		if err != nil {
			return false, "", err
		}
		seen = rows
		return len(rows) == 1 && is(rows[0]), fmt.Sprintf("%+v", rows), nil
	})
	return seen, err
}
