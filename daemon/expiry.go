package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/server"
)

// expiryWarn is the pause between two warnings of one certificate.
const expiryWarn = 12 * time.Hour

// warnExpiry warns of a certificate that ends soon, at once, then twice a day, and when it ends: the connections end with it, and why must stand beside
// what comes of that. remedy is what renews it.
func warnExpiry(ctx context.Context, log *slog.Logger, whose string, ends func() time.Time, remedy string) {
	for {
		t, pause := ends(), expiryWarn
		left := time.Until(t)
		switch {
		case t.IsZero() || left > server.ExpiresSoon:
		case left > 0:
			log.Warn(whose+" certificate ends on "+t.Format(time.DateOnly)+"; "+remedy, core.LogLimit, t.UTC().Format(time.RFC3339))
			pause = min(pause, left)
		default:
			log.Error(whose+" certificate has ended and is refused by the other side; "+remedy, core.LogLimit, t.UTC().Format(time.RFC3339))
		}
		if !poll.Pause(ctx, pause) {
			return
		}
	}
}

// warnNodes warns of nodes' certificates that end soon, as warnExpiry does.
func warnNodes(ctx context.Context, log *slog.Logger, shown func() map[string]time.Time) {
	for {
		if e := server.EndingOf(shown()); e != nil {
			log.Warn("nodes' certificates end soon; `weft nodes` shows each, `weft tls node NAME` where the site's authority is renews one", core.LogCount, e.Nodes, core.LogNode, e.First,
				core.LogLimit, e.Ends.UTC().Format(time.RFC3339))
		}
		if !poll.Pause(ctx, expiryWarn) {
			return
		}
	}
}
