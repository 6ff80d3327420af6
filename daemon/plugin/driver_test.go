package plugin

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reportReader is a server that only hears which NICs a node says it has.
type reportReader struct {
	mu   sync.Mutex
	nics [][]string
}

func (l *reportReader) Reserve(context.Context, string, core.Intent, core.Peer) (core.Grant, error) {
	return core.Grant{}, core.Errorf(core.BadCall, "no")
}

func (l *reportReader) Attend(ctx context.Context, _ string, first core.Report, next <-chan core.Report, told func(core.Orders)) error {
	told(core.Orders{})
	for r := first; ; {
		if r.Full || r.Changed {
			l.mu.Lock()
			l.nics = append(l.nics, slices.Clone(r.Devices))
			l.mu.Unlock()
		}
		select {
		case r = <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *reportReader) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.nics) == 0 {
		return nil
	}
	return l.nics[len(l.nics)-1]
}

// TestAWrongDriverIsRefusedAtOnce with its line, and one that may start later is waited for.
func TestAWrongDriverIsRefusedAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		block string
		says  []string // none: it is not refused
	}{
		"a value":          {"driver \"sim\" {\n  in_process = true\n  nics = 99\n}", []string{"config.hcl:6:10", "1 to 16 NICs", "nics = 99"}},
		"a name":           {"driver \"sim\" {\n  in_process = true\n  nicks = 4\n}", []string{"config.hcl:6:3", `did you mean "nics"?`, "nicks = 4"}},
		"two names":        {"driver \"sim\" {\n  in_process = true\n  nicks = 4\n  nocks = 4\n}", []string{"config.hcl:6:3", "config.hcl:7:3"}},
		"no program":       {"driver \"x\" {\n  command = [\"/nowhere/plugin\"]\n}", []string{"config.hcl:5:13", "there is no such file", "install the plugin"}},
		"another sum":      {"driver \"x\" {\n  command = [\"/bin/sh\"]\n  sha256 = \"" + strings.Repeat("0a", 32) + "\"\n}", []string{"config.hcl:6:12", "not the file whose sha256", "sha256sum /bin/sh"}},
		"a start that may": {"driver \"x\" {\n  command = [\"/bin/false\"]\n}", nil},
		"nothing":          {"driver \"sim\" {\n  in_process = true\n}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			text := "nodes = \"n1\"\npool \"a\" { vnis = \"20\" }\nscheduler \"local\" \"l\" {}\n" + c.block + "\n"
			conf, findings := config.Parse(hclfile.Source{Name: "config.hcl", Text: []byte(text)})
			if findings != nil {
				t.Fatal(findings)
			}
			dir, err := os.MkdirTemp("", "weft") // t.TempDir can be too long for a socket
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			log := slog.New(slog.DiscardHandler)
			if c.says != nil {
				log = slog.New(slog.NewTextHandler(silence{t}, &slog.HandlerOptions{Level: slog.LevelError}))
			}
			plugins, err := host.New(host.Options{Dir: dir, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			d, err := StartDriver(t.Context(), conf, plugins, new(Blocks))
			defer func() { _ = plugins.Close(context.Background()) }()
			if c.says == nil {
				if err != nil || d == nil {
					t.Errorf("it is refused: %v", err)
				}
				return
			}
			e, ok := errors.AsType[*config.FindingsError](err)
			if !ok {
				t.Fatalf("it is not refused with a line: %v", err)
			}
			var said strings.Builder
			if err := hclfile.Text(&said, e.Findings, false); err != nil {
				t.Fatal(err)
			}
			for _, part := range c.says {
				if !strings.Contains(said.String(), part) {
					t.Errorf("it does not say %q:\n%s", part, said.String())
				}
			}
		})
	}
}

// silence is a log into which a test lets nobody write.
type silence struct{ *testing.T }

func (s silence) Write(line []byte) (int, error) {
	s.Errorf("it is in the log too: %s", line)
	return len(line), nil
}

// TestADriverThatIsStartedAgainHasItsNICsReported in the same moment: the clock of this test stands still while nothing waits for it.
func TestADriverThatIsStartedAgainHasItsNICsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		plugins, err := host.New(host.Options{Dir: t.TempDir(), Log: log})
		if err != nil {
			t.Fatal(err)
		}
		var nics atomic.Int64
		nics.Store(4)
		spec := host.Spec{Kind: host.Driver, Name: "sim", Value: sim.New(sim.Options{}), Block: func(core.Schema) (core.Values, error) {
			return core.Values{"nics": nics.Load(), "boot": "b"}, nil
		}}
		driver, err := plugins.Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		server := &reportReader{}
		a, err := agent.New(t.Context(), agent.Needs{Node: "n1", Boot: "b", Driver: driver.NIC(), Authority: server, Store: &storetest.Ledger{}, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = a.Run(ctx) })
		all.Go(func() { Reread(ctx, plugins, a) })
		synctest.Wait()
		began := time.Now()
		for _, n := range []int{4, 2, 99, 3} {
			want := n
			if n == 99 { // more than it can have: its plugin fails
				want = 0
			}
			if n != 4 {
				nics.Store(int64(n))
				if err := driver.Restart(t.Context()); (err != nil) != (want == 0) {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			if got := server.last(); len(got) != want {
				t.Errorf("the driver is asked for %d NICs, and the server was told of %v", n, got)
			}
		}
		if took := time.Since(began); took >= time.Second {
			t.Errorf("it took %v", took)
		}
		cancel()
		all.Wait()
		if err := plugins.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// stuckDriver does not return from Create until it is let go, and counts readings.
type stuckDriver struct {
	core.NICDriver
	let   chan struct{}
	reads atomic.Int64
}

func (d *stuckDriver) Create(context.Context, []core.ServiceSpec) ([]core.Created, error) {
	<-d.let
	return nil, core.Errorf(core.NICFailed, "it was let go")
}

func (d *stuckDriver) Services(ctx context.Context) ([]core.Service, error) {
	d.reads.Add(1)
	return d.NICDriver.Services(ctx)
}

// TestADriverThatDoesNotAnswerIsRead at once, so that the node soon says that it hangs, and again when it answers.
func TestADriverThatDoesNotAnswerIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		plugins, err := host.New(host.Options{Dir: t.TempDir(), Log: log})
		if err != nil {
			t.Fatal(err)
		}
		d := &stuckDriver{NICDriver: sim.New(sim.Options{NICs: 1, Boot: "b"}), let: make(chan struct{})}
		driver, err := plugins.Start(t.Context(), host.Spec{Kind: host.Driver, Name: "sim", Value: d})
		if err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(t.Context(), agent.Needs{
			Node: "n1", Boot: "b", Driver: driver.NIC(), Authority: &reportReader{}, Store: &storetest.Ledger{}, Log: log,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = a.Run(ctx) })
		all.Go(func() { Reread(ctx, plugins, a) })
		synctest.Wait()
		all.Go(func() {
			short, stop := context.WithTimeout(ctx, time.Second)
			defer stop()
			_, _ = driver.NIC().Create(short, []core.ServiceSpec{{Device: "cxi0"}})
		})
		before := d.reads.Load()
		for driver.Status().State != host.Degraded {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if n := d.reads.Load() - before; n != 1 {
			t.Errorf("read %d times when it did not answer", n)
		}
		close(d.let)
		synctest.Wait()
		if n := d.reads.Load() - before; n != 2 {
			t.Errorf("read %d times when it answered again", n)
		}
		cancel()
		all.Wait()
		if err := plugins.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
