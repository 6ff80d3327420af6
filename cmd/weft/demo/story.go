package demo

import (
	"context"
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

// deviation is the error with which the story ends early: play recovers it.
type deviation struct{ error }

func deviate(format string, args ...any) { panic(deviation{fmt.Errorf(format, args...)}) }

func check(err error) {
	if err != nil {
		panic(deviation{err})
	}
}

func (s *story) play() (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case deviation:
			err = r.error
		default:
			panic(r)
		}
	}()
	for _, chapter := range []func(){s.begin, s.twoUsers, s.denied, s.nicFails, s.busy, s.serverStops, s.account} {
		chapter()
	}
	return nil
}

// says is what each job of the story runs on each of its nodes: it prints what Weft gave it, and works until it is told to end.
const says = `env | grep -E '^(SLINGSHOT_|FI_CXI)' | sort | sed "s/^/$WEFT_NODE  /"; echo READY; read end || true`

// start begins a job, waits until its command has said READY on each of its nodes, and gives its VNI.
func (s *story) start(flags []string, on ...string) (*launched, uint16) {
	j := s.launch(append(flags, "--on", strings.Join(on, ",")), "sh", "-c", says)
	s.wait("the job is ready", j, func() bool { return strings.Count(j.out.String(), "READY\n") == len(on) })
	return j, s.only()
}

// printed is what a job's command said, without its READY.
func (j *launched) printed() string { return strings.ReplaceAll(j.out.String(), "READY\n", "") }

// wait waits until a program that must not end before is as far as is hoped for.
func (s *story) wait(what string, j *launched, so func() bool) {
	for !so() {
		select {
		case <-j.done:
			deviate("%s: it ended before, with %s: %s", what, j.cmd.ProcessState, &j.errs)
		case <-s.ctx.Done():
			deviate("%s: not in time: %w: %s", what, s.ctx.Err(), &j.errs)
		case <-time.After(tick):
		}
	}
}

// only is the one VNI of the newest job.
func (s *story) only() uint16 {
	for _, r := range s.vnis(nil) {
		if !slices.Contains(s.given, uint16(r.VNI)) {
			s.given = append(s.given, uint16(r.VNI))
			return uint16(r.VNI)
		}
	}
	deviate("the job got no VNI that no job had before")
	return 0
}

func (s *story) launch(flags []string, command ...string) *launched {
	args := append([]string{"run", "--scheduler", s.opts.Local}, flags...)
	return s.weft(append(append(args, "--"), command...)...)
}

// refused runs a job that must not start, and shows what it said.
func (s *story) refused(command string, flags ...string) *launched {
	j := s.launch(flags, "echo", "this must not run")
	<-j.done
	s.shown(command, func(w io.Writer) { fmt.Fprint(w, &j.errs) })
	if j.cmd.ProcessState.ExitCode() != cli.ExitRun || j.out.String() != "" {
		deviate("the job ended with %s and said %q", j.cmd.ProcessState, &j.out)
	}
	return j
}

// ask gathers a list of a node's agent; of the server where node is empty.
func ask[T any](s *story, node, verb string, in any) []T {
	rows, err := cli.ListNode[T](s.ctx, s.o, node, verb, in)
	check(err)
	return rows
}

func (s *story) vnis(in any) []server.VNIRow { return ask[server.VNIRow](s, "", "vnis", in) }

func (s *story) nodes() (all []server.NodeRow, drained []string) {
	all = ask[server.NodeRow](s, "", "nodes", nil)
	for _, n := range all {
		if n.Drained != "" {
			drained = append(drained, n.Node)
		}
	}
	return all, drained
}

func (s *story) services(node string) []agent.ServiceRow {
	return slices.DeleteFunc(ask[agent.ServiceRow](s, node, "services", nil), func(r agent.ServiceRow) bool { return r.Kind != "job" && r.Kind != "unknown" })
}

func (s *story) left() int {
	n := 0
	for _, node := range s.opts.Nodes {
		n += len(s.services(node))
	}
	return n
}

const tick = 25 * time.Millisecond

// until asks again until what is hoped for is so; it says what was last seen when it never is.
func (s *story) until(what string, so func() (bool, string)) {
	limit := 10*time.Second + s.quarantine
	for end := time.After(limit); ; {
		ok, seen := so()
		if ok {
			return
		}
		select {
		case <-time.After(tick):
		case <-end:
			deviate("%s: not within %s; last seen: %s", what, limit, seen)
		case <-s.ctx.Done():
			check(s.ctx.Err())
		}
	}
}

// state waits until the VNI is in a state, and gives it as it was then.
func (s *story) state(vni uint16, want string) []server.VNIRow {
	return s.become(vni, want, func(r server.VNIRow) bool { return r.State == want })
}

// rests waits until the VNI is in its quarantine. On a slow machine that may be over before anybody looks, but not before it has lasted, and the
// job has not ended before since.
func (s *story) rests(since time.Time, vnis ...uint16) {
	for _, vni := range vnis {
		s.become(vni, "quarantined", func(r server.VNIRow) bool {
			return r.State == "quarantined" || r.State == "free" && time.Since(since) >= s.quarantine
		})
	}
}

func (s *story) become(vni uint16, want string, is func(server.VNIRow) bool) (seen []server.VNIRow) {
	s.until(fmt.Sprintf("VNI %d %s", vni, want), func() (bool, string) {
		seen = s.vnis(server.JobArgs{VNI: vni})
		return len(seen) == 1 && is(seen[0]), fmt.Sprintf("%+v", seen)
	})
	return seen
}
