package daemon

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

// How often certificates are looked after.
const (
	expiryWarn  = 12 * time.Hour
	expiryRenew = time.Hour // whether this node's has been renewed
)

// warnExpiry warns of a certificate that ends soon, at once, then twice a day, and when it ends: the connections end with it, and why must stand beside
// what comes of that. mend is what renews it.
func warnExpiry(ctx context.Context, log *slog.Logger, whose string, ends func() time.Time, mend string) {
	for {
		t, pause := ends(), expiryWarn
		left := time.Until(t)
		switch {
		case t.IsZero() || left > server.ExpiresSoon:
		case left > 0:
			log.Warn(whose+" certificate ends on "+t.Format(time.DateOnly)+"; "+mend, core.LogLimit, t.UTC().Format(time.RFC3339))
			pause = min(pause, left)
		default:
			log.Error(whose+" certificate has ended and is refused by the other side; "+mend, core.LogLimit, t.UTC().Format(time.RFC3339))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// warnNodes warns of nodes' certificates that end soon, as warnExpiry does.
func warnNodes(ctx context.Context, log *slog.Logger, shown func() map[string]time.Time) {
	every(ctx, expiryWarn, func() {
		if e := server.EndingOf(shown()); e != nil {
			log.Warn("nodes' certificates end soon; `weft nodes` shows each, `weft tls node NAME` where the site's authority is renews one", core.LogCount, e.Nodes, core.LogNode, e.First,
				core.LogLimit, e.Ends.UTC().Format(time.RFC3339))
		}
	})
}

// every calls f now, and again and again until ctx ends.
func every(ctx context.Context, pause time.Duration, f func()) {
	t := time.NewTicker(pause)
	defer t.Stop()
	for {
		f()
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// until ends a connection with the certificate that opened it: what is refused to a newcomer must not go on for whoever came in time. An agent whose
// certificate was renewed has a new connection long before.
func (b *nodeBounds) until(ends time.Time, node string, conn net.Conn) (stop func() bool) {
	return b.after(ends.Sub(b.now()), func() {
		b.log.Warn("the node's certificate has ended, and with it the connection that it opened; renew it with `weft tls node NAME` and bring the two files to the node",
			core.LogNode, node, core.LogAddress, conn.RemoteAddr().String(), core.LogLimit, ends.UTC().Format(time.RFC3339))
		conn.Close()
	})
}
