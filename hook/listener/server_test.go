package listener

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// pipes is a listener of net.Pipe, which synctest can follow; each connection says which uid it is.
type pipes struct {
	ch     chan net.Conn
	closed chan struct{}
	once   sync.Once
}

type pipeEnd struct {
	net.Conn
	peer core.Peer
}

func newPipes() *pipes { return &pipes{ch: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.ch:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(uid uint32) net.Conn {
	a, b := net.Pipe()
	p.ch <- pipeEnd{b, core.Peer{UID: uid, PID: 1}}
	return a
}

func pipePeer(c net.Conn) (core.Peer, error) {
	p := c.(pipeEnd).peer
	if p.UID == core.NoUID {
		return p, errors.New("nobody")
	}
	return p, nil
}

// bubble runs f beside a listener on pipes, in fake time.
func bubble(t *testing.T, bounds Bounds, handler Handler, f func(t *testing.T, p *pipes, stop func() error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		server := &Server{Bounds: bounds, peer: pipePeer}
		go func() { done <- server.Serve(ctx, p, handler) }()
		stop := sync.OnceValue(func() error { cancel(); return <-done })
		f(t, p, stop)
		if err := stop(); err != nil && !strings.Contains(err.Error(), "told to") {
			t.Errorf("Serve: %v", err)
		}
	})
}

// ask sends verb and reads the reply.
func ask(t *testing.T, c net.Conn, verb string) hook.Reply {
	t.Helper()
	out, err := hook.Frame(hook.Request{Version: hook.Version, Verb: verb}, hook.MaxRequest)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write(out)
	return hear(t, c)
}

func hear(t *testing.T, c net.Conn) hook.Reply {
	t.Helper()
	body, err := hook.ReadFrame(c, hook.MaxReply)
	if err != nil {
		t.Fatalf("no reply: %v", err)
	}
	var r hook.Reply
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func pong(context.Context, core.Peer, hook.Request) (any, error) { return "pong", nil }

// TestHostileClients: whatever one does, it is told or dropped within its time, and the next is served.
func TestHostileClients(t *testing.T) {
	const read, write = 2 * time.Second, time.Second
	length := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	for name, test := range map[string]struct {
		send   []byte
		slowly bool
		want   core.Reason // "": dropped without a word
		within time.Duration
	}{
		"silent":          {nil, false, core.TimedOut, read},
		"half a length":   {[]byte{0, 0}, false, core.TimedOut, read},
		"half a frame":    {append(length(100), "{\"version\":1"...), false, core.TimedOut, read},
		"byte by byte":    {append(length(100), strings.Repeat(" ", 100)...), true, core.TimedOut, read},
		"4 GiB":           {length(1<<32 - 1), false, core.BadCall, 0},
		"one byte more":   {length(64<<10 + 1), false, core.BadCall, 0},
		"empty":           {length(0), false, core.BadCall, 0},
		"garbage":         {append(length(4), "}{}{"...), false, core.BadCall, 0},
		"trailing data":   {append(length(27), `{"version":1,"verb":"p"} {}`...), false, core.BadCall, 0},
		"deep":            {append(length(40000), strings.Repeat("[", 40000)...), false, core.BadCall, 0},
		"no version":      {append(length(12), `{"verb":"p"}`...), false, core.BadVersion, 0},
		"another version": {append(length(24), `{"version":2,"verb":"p"}`...), false, core.BadVersion, 0},
		"no verb":         {append(length(13), `{"version":1}`...), false, core.BadCall, 0},
		"verb of a path":  {append(length(29), `{"version":1,"verb":"../etc"}`...), false, core.BadCall, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bounds := Bounds{Request: 64 << 10, Read: read, Write: write}
			bubble(t, bounds, pong, func(t *testing.T, p *pipes, _ func() error) {
				c := p.dial(1000)
				defer c.Close()
				began := time.Now()
				var sender sync.WaitGroup
				sender.Go(func() {
					if !test.slowly {
						_, _ = c.Write(test.send)
						return
					}
					for _, b := range test.send {
						if _, err := c.Write([]byte{b}); err != nil {
							return
						}
						time.Sleep(100 * time.Millisecond)
					}
				})
				got := hear(t, c)
				if got.Error == nil || got.Error.Reason != string(test.want) || got.Version != hook.Version {
					t.Errorf("got %+v, want %s", got.Error, test.want)
				}
				if took := time.Since(began); took > test.within {
					t.Errorf("it took %s, want at most %s", took, test.within)
				}
				if again := test.want == core.TimedOut; got.Again != again {
					t.Errorf("it may come again: %v, want %v", got.Again, again)
				}
				next := p.dial(1000)
				defer next.Close()
				if r := ask(t, next, "ping"); string(r.Body) != `"pong"` {
					t.Errorf("the next got %+v", r)
				}
				c.Close()
				sender.Wait()
			})
		})
	}
}

func TestOneUserCannotFillTheDoor(t *testing.T) {
	bounds := Bounds{Connections: 16, PerUser: 3, Read: time.Minute}
	bubble(t, bounds, pong, func(t *testing.T, p *pipes, _ func() error) {
		var held []net.Conn
		hold := func(uid uint32) {
			held = append(held, p.dial(uid))
			synctest.Wait()
		}
		refused := func(uid uint32) {
			t.Helper()
			began := time.Now()
			c := p.dial(uid)
			defer c.Close()
			if r := hear(t, c); r.Error == nil || r.Error.Reason != string(core.Overloaded) || !r.Again {
				t.Errorf("uid %d got %+v", uid, r)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("uid %d waited %s", uid, took)
			}
		}
		served := func(uid uint32) {
			t.Helper()
			c := p.dial(uid)
			defer c.Close()
			if r := ask(t, c, "ping"); string(r.Body) != `"pong"` {
				t.Errorf("uid %d got %+v", uid, r)
			}
			synctest.Wait()
		}
		for range 3 {
			hold(1000)
		}
		refused(1000)
		served(1001)
		served(0)
		for uid := uint32(2000); len(held) < 14; uid++ {
			hold(uid)
		}
		refused(1001) // what is left is root's
		hold(0)
		served(0)
		held[0].Close()
		held[3].Close()
		synctest.Wait()
		served(1000)
		for _, c := range held {
			c.Close()
		}
	})
}

func TestRootHasNoBoundOfItsOwn(t *testing.T) {
	bubble(t, Bounds{Connections: 64, PerUser: 2, Read: time.Minute}, pong, func(t *testing.T, p *pipes, _ func() error) {
		for range 20 {
			defer p.dial(0).Close()
		}
		c := p.dial(0)
		defer c.Close()
		if r := ask(t, c, "ping"); string(r.Body) != `"pong"` {
			t.Errorf("got %+v", r)
		}
	})
}

func TestNobodyKnownIsNobodyServed(t *testing.T) {
	bubble(t, Bounds{}, pong, func(t *testing.T, p *pipes, _ func() error) {
		c := p.dial(core.NoUID)
		defer c.Close()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
	})
}

func TestHandlerThatPanicsCostsItsCallOnly(t *testing.T) {
	bubble(t, Bounds{}, func(_ context.Context, _ core.Peer, req hook.Request) (any, error) {
		if req.Verb == "panic" {
			panic("a secret that no caller should see")
		}
		return "pong", nil
	}, func(t *testing.T, p *pipes, _ func() error) {
		for _, verb := range []string{"panic", "ping"} {
			c := p.dial(7)
			r := ask(t, c, verb)
			c.Close()
			if failed := r.Error != nil && r.Error.Reason == string(core.InternalFault) && !strings.Contains(r.Error.What, "secret"); failed != (verb == "panic") {
				t.Errorf("%s got %+v", verb, r)
			}
		}
	})
}

func TestCallersLimitAndFrontsLimit(t *testing.T) {
	for name, test := range map[string]struct {
		until  time.Duration
		obeys  bool
		within time.Duration
	}{
		"front's, obeyed":     {0, true, 5 * time.Second},
		"front's, disobeyed":  {0, false, 5*time.Second + grace},
		"caller's, obeyed":    {time.Second, true, time.Second},
		"a longer one":        {time.Hour, true, 5 * time.Second},
		"over before it came": {-time.Second, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			handler := func(ctx context.Context, _ core.Peer, _ hook.Request) (any, error) {
				if test.until < 0 {
					t.Error("a call began after its time")
				}
				if test.obeys {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				time.Sleep(time.Hour)
				return nil, nil
			}
			defer close(release)
			bubble(t, Bounds{Answer: 5 * time.Second, Stop: 2 * time.Hour}, handler, func(t *testing.T, p *pipes, _ func() error) {
				c := p.dial(7)
				defer c.Close()
				req := hook.Request{Version: hook.Version, Verb: "wait"}
				if test.until != 0 {
					req.Until = hook.Boottime() + int64(test.until)
				}
				out, err := hook.Frame(req, hook.MaxRequest)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if _, err := c.Write(out); err != nil {
					t.Fatal(err)
				}
				r := hear(t, c)
				if r.Error == nil || r.Error.Reason != string(core.TimedOut) {
					t.Errorf("got %+v", r)
				}
				if took := time.Since(began); took > test.within {
					t.Errorf("it took %s, want at most %s", took, test.within)
				}
			})
		})
	}
}

// A caller that does not read its reply is dropped.
func TestCallerThatDoesNotRead(t *testing.T) {
	const write = time.Second
	bubble(t, Bounds{Write: write}, pong, func(t *testing.T, p *pipes, _ func() error) {
		c := p.dial(7)
		defer c.Close()
		out, err := hook.Frame(hook.Request{Version: hook.Version, Verb: "ping"}, hook.MaxRequest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(out); err != nil {
			t.Fatal(err)
		}
		time.Sleep(write)
		synctest.Wait()
		if body, err := hook.ReadFrame(c, hook.MaxReply); err == nil {
			t.Errorf("the reply still waits: %s", body)
		}
	})
}

func TestCallerThatHangsUpEndsItsCall(t *testing.T) {
	ended := make(chan error, 1)
	bubble(t, Bounds{}, func(ctx context.Context, _ core.Peer, _ hook.Request) (any, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}, func(t *testing.T, p *pipes, _ func() error) {
		c := p.dial(7)
		out, err := hook.Frame(hook.Request{Version: hook.Version, Verb: "wait"}, hook.MaxRequest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(out); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.Close()
		synctest.Wait()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		default:
			t.Error("the call goes on")
		}
	})
}

func TestStopWaitsForCallsInFlightButNotForEver(t *testing.T) {
	for name, test := range map[string]struct {
		needs time.Duration
		ok    bool
		took  time.Duration
	}{
		"quick": {time.Second, true, time.Second},
		"slow":  {time.Hour, false, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			handler := func(ctx context.Context, _ core.Peer, _ hook.Request) (any, error) {
				select {
				case <-time.After(test.needs):
					return "done", nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			bubble(t, Bounds{Stop: 5 * time.Second, Answer: 2 * time.Hour}, handler, func(t *testing.T, p *pipes, stop func() error) {
				idle := p.dial(8)
				defer idle.Close()
				told := make(chan hook.Reply, 1)
				go func() { told <- hear(t, idle) }()
				c := p.dial(7)
				defer c.Close()
				reply := make(chan hook.Reply, 1)
				go func() { reply <- ask(t, c, "work") }()
				synctest.Wait()
				began := time.Now()
				if err := stop(); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %s, want %s", took, test.took)
				}
				if r := <-reply; (r.Error == nil) != test.ok {
					t.Errorf("got %+v", r)
				}
				if r := <-told; r.Error == nil || r.Error.Reason != string(core.ServerAway) {
					t.Errorf("who had not asked yet got %+v", r)
				}
			})
		})
	}
}

func TestReplyTooLongIsAnError(t *testing.T) {
	path := start(t, Bounds{Reply: 1000}, func(context.Context, core.Peer, hook.Request) (any, error) {
		return strings.Repeat("x", 1001), nil
	})
	checkError(t, hook.Call(t.Context(), path, "big", nil, nil), core.InternalFault, "too long")
}

// TestRefusedAtTheDoorComesAgain: 40 tasks of one user start at once, where only two at a time may.
func TestRefusedAtTheDoorComesAgain(t *testing.T) {
	path := start(t, Bounds{PerUser: 2, Connections: 2}, pong)
	var wg sync.WaitGroup
	errs := make(chan error, 40)
	for range 40 {
		wg.Go(func() {
			var out string
			errs <- hook.Call(t.Context(), path, "ping", strings.Repeat("x", 70<<10), &out)
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestRefusalReachesWhoSendsMoreThanIsTaken over a real socket, where the caller is still writing when it is refused.
func TestRefusalReachesWhoSendsMoreThanIsTaken(t *testing.T) {
	path := start(t, Users(), pong)
	for range 5 {
		checkError(t, hook.Call(t.Context(), path, "ping", strings.Repeat("x", 1<<20), nil), core.BadCall, "65536 are taken")
	}
}

// flaky fails to accept a few times first, as when descriptors run out.
type flaky struct {
	*pipes
	left int
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.left--; f.left >= 0 {
		return nil, errors.New("too many open files")
	}
	return f.pipes.Accept()
}

func TestAcceptThatFailsIsTriedAgainWithoutHaste(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &flaky{newPipes(), 20}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		server := &Server{peer: pipePeer, Log: slog.New(slog.DiscardHandler)}
		began := time.Now()
		go func() { done <- server.Serve(ctx, ln, pong) }()
		c := ln.dial(7)
		defer c.Close()
		if r := ask(t, c, "ping"); string(r.Body) != `"pong"` {
			t.Errorf("got %+v", r)
		}
		if took := time.Since(began); took < 5*time.Second || took > 30*time.Second {
			t.Errorf("20 failures took %s", took)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestListenerThatIsClosedUnderneathIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		ln.Close()
		if err := (&Server{peer: pipePeer}).Serve(t.Context(), ln, pong); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}
