package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/weft-hpc/weft/core"
)

// serveMetrics answers /metrics at address; an empty one serves nothing.
func (p *parts) serveMetrics(t *tasks, address string, page http.Handler) error {
	if address == "" {
		return nil
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return core.Errorf(core.BadConfig, "metrics: listen %s: %w", address, err)
	}
	p.end(ln)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", page)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	t.need(func(ctx context.Context) error {
		defer context.AfterFunc(ctx, func() { _ = s.Close() })()
		if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return core.Errorf(core.InternalFault, "metrics: listen %s: %w", address, err)
		}
		return nil
	})
	return nil
}
