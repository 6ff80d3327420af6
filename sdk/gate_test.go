package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weft-hpc/weft/core"
)

var (
	create = &grpc.UnaryServerInfo{FullMethod: "/weft.nic.v1.NIC/Create"}
	health = &grpc.UnaryServerInfo{FullMethod: "/weft.plugin.v1.Plugin/Health"}
	watch  = &grpc.StreamServerInfo{FullMethod: "/weft.scheduler.v1.Scheduler/Watch", IsServerStream: true}
)

func TestDrainWaitsForCallsAndTakesNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		slow := make(chan error, 1)
		go func() {
			_, err := g.unary(t.Context(), nil, create, func(context.Context, any) (any, error) {
				time.Sleep(3 * time.Second)
				return nil, nil
			})
			slow <- err
		}()
		lasting := make(chan error, 1)
		go func() {
			lasting <- g.stream(nil, stream{ctx: t.Context()}, watch, func(_ any, s grpc.ServerStream) error {
				<-s.Context().Done()
				return s.Context().Err()
			})
		}()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.drain(short); core.AsError(err).Code != core.Timeout {
			t.Errorf("drain within 1 s: %v", err)
		}
		if err := <-lasting; err == nil {
			t.Error("a call that lasts did not end")
		}
		_, err := g.unary(t.Context(), nil, create, func(context.Context, any) (any, error) { t.Error("a call was let in"); return nil, nil })
		if status.Code(err) != codes.Unavailable {
			t.Errorf("a call while it drains: %v", err)
		}
		if _, err := g.unary(t.Context(), nil, health, func(context.Context, any) (any, error) { return nil, nil }); err != nil {
			t.Errorf("a health check while it drains: %v", err)
		}
		start := time.Now()
		if err := g.drain(t.Context()); err != nil || time.Since(start) != 2*time.Second || <-slow != nil {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s stream) Context() context.Context { return s.ctx }

func TestAPanicIsItsCallsError(t *testing.T) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	g := newGate()
	if _, err := g.unary(t.Context(), nil, create, func(context.Context, any) (any, error) { panic("ouch") }); status.Code(err) != codes.Internal {
		t.Errorf("%v", err)
	}
	if err := g.stream(nil, stream{ctx: t.Context()}, watch, func(any, grpc.ServerStream) error { panic("ouch") }); status.Code(err) != codes.Internal {
		t.Errorf("%v", err)
	}
	if err := g.drain(t.Context()); err != nil {
		t.Errorf("a call that panicked counts on: %v", err)
	}
}

func TestAHandlerKnowsWhenItMustReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for text, want := range map[string]time.Duration{"1500": 1500 * time.Millisecond, "-1": 0, "x": 0, "99999999999999": 0} {
			ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(WithinKey, text))
			_, _ = newGate().unary(ctx, nil, create, func(ctx context.Context, _ any) (any, error) {
				end, ok := ctx.Deadline()
				if ok != (want > 0) || ok && time.Until(end) != want {
					t.Errorf("%q: %v %v", text, time.Until(end), ok)
				}
				return nil, nil
			})
		}
	})
}

func TestSlogSpeaksTheDaemonsLines(t *testing.T) {
	var out bytes.Buffer
	h := &handler{log: hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: &out, JSONFormat: true})}
	log := slog.New(h).With("node", "n1").WithGroup("nic").With("vni", 4034)
	log.Debug("not this")
	log.Warn("busy", "took", time.Second, slog.Group("svc", "id", 2), "err", io.EOF)
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	for k, want := range map[string]any{"@level": "warn", "@message": "busy", "node": "n1", "nic.vni": 4034.0, "nic.took": "1s", "nic.svc.id": 2.0, "nic.err": "EOF"} {
		if got[k] != want {
			t.Errorf("%s: %v, want %v", k, got[k], want)
		}
	}
}
