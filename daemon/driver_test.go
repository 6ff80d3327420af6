package daemon

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/store/ledger"
)

// listener is a server that only hears which NICs a node says it has.
type listener struct {
	mu   sync.Mutex
	nics [][]string
}

func (l *listener) Reserve(context.Context, string, core.Ask, core.Peer) (core.Grant, error) {
	return core.Grant{}, core.Errorf(core.BadCall, "no")
}

func (l *listener) Attend(ctx context.Context, _ string, first core.Report, next <-chan core.Report, told func(core.Orders)) error {
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

func (l *listener) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.nics) == 0 {
		return nil
	}
	return l.nics[len(l.nics)-1]
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
		server := &listener{}
		a, err := agent.New(t.Context(), agent.Needs{Node: "n1", Boot: "b", Driver: driver.NIC(), Authority: server, Store: &ledger.Memory{}, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = a.Run(ctx) })
		all.Go(func() { reread(ctx, plugins, a) })
		synctest.Wait()
		began := time.Now()
		for _, n := range []int{4, 2, 3} {
			if n != 4 {
				nics.Store(int64(n))
				if err := driver.Restart(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			if got := server.last(); len(got) != n {
				t.Errorf("the driver has %d NICs, and the server was told of %v", n, got)
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
