package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/metrics"
)

// serveMetrics answers /metrics at address; an empty one serves nothing.
func serveMetrics(ctx context.Context, all *sync.WaitGroup, cancel context.CancelCauseFunc, address string, page http.Handler) error {
	if address == "" {
		return nil
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return core.Errorf(core.BadConfig, "metrics: listen %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", page)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	all.Go(func() {
		if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			cancel(core.Errorf(core.InternalFault, "metrics: listen %s: %w", address, err))
		}
	})
	all.Go(func() {
		<-ctx.Done()
		_ = s.Close()
	})
	return nil
}

// pluginFigures are a host's plugins, as metrics counts them.
func pluginFigures(h *host.Host) func() []metrics.Plugin {
	return func() []metrics.Plugin {
		states := h.States()
		out := make([]metrics.Plugin, len(states))
		for i, s := range states {
			out[i] = metrics.Plugin{Kind: string(s.Kind), Name: s.Name, State: s.State.String(), Starts: s.Starts, Deaths: s.Deaths}
		}
		return out
	}
}
