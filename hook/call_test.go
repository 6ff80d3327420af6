package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-hpc/weft/core"
)

func TestCallCarriesTheCallAndTheKernelsWord(t *testing.T) {
	before := Boottime()
	path := start(t, Bounds{}, func(ctx context.Context, peer core.Peer, req Request) (any, error) {
		var in map[string]string
		if err := req.Decode(&in); err != nil {
			return nil, err
		}
		if req.Began < before || req.Began > Boottime() {
			t.Errorf("Began is %d, outside %d to now", req.Began, before)
		}
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the call has no deadline")
		}
		return map[string]any{"verb": req.Verb, "said": in["say"], "pid": peer.PID, "uid": peer.UID}, nil
	})
	var out struct {
		Verb, Said string
		PID        int
		UID        int
	}
	if err := Call(t.Context(), path, "echo", map[string]string{"say": "hello"}, &out); err != nil {
		t.Fatal(err)
	}
	if out.Verb != "echo" || out.Said != "hello" || out.PID != os.Getpid() || out.UID != os.Getuid() {
		t.Errorf("got %+v", out)
	}
}

func TestErrorCrossesWhole(t *testing.T) {
	for _, want := range []*core.Error{
		core.Errorf(core.NICShort, "cxi0: no room").WithShort(core.Shortage{Device: "cxi0", Resource: core.LE, Want: 16, Have: 3, Pool: true}),
		core.Errorf(core.ServiceBusy, "service 3: busy: %w", os.ErrInvalid),
		{Code: core.Exhausted, Reason: "a-reason-of-tomorrow", What: "what: which: why", Mend: "do this"},
		core.Errorf(core.TimedOut, "late"),
	} {
		path := start(t, Bounds{}, func(context.Context, core.Peer, Request) (any, error) { return nil, want })
		err := Call(t.Context(), path, "fail", nil, nil)
		got, ok := errors.AsType[*core.Error](err)
		if !ok {
			t.Fatalf("%T is no *core.Error", err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(core.Error{})); diff != "" {
			t.Error(diff)
		}
		if !errors.Is(err, want.Code) {
			t.Errorf("%v is not %v", err, want.Code)
		}
	}
}

func TestEveryCodeCrosses(t *testing.T) {
	for c := core.Invalid; c <= core.Internal; c++ {
		if got := NewFault(&core.Error{Code: c, What: "x"}).Err().Code; got != c {
			t.Errorf("%v became %v", c, got)
		}
	}
}

func TestPagesTellEverythingOnce(t *testing.T) {
	var list []string
	for i := range 5000 {
		list = append(list, fmt.Sprintf("%05d-%s", i, strings.Repeat("x", i%97)))
	}
	key := func(s string) string { return s }
	path := start(t, Bounds{Reply: 8 << 10}, func(_ context.Context, _ core.Peer, req Request) (any, error) {
		return Slice(req, list, key)
	})
	got, err := List[string](t.Context(), path, "list", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, got); diff != "" {
		t.Error(diff)
	}
	pages := 0
	if err := Pages(t.Context(), path, "list", nil, func(json.RawMessage) error { pages++; return nil }); err != nil {
		t.Fatal(err)
	}
	if pages < 5000*60/(8<<10) {
		t.Errorf("%d pages cannot hold the list within their bound", pages)
	}
	stop := errors.New("enough")
	if err := Pages(t.Context(), path, "list", nil, func(json.RawMessage) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestSliceOfNothingAndOfTooMuch(t *testing.T) {
	key := func(s string) string { return s }
	p, err := Slice(Request{Verb: "list", room: 64}, nil, key)
	if err != nil || string(p.Body.(json.RawMessage)) != "[]" || p.Next != "" {
		t.Errorf("got %+v, %v", p, err)
	}
	if _, err := Slice(Request{Verb: "list", room: 64}, []string{strings.Repeat("y", 99)}, key); !errors.Is(err, core.Internal) {
		t.Errorf("got %v", err)
	}
}

func TestPagesThatDoNotGetOnEnd(t *testing.T) {
	path := start(t, Bounds{}, func(context.Context, core.Peer, Request) (any, error) {
		return Page{Body: []int{1}, Next: "here"}, nil
	})
	if _, err := List[int](t.Context(), path, "list", nil); !errors.Is(err, core.Internal) {
		t.Errorf("got %v", err)
	}
}

// TestHostileDaemon calls daemons that do everything but answer.
func TestHostileDaemon(t *testing.T) {
	reply := func(s string) func(net.Conn) {
		return func(c net.Conn) { _, _ = c.Write([]byte(s)) }
	}
	for name, test := range map[string]struct {
		do   func(net.Conn)
		want core.Reason
		says string
	}{
		"hangs up":       {func(net.Conn) {}, core.ServerAway, "without an answer"},
		"half a length":  {reply("\x00\x00"), core.ServerAway, "middle of its answer"},
		"half an answer": {reply("\x00\x00\x00\x10{\"ver"), core.ServerAway, "middle of its answer"},
		"4 GiB":          {reply("\xff\xff\xff\xff{}"), core.InternalFault, "4294967295 bytes"},
		"text":           {reply("HTTP/1.1 400 Bad Request\r\n\r\n"), core.InternalFault, "too long"},
		"garbage":        {reply("\x00\x00\x00\x04}{}{"), core.InternalFault, "not the JSON"},
		"trailing data":  {reply("\x00\x00\x00\x0f{\"version\":1}{}"), core.InternalFault, "not the JSON"},
		"other version":  {reply("\x00\x00\x00\x0d{\"version\":9}"), core.BadVersion, "version 9"},
		"silent": {func(c net.Conn) {
			var b [1 << 12]byte
			for {
				if _, err := c.Read(b[:]); err != nil {
					return
				}
			}
		}, core.TimedOut, "time limit"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir(t), "server.sock")
			ln, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				c, err := ln.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				if name != "silent" {
					_, _ = readFrame(c, MaxRequest)
				}
				test.do(c)
			}()
			patience := 30 * time.Second
			if name == "silent" {
				patience = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err = Call(ctx, path, "status", nil, nil)
			ln.Close()
			<-done
			checkError(t, err, test.want, test.says)
		})
	}
}

func checkError(t *testing.T, err error, want core.Reason, says string) {
	t.Helper()
	e, ok := errors.AsType[*core.Error](err)
	if !ok || e.Reason != want || !strings.Contains(e.What, says) || strings.ContainsRune(e.Line(), '\n') {
		t.Errorf("got %#v, want one line of %s that says %q", err, want, says)
	}
}

func TestPathsThatNobodyCanTrust(t *testing.T) {
	d := dir(t)
	at := func(name string) string { return filepath.Join(d, name) }
	live, err := net.Listen("unix", at("live"))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if err := os.Symlink(at("live"), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: at("server.dead"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	for name, test := range map[string]struct {
		path string
		want core.Reason
		says string
	}{
		"none":    {at("server.sock"), core.ServerAway, "there is no socket"},
		"under":   {at("file/sock"), core.ServerAway, "there is no socket"},
		"link":    {at("link"), core.NotAllowed, "symbolic link"},
		"file":    {at("file"), core.NotAllowed, "no socket"},
		"folder":  {d, core.NotAllowed, "no socket"},
		"dead":    {at("server.dead"), core.ServerAway, "nobody listens"},
		"long":    {"/" + strings.Repeat("x", MaxPath), core.BadCall, "108 bytes"},
		"empty":   {"", core.BadCall, "no path"},
		"unnamed": {"@weft", core.BadCall, "no path"},
	} {
		t.Run(name, func(t *testing.T) {
			checkError(t, Call(t.Context(), test.path, "status", nil, nil), test.want, test.says)
		})
	}
	if e := core.AsError(Call(t.Context(), at("server.sock"), "status", nil, nil)); !strings.Contains(e.Line(), "start `weft server`") {
		t.Errorf("%q does not say what to start", e.Line())
	}
	if os.Geteuid() == 0 {
		if err := os.Lchown(at("live"), 4711, 4711); err != nil {
			t.Fatal(err)
		}
		checkError(t, Call(t.Context(), at("live"), "status", nil, nil), core.NotAllowed, "neither to root")
		checkError(t, checkSocket(at("live"), 4712), core.NotAllowed, "neither to root")
		if err := checkSocket(at("live"), 4711); err != nil {
			t.Errorf("its owner may: %v", err)
		}
	}
}

func TestCallTooLong(t *testing.T) {
	checkError(t, Call(t.Context(), "/nowhere", "status", strings.Repeat("x", MaxRequest), nil), core.BadCall, "too long")
}

func BenchmarkRoundTrip(b *testing.B) {
	path := start(b, Bounds{}, func(context.Context, core.Peer, Request) (any, error) { return "pong", nil })
	var out string
	for b.Loop() {
		if err := Call(b.Context(), path, "ping", "ping", &out); err != nil {
			b.Fatal(err)
		}
	}
}
