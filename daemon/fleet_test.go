package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/connection"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/store/storetest"
)

// fleet is nodes of a benchmark in a process of their own, each with a connection and a session of its own. It does what
// lines on its standard input say, and answers each with a line.
type fleet struct {
	from   int // the first node's number
	certs  []*identity.Source
	agents []*agent.Agent // none: the nodes are callers that do nothing but ask
	to     []*timed
}

// The environment of a fleet's process.
const (
	fleetAddress = "WEFT_FLEET_ADDRESS"
	fleetTLS     = "WEFT_FLEET_TLS"
	fleetFrom    = "WEFT_FLEET_FROM"
	fleetNodes   = "WEFT_FLEET_NODES"
	fleetKind    = "WEFT_FLEET_KIND" // agents or callers
)

// timed is a node's way to the server, which notes when its newest Reserve was answered.
type timed struct {
	core.Authority
	answered time.Time
}

func (t *timed) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	g, err := t.Authority.Reserve(ctx, node, ask, peer)
	t.answered = time.Now()
	return g, err
}

// actAs makes the test's own binary the fleet.
const actAs = "DAEMON_TEST_ACT_AS"

func TestMain(m *testing.M) {
	if os.Getenv(actAs) == "fleet" {
		runFleet()
		return
	}
	goleak.VerifyTestMain(m)
}

// openMany lets this process and its children have so many open files, where it may.
func openMany(files uint64) {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) == nil && r.Cur < files {
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: max(files, r.Max)})
	}
}

// runFleet is the process.
func runFleet() {
	from, _ := strconv.Atoi(os.Getenv(fleetFrom))
	n, _ := strconv.Atoi(os.Getenv(fleetNodes))
	f := &fleet{from: from, to: make([]*timed, n), certs: make([]*identity.Source, n)}
	if err := f.issue(); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("there")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var verb string
		var a, b, c int
		_, _ = fmt.Sscan(lines.Text(), &verb, &a, &b, &c)
		var answer string
		var err error
		switch verb {
		case "connect":
			answer, err = f.connect(os.Getenv(fleetKind) == "agents")
		case "storm":
			answer, err = f.storm(a)
		case "reserve":
			answer, err = f.reserve(a, b, c)
		case "whole":
			answer, err = f.whole(a, b, c)
		}
		if err != nil {
			answer = "failed: " + err.Error()
		}
		fmt.Println(answer)
	}
}

// issue makes every node's certificate.
func (f *fleet) issue() error {
	return inTurns(len(f.certs), func(i int) (err error) {
		f.certs[i], err = issue(os.Getenv(fleetTLS), nodeName(f.from+i))
		return err
	})
}

// inTurns does something for each of n nodes, a few at a time.
func inTurns(n int, do func(int) error) error {
	var group sync.WaitGroup
	slots, errs := make(chan struct{}, 64), make(chan error, n)
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := do(i); err != nil {
				errs <- err
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// connect begins every node's session, all at once. It answers when the server has answered each caller's first report;
// agents make theirs by themselves.
func (f *fleet) connect(agents bool) (string, error) {
	ctx := context.Background()
	var there sync.WaitGroup
	for i := range f.to {
		way, err := connection.NewLink([]string{os.Getenv(fleetAddress)}, f.certs[i])
		if err != nil {
			return "", err
		}
		f.to[i] = &timed{Authority: way}
		name := nodeName(f.from + i)
		if !agents {
			there.Add(1)
			go attend(ctx, f.to[i], name, sync.OnceFunc(there.Done))
			continue
		}
		a, err := agent.New(ctx, agent.Needs{
			Node: name, Boot: name, Driver: sim.New(sim.Options{Boot: name}), Authority: f.to[i], Store: &storetest.Ledger{},
			Log: slog.New(slog.DiscardHandler), Limits: agent.Limits{Driver: 5 * time.Minute, Read: 5 * time.Minute},
		})
		if err != nil {
			return "", err
		}
		f.agents = append(f.agents, a)
		go func() { _ = a.Run(ctx) }()
	}
	there.Wait()
	return strconv.Itoa(len(f.to)), nil
}

// storm has every node ask for one job at once. It answers, in ns of the clock: when it began, when the server had
// answered the first and the last, when the last node was ready; and this process's processor time in ns.
func (f *fleet) storm(job int) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	errs := make([]error, len(f.to))
	var group sync.WaitGroup
	gate := make(chan struct{})
	for i := range f.to {
		group.Go(func() {
			<-gate
			for again := true; again; { // a starved machine takes a connection for dead, or a driver for hung
				errs[i] = f.prepare(ctx, i, job)
				r := core.ReasonOf(errs[i])
				again = (r == core.ServerAway || r == core.DriverAway) && poll.Pause(ctx, 100*time.Millisecond)
			}
		})
	}
	spent, began := cpu(), time.Now()
	close(gate)
	group.Wait()
	ready := time.Now()
	first, last := ready, began
	for i, t := range f.to {
		if errs[i] != nil {
			return "", fmt.Errorf("node %d: %w", i, errs[i])
		}
		if t.answered.Before(first) {
			first = t.answered
		}
		if t.answered.After(last) {
			last = t.answered
		}
	}
	return fmt.Sprint(began.UnixNano(), first.UnixNano(), last.UnixNano(), ready.UnixNano(), int64(cpu()-spent)), nil
}

// whole is a storm for job 0, and reserve meanwhile. It answers what both do.
func (f *fleet) whole(from, to, callers int) (string, error) {
	var small string
	var failed error
	var group sync.WaitGroup
	group.Go(func() { small, failed = f.reserve(from, to, callers) })
	all, err := f.storm(0)
	group.Wait()
	return all + " " + small, errors.Join(err, failed)
}

// prepare asks for a job on a node.
func (f *fleet) prepare(ctx context.Context, i, job int) error {
	if f.agents == nil {
		_, err := f.to[i].Reserve(ctx, "", askFor(job, core.Prepare, nodeName(f.from+i)), core.Peer{})
		return err
	}
	if out := f.agents[i].Do(ctx, askFor(job, core.Prepare, ""), core.Peer{}); out.Err != nil {
		return out.Err
	}
	return nil
}

// reserve makes reservations for jobs from to to-1 by so many callers, on the nodes in turn. It answers how long that took.
func (f *fleet) reserve(from, to, callers int) (string, error) {
	var group sync.WaitGroup
	errs := make(chan error, callers)
	spent, began := cpu(), time.Now()
	for c := range callers {
		group.Go(func() {
			for j := from + c; j < to; j += callers {
				i := j % len(f.to)
				g, err := f.to[i].Reserve(context.Background(), "", askFor(j, core.Prepare, nodeName(f.from+i)), core.Peer{})
				if err != nil || len(g.VNIs) != 1 {
					errs <- fmt.Errorf("job %d: %v %w", j, g.VNIs, err)
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return "", err
	default:
		return fmt.Sprintf("%d %d", time.Since(began), cpu()-spent), nil
	}
}
