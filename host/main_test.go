package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/sdk"
)

// actAs makes the test's own binary something else: it is the only program that a test has for certain.
const actAs = "HOST_TEST_ACT_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(actAs) {
	case "puppet":
		sdk.Serve(&puppet{}, sdk.WithName("puppet"), sdk.WithVersion("1.2.3"))
		return
	case "sim":
		sdk.Serve(sim.New(sim.Options{}), sdk.WithName("sim"))
		return
	case "cxi":
		sdk.Serve(cxi.New(), sdk.WithName("cxi"))
		return
	case "adapter":
		sdk.Serve(&adapter{})
		return
	case "mute":
		fmt.Fprintln(os.Stderr, "libcxi.so.1: cannot open shared object file")
		os.Exit(127)
	case "sleeper":
		<-time.After(time.Hour) // select {} would be a deadlock to a runtime without cgo
	case "daemon":
		daemon()
		return
	}
	goleak.VerifyTestMain(m)
}

// puppet is a NIC driver that does what the device of a spec is called.
type puppet struct{ settings }

type settings struct {
	Devices string   `weft:"devices" doc:"What Devices does: answer, heed or deaf."`
	NICs    int      `weft:"nics" min:"1" max:"16" doc:"How many NICs, 1 to 16."`
	Tags    []string `weft:"tags"`
}

func (p *puppet) Schema() core.Schema { return sdk.SchemaOf(settings{Devices: "answer", NICs: 1}) }

func (p *puppet) Configure(_ context.Context, values core.Values) error {
	next := settings{}
	if err := sdk.Decode(values, &next); err != nil {
		return err
	}
	p.settings = next
	return nil
}

func (p *puppet) Devices(ctx context.Context) ([]core.Device, error) {
	switch p.settings.Devices {
	case "heed":
		<-ctx.Done()
		return nil, ctx.Err()
	case "deaf":
		select {}
	}
	return []core.Device{{Name: "cxi0", Fault: strconv.Itoa(os.Getpid())}}, nil
}

func (p *puppet) Services(context.Context) ([]core.Service, error) { panic("services: ouch") }

func (p *puppet) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	out := make([]core.Created, len(specs))
	for i, s := range specs {
		out[i].Service = core.Service{Device: s.Device, ID: 2, Owner: s.Owner, VNIs: s.VNIs}
	}
	do, arg, _ := strings.Cut(specs[0].Device, "-")
	n, _ := strconv.Atoi(arg)
	say := func(format string, args ...any) {
		out[0] = core.Created{Err: core.Errorf(core.NICFailed, format, args...)}
	}
	switch do {
	case "panic":
		panic("create: ouch")
	case "exit":
		os.Exit(7)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		select {}
	case "heed":
		<-ctx.Done()
	case "slow":
		<-time.After(time.Duration(n) * time.Millisecond)
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		<-time.After(time.Minute)
	case "grow":
		held := make([][]byte, 0, n)
		for range n { // MiB
			held = append(held, bytes.Repeat([]byte{1}, 1<<20))
		}
		<-ctx.Done()
		runtime.KeepAlive(held)
	case "print": // as a C library does
		line := []byte(strings.Repeat("x", n) + "\n")
		for range 4 {
			for _, fd := range []int{1, 2} {
				if _, err := syscall.Write(fd, line); err != nil {
					say("write: %w", err)
				}
			}
		}
	case "hostile":
		fmt.Fprintln(os.Stderr, `{"@message":1,"@level":[],"@timestamp":{}}`)
		fmt.Fprintln(os.Stderr, `{"@message":"hello","@level":"warn","vni":4034}`)
		fmt.Fprintln(os.Stderr, "\xff\xfe{")
	case "speak":
		fmt.Println("printed by a plugin")
		slog.Warn("said by a plugin", "vni", 4034, "took", time.Second, "err", io.ErrUnexpectedEOF)
	case "env":
		text, _ := json.Marshal(os.Environ())
		say("%s", text)
	case "term":
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		<-time.After(50 * time.Millisecond)
	case "child", "runaway", "stranger": // one in the plugin's group; one that has left it; one that has cleared its environment too
		c := exec.Command("/proc/self/exe")
		c.Env, c.Stdout, c.Stderr = []string{actAs + "=sleeper"}, os.Stderr, os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: do != "child"}
		if do == "runaway" {
			c.Env = append(os.Environ(), c.Env...)
		}
		if err := c.Start(); err != nil {
			say("%w", err)
			break
		}
		say("%d", c.Process.Pid)
	}
	return out, nil
}

func (p *puppet) Destroy(_ context.Context, services []core.Service) ([]error, error) {
	return make([]error, len(services)+1), nil // a miscount
}

// adapter is a scheduler's both halves.
type adapter struct{}

func (adapter) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	return core.Intent{Action: core.Prepare, Key: core.Key{JobID: core.JobID{Scheduler: call.Scheduler, Job: "7"}}}, nil
}

func (adapter) Render(context.Context, core.HookCall, core.Outcome) (core.HookReply, error) {
	return core.HookReply{Stdout: []byte("\u202e"), Stderr: []byte("a\u202e\x1bb\n"), Exit: 3}, nil
}

// Phases are of the process that tells them.
func (adapter) Phases(context.Context) ([]core.HookPhase, error) {
	id := strconv.Itoa(os.Getpid())
	return []core.HookPhase{{Name: "prolog", Action: core.Prepare, Root: true, Variables: []string{"JOB_ID", "PID_" + id}, Job: []string{"JOB_ID"}, Limit: 8 * time.Second}}, nil
}

func (adapter) Describe(context.Context, core.Key, []byte, core.Peer) (core.Job, error) {
	return core.Job{}, core.Errorf(core.JobUnknown, "job 7: there is none")
}

func (adapter) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	if err := tell(core.Jobs{Asking: true}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (adapter) Fail(context.Context, core.Key, string) error { return nil }

func (adapter) Drain(context.Context, string, string) error {
	return core.Errorf(core.NotSupported, "drain: this scheduler cannot")
}

// logbook is a log that a test can read.
type logbook struct {
	mu    sync.Mutex
	text  strings.Builder
	wrote chan struct{}
}

func newLogbook() *logbook { return &logbook{wrote: make(chan struct{}, 1)} }

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.wrote <- struct{}{}:
	default:
	}
	return b.text.Write(p)
}

func (b *logbook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// await waits until the log has it.
func (b *logbook) await(t *testing.T, want string) {
	t.Helper()
	late := time.After(20 * time.Second)
	for !strings.Contains(b.String(), want) {
		select {
		case <-b.wrote:
		case <-late:
			t.Fatalf("the log never had %q:\n%s", want, b)
		}
	}
}

// stage is a host for a test.
type stage struct {
	*Host
	t   *testing.T
	log *logbook
}

// quick are limits for tests on a machine with other things to do.
var quick = Limits{
	Start: 20 * time.Second, Backoff: time.Millisecond, BackoffMost: 10 * time.Millisecond, HealthEvery: 100 * time.Millisecond, Health: 5 * time.Second,
	Grace: 100 * time.Millisecond, Kill: 2 * time.Second, Patience: 20 * time.Second,
}

func newStage(t *testing.T, limits Limits) *stage {
	t.Helper()
	dir, err := os.MkdirTemp("", "weft") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, log: newLogbook()}
	log := newTextLog(s.log)
	if s.Host, err = New(Options{Dir: dir, Log: log, Limits: limits}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
		if t.Failed() {
			t.Log(s.log)
		}
	})
	return s
}

// act is a Program that acts as one of TestMain's.
func act(as string) Program {
	p := Self()
	p.Env = []string{actAs + "=" + as}
	return p
}

// values is a block of config.hcl that sets these.
func values(v core.Values) func(core.Schema) (core.Values, error) {
	return func(s core.Schema) (core.Values, error) {
		out := core.Values{}
		for _, f := range s.Fields {
			if f.Default != nil {
				out[f.Name] = f.Default
			}
		}
		for name, value := range v {
			out[name] = value
		}
		return out, nil
	}
}

// puppet starts a puppet, which must succeed.
func (s *stage) puppet(change ...func(*Spec)) *Plugin {
	s.t.Helper()
	spec := Spec{Kind: Driver, Name: "puppet", Program: act("puppet")}
	for _, f := range change {
		f(&spec)
	}
	p, err := s.Start(s.t.Context(), spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// await waits for a status.
func (s *stage) await(p *Plugin, what string, ok func(Status) bool) Status {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	var last Status
	done := fmt.Errorf("done")
	err := s.Watch(ctx, func([]Status) error {
		if last = p.Status(); ok(last) {
			return done
		}
		return nil
	})
	if err != done {
		s.t.Fatalf("never %s: %+v", what, last)
	}
	return last
}

// do lets the puppet do something; what it says is its spec's error.
func do(ctx context.Context, p *Plugin, what string) (string, error) {
	out, err := p.NIC().Create(ctx, []core.ServiceSpec{{Device: what, Owner: core.UID(1000), VNIs: []core.VNI{4034}, Classes: core.BestEffort}})
	if err != nil || out[0].Err == nil {
		return "", err
	}
	return out[0].Err.Error(), nil
}

// pid asks the plugin itself.
func (s *stage) pid(p *Plugin) int {
	s.t.Helper()
	d, err := p.NIC().Devices(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	n, err := strconv.Atoi(d[0].Fault)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func newTextLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
