package sdk

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/rpc"
)

// gate counts the calls in flight, so that a plugin can be ended between them; and it turns a panic into that call's error.
type gate struct {
	ctx    context.Context // of calls that last; ends when draining begins
	cancel context.CancelFunc

	mu       sync.Mutex
	calls    int
	draining bool
	idle     chan struct{}
}

func newGate() *gate {
	g := &gate{idle: make(chan struct{})}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining {
		return false
	}
	g.calls++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.draining && g.calls == 0 {
		close(g.idle)
	}
}

// drain takes no more calls, ends those that last, and waits for the others.
func (g *gate) drain(ctx context.Context) error {
	g.mu.Lock()
	if !g.draining {
		g.draining = true
		if g.calls == 0 {
			close(g.idle)
		}
	}
	g.mu.Unlock()
	g.cancel()
	select {
	case <-g.idle:
		return nil
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		return core.Errorf(core.TimedOut, "plugin: drain: %d calls have not returned: %w", g.calls, ctx.Err())
	}
}

var errDraining = status.Error(codes.Unavailable, "plugin: it is being ended and takes no more calls")

// ours reports whether a call is about the plugin itself, or go-plugin's: those pass while it drains.
func ours(method string) bool {
	return !strings.HasPrefix(method, "/weft.") || strings.HasPrefix(method, "/"+rpc.PluginService+"/")
}

func (g *gate) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (reply any, err error) {
	if !ours(info.FullMethod) {
		if !g.enter() {
			return nil, errDraining
		}
		defer g.leave()
	}
	defer caught(info.FullMethod, &err)
	ctx, cancel := within(ctx)
	defer cancel()
	return handle(ctx, req)
}

func (g *gate) stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	if ours(info.FullMethod) {
		return handle(srv, s)
	}
	if !g.enter() {
		return errDraining
	}
	defer g.leave()
	defer caught(info.FullMethod, &err)
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	return handle(srv, lasting{s, ctx})
}

// lasting is a stream whose context ends when draining begins.
type lasting struct {
	grpc.ServerStream
	ctx context.Context
}

// Context is gRPC's.
func (l lasting) Context() context.Context { return l.ctx }

// within applies the time within which a handler must return; the call's own deadline is later.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	for _, text := range metadata.ValueFromIncomingContext(ctx, WithinKey) {
		if ms, err := strconv.ParseUint(text, 10, 31); err == nil {
			return context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		}
	}
	return ctx, func() {}
}

// caught is deferred.
func caught(method string, err *error) {
	if r := recover(); r != nil {
		slog.Error("call panicked", core.LogVerb, method, core.LogPanic, fmt.Sprint(r), core.LogStack, string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "it panicked: %v", r)
	}
}

// served is the plugin's own service.
type served struct {
	rpc.Value
	gate *gate
}

// Drain implements rpc.Plugin.
func (s served) Drain(ctx context.Context) error { return s.gate.drain(ctx) }
