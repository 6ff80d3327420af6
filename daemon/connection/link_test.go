package connection

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/rpc"
)

// absent is a server that is away for a while.
type absent struct {
	core.Authority
	until time.Time
	why   core.Reason
	asked int
}

func (a *absent) Reserve(context.Context, string, core.Intent, core.Peer) (core.Grant, error) {
	if a.asked++; time.Now().Before(a.until) {
		return core.Grant{}, core.Errorf(a.why, "no")
	}
	return core.Grant{VNIs: []core.VNI{7}}, nil
}

// A hook waits for a server that is away as long as it can, and is told why at its end.
func TestAHookWaitsForTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		why  core.Reason
		away time.Duration
		want core.Reason
		most int // questions

		servers []string
	}{
		"it restarts":                {core.ServerAway, 3 * time.Second, "", 10, nil},
		"it has not heard of a node": {core.NodeAway, time.Second, "", 6, nil},
		"nodes report to it":         {core.Recovering, 3 * time.Second, "", 10, nil},
		"a node does not":            {core.Recovering, time.Hour, core.Recovering, 10, nil},
		"it stays away":              {core.ServerAway, time.Hour, core.ServerAway, 13, nil},
		"it refuses":                 {core.PoolEmpty, time.Second, core.PoolEmpty, 1, nil},
		"it cannot write":            {core.StoreFailed, time.Second, core.StoreFailed, 1, nil},
		"another can":                {core.StoreFailed, time.Second, "", 6, []string{"a:1", "b:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				defer cancel()
				a := &absent{until: time.Now().Add(c.away), why: c.why}
				began := time.Now()
				g, err := (&Link{to: a, addresses: c.servers}).Reserve(ctx, "n1", core.Intent{}, core.Peer{})
				if c.want != "" && (err == nil || core.AsError(err).Reason != c.want) || c.want == "" && (err != nil || len(g.VNIs) != 1) {
					t.Errorf("%+v, %v", g, err)
				}
				if a.asked > c.most || c.want == "" && time.Since(began) > 3*c.away || time.Since(began) >= 8*time.Second {
					t.Errorf("asked %d times in %v", a.asked, time.Since(began))
				}
			})
		})
	}
}

// patient is a link whose connection pauses for an hour after it failed.
func patient(t *testing.T, dialer func(context.Context, string) (net.Conn, error)) *Link {
	t.Helper()
	l := &Link{dial: func(address string) (*grpc.ClientConn, error) {
		return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(dialer),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Hour, MaxDelay: time.Hour}}))
	}}
	if err := l.Move([]string{"server:1"}); err != nil {
		t.Fatal(err)
	}
	return l
}

// A hook ends the connection's pause, which an outage has made long, and does so once a second at most, however many wait.
func TestAHookWakesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var tried []time.Time
		dialer := func(context.Context, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			tried = append(tried, time.Now())
			return nil, errors.New("connection refused")
		}
		l := patient(t, dialer)
		defer l.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var hooks sync.WaitGroup
		for range 10 {
			hooks.Go(func() {
				if _, err := l.Reserve(ctx, "n1", core.Intent{}, core.Peer{}); core.AsError(err).Reason != core.ServerAway {
					t.Error(err)
				}
			})
		}
		hooks.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(tried) < 25 || len(tried) > 61 {
			t.Errorf("in a minute it was tried %d times", len(tried))
		}
		for i := 2; i < len(tried); i++ { // the first attempt is nobody's hurry
			if d := tried[i].Sub(tried[i-1]); d < 750*time.Millisecond || d > 3*time.Second {
				t.Errorf("attempt %d came %v after the one before", i, d)
			}
		}
	})
}

// A session ends the connection's pause as it begins, and waits no longer than a moment for the connection.
func TestASessionWakesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		dialer := func(context.Context, string) (net.Conn, error) {
			dials++
			return nil, errors.New("connection refused")
		}
		l := patient(t, dialer)
		defer l.Close()
		for i := 1; i <= 5; i++ {
			began := time.Now()
			err := l.Attend(t.Context(), "n1", core.Report{}, nil, nil)
			if core.AsError(err).Reason != core.ServerAway || time.Since(began) > awayConn {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			if synctest.Wait(); dials != i {
				t.Errorf("%d sessions dialled %d times", i, dials)
			}
			time.Sleep(time.Second)
		}
	})
}

// standby answers that another server leads.
type standby struct{ core.Authority }

func (standby) Attend(context.Context, string, core.Report, <-chan core.Report, func(core.Orders)) error {
	return core.Errorf(core.ServerAway, "server: it does not lead")
}

// While no server leads, a node that asks each of them again and again makes one connection to each.
func TestANodeKeepsConnectionsWhileNoneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var serving sync.WaitGroup
		defer serving.Wait()
		ports, dials := map[string]*bufconn.Listener{}, map[string]int{}
		addresses := []string{"a:1", "b:1", "c:1"}
		for _, a := range addresses {
			ln := bufconn.Listen(1 << 16)
			ports[a] = ln
			g := grpc.NewServer()
			rpc.ServeAuthority(g, standby{}, func(context.Context) (string, error) { return "n1", nil })
			serving.Go(func() { _ = g.Serve(ln) })
			defer g.Stop()
		}
		l := &Link{dial: func(address string) (*grpc.ClientConn, error) {
			return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
					mu.Lock()
					dials[address]++
					mu.Unlock()
					return ports[address].DialContext(ctx)
				}))
		}}
		if err := l.Move(addresses); err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for range 12 {
			err := l.Attend(t.Context(), "n1", core.Report{Number: 1, Boot: "b", Agent: "a", Full: true}, nil, nil)
			if core.ReasonOf(err) != core.ServerAway {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(map[string]int{"a:1": 1, "b:1": 1, "c:1": 1}, dials); d != "" {
			t.Error(d)
		}
	})
}
