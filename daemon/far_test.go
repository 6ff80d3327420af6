package daemon

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// far is a fleet as the benchmark sees it.
type far struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// fars are fleets that do the same at the same time.
type fars []*far

// fleetMost is how many nodes a process holds at most.
const fleetMost = 16_000

// launch starts fleets, whose nodes have their certificates and no connection.
func (s *station) launch(b *testing.B, kind string, nodes int) (all fars) {
	b.Helper()
	openMany(4 * fleetMost * uint64(1+nodes/fleetMost))
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		b.Fatal(err)
	}
	for from := 0; from < nodes; from += fleetMost {
		n := min(fleetMost, nodes-from)
		cmd := exec.Command(os.Args[0])
		address := net.JoinHostPort(loopbacks()[from/fleetMost], port)
		cmd.Env = append(os.Environ(), "GOGC=400", actAs+"=fleet", fleetAddress+"="+address, fleetTLS+"="+s.tls,
			fleetFrom+"="+strconv.Itoa(from), fleetNodes+"="+strconv.Itoa(n), fleetKind+"="+kind)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		f := &far{cmd, in, bufio.NewReader(out)}
		b.Cleanup(f.end)
		all = append(all, f)
	}
	for _, f := range all {
		if line, err := f.out.ReadString('\n'); err != nil || line != "there\n" {
			b.Fatalf("the nodes' process: %q %v", line, err)
		}
	}
	return all
}

// connect begins all sessions at once, and waits until the server has them.
func (s *station) connect(b *testing.B, all fars, nodes int) (took time.Duration) {
	b.Helper()
	began := time.Now()
	for _, f := range all {
		f.say(b, "connect")
	}
	for _, f := range all {
		var nodes int
		f.hear(b, "connect", &nodes)
	}
	s.attached(b, nodes)
	return time.Since(began)
}

// spent is the processor time of the nodes.
func (all fars) spent(b *testing.B) time.Duration {
	b.Helper()
	var pids []string
	for _, f := range all {
		pids = append(pids, strconv.Itoa(f.cmd.Process.Pid))
	}
	return ran(b, pids)
}

// storms are the times of a storm, from its start, and the nodes' processor time.
type storms struct {
	began                     time.Time
	first, last, ready, spent time.Duration
}

// storm has every node ask for the job at once. It calls meanwhile.
func (all fars) storm(b *testing.B, job int, meanwhile func()) storms {
	b.Helper()
	asked := all.ask(b, job)
	meanwhile()
	return all.stormed(b, asked)
}

// ask begins a storm.
func (all fars) ask(b *testing.B, job int) (asked string) {
	b.Helper()
	asked = fmt.Sprintf("storm %d", job)
	for _, f := range all {
		f.say(b, asked)
	}
	return asked
}

// stormed waits for the end of a storm. The first fleet may tell more.
func (all fars) stormed(b *testing.B, asked string, more ...any) storms {
	b.Helper()
	var began, first, last, ready, spent int64
	for i, f := range all {
		var t0, t1, t2, t3, c int64
		f.hear(b, asked, append([]any{&t0, &t1, &t2, &t3, &c}, more...)...)
		if more = nil; i == 0 {
			began, first = t0, t1
		}
		began, first, last, ready = min(began, t0), min(first, t1), max(last, t2), max(ready, t3)
		spent += c
	}
	after := func(t int64) time.Duration { return time.Duration(t - began) }
	return storms{time.Unix(0, began), after(first), after(last), after(ready), time.Duration(spent)}
}

// tell has the fleet do something, and scans its answer.
func (f *far) tell(b *testing.B, what string, into ...any) {
	b.Helper()
	f.say(b, what)
	f.hear(b, what, into...)
}

func (f *far) say(b *testing.B, what string) {
	b.Helper()
	if _, err := fmt.Fprintln(f.in, what); err != nil {
		b.Fatal(err)
	}
}

func (f *far) hear(b *testing.B, what string, into ...any) {
	b.Helper()
	line, err := f.out.ReadString('\n')
	if err != nil {
		b.Fatalf("%s: %v", what, err)
	}
	if _, err := fmt.Sscan(line, into...); err != nil {
		b.Fatalf("%s: %s", what, line)
	}
}

func (all fars) end() {
	for _, f := range all {
		f.end()
	}
}

func (f *far) end() {
	_ = f.in.Close()
	_ = f.cmd.Process.Kill()
	_ = f.cmd.Wait()
}
