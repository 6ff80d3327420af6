package listener

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

func TestCallCarriesTheCallAndTheKernelsWord(t *testing.T) {
	before := hook.Boottime()
	path := start(t, Bounds{}, func(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
		var in map[string]string
		if err := req.Decode(&in); err != nil {
			return nil, err
		}
		if req.Began < before || req.Began > hook.Boottime() {
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
	if err := hook.Call(t.Context(), path, "echo", map[string]string{"say": "hello"}, &out); err != nil {
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
		{Code: core.Exhausted, Reason: "a-reason-of-tomorrow", What: "what: which: why", Remedy: "do this"},
		core.Errorf(core.TimedOut, "late"),
	} {
		path := start(t, Bounds{}, func(context.Context, core.Peer, hook.Request) (any, error) { return nil, want })
		err := hook.Call(t.Context(), path, "fail", nil, nil)
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

func TestPagesTellEverythingOnce(t *testing.T) {
	var list []string
	for i := range 5000 {
		list = append(list, fmt.Sprintf("%05d-%s", i, strings.Repeat("x", i%97)))
	}
	key := func(s string) string { return s }
	path := start(t, Bounds{Reply: 8 << 10}, func(_ context.Context, _ core.Peer, req hook.Request) (any, error) {
		return Slice(req, list, key)
	})
	got, err := hook.List[string](t.Context(), path, "list", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, got); diff != "" {
		t.Error(diff)
	}
	pages := 0
	if err := hook.Pages(t.Context(), path, "list", nil, func(json.RawMessage) error { pages++; return nil }); err != nil {
		t.Fatal(err)
	}
	if pages < 5000*60/(8<<10) {
		t.Errorf("%d pages cannot hold the list within their bound", pages)
	}
	stop := errors.New("enough")
	if err := hook.Pages(t.Context(), path, "list", nil, func(json.RawMessage) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// A page with all that fits is a reply that fits, however long its parts and its cursor are.
func TestFullPagesFit(t *testing.T) {
	const reply = 2 << 10
	for _, size := range []int{1, 6, 7, 100} {
		list := make([]string, 400)
		for i := range list {
			list[i] = fmt.Sprintf("%04d%s", i, strings.Repeat("\x01", size))
		}
		for _, key := range []func(string) string{func(s string) string { return s }, func(s string) string { return s[:4] }} {
			path := start(t, Bounds{Reply: reply}, func(_ context.Context, _ core.Peer, req hook.Request) (any, error) {
				return Slice(req, list, key)
			})
			got, err := hook.List[string](t.Context(), path, "list", nil)
			if err != nil || len(got) != len(list) {
				t.Errorf("%d bytes each: %d of %d: %v", size, len(got), len(list), err)
			}
		}
	}
}

func TestSliceOfNothingAndOfTooMuch(t *testing.T) {
	key := func(s string) string { return s }
	p, err := Slice(hook.Request{Verb: "list", Room: 64}, nil, key)
	if err != nil || string(p.Body.(json.RawMessage)) != "[]" || p.Next != "" {
		t.Errorf("got %+v, %v", p, err)
	}
	if _, err := Slice(hook.Request{Verb: "list", Room: 64}, []string{strings.Repeat("y", 99)}, key); !errors.Is(err, core.Internal) {
		t.Errorf("got %v", err)
	}
}

// A row that no reply holds ends its list with an error that names it and has a remedy; the rows before it have come.
func TestARowLongerThanAReplyIsAnError(t *testing.T) {
	list := []string{"a", "b" + strings.Repeat("x", 99_999), "c"}
	path := start(t, Bounds{Reply: 8 << 10}, func(_ context.Context, _ core.Peer, req hook.Request) (any, error) {
		return Slice(req, list, func(s string) string { return s[:1] })
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := hook.List[string](ctx, path, "list", nil)
	e := core.AsError(err)
	if e == nil || !strings.Contains(e.What, "list of list: b: it has 100002 bytes") || e.Remedy == "" {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(list[:1], got); diff != "" {
		t.Error(diff)
	}
}

func TestPagesThatDoNotGetOnEnd(t *testing.T) {
	path := start(t, Bounds{}, func(context.Context, core.Peer, hook.Request) (any, error) {
		return Page{Body: []int{1}, Next: "here"}, nil
	})
	if _, err := hook.List[int](t.Context(), path, "list", nil); !errors.Is(err, core.Internal) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	path := start(b, Bounds{}, func(context.Context, core.Peer, hook.Request) (any, error) { return "pong", nil })
	var out string
	for b.Loop() {
		if err := hook.Call(b.Context(), path, "ping", "ping", &out); err != nil {
			b.Fatal(err)
		}
	}
}

// TestText: who asks for lines gets the text itself in the frame, and an error as any other.
func TestText(t *testing.T) {
	var err error
	path := start(t, Bounds{}, func(_ context.Context, _ core.Peer, req hook.Request) (any, error) {
		if !req.Lines {
			t.Error("the request does not ask for lines")
		}
		return hook.Text("export A=1\n"), err
	})
	ask := func() string {
		conn, dialed := net.Dial("unix", path)
		if dialed != nil {
			t.Fatal(dialed)
		}
		defer conn.Close()
		out, _ := hook.Frame(hook.Request{Version: hook.Version, Verb: "hook", Lines: true}, hook.MaxRequest)
		if _, err := conn.Write(out); err != nil {
			t.Fatal(err)
		}
		body, err := hook.ReadFrame(conn, hook.MaxReply)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got := ask(); got != "export A=1\n" {
		t.Errorf("got %q", got)
	}
	err = core.Errorf(core.BadCall, "no")
	if got := ask(); !strings.HasPrefix(got, "{") || !strings.Contains(got, "no") {
		t.Errorf("got %q", got)
	}
}
