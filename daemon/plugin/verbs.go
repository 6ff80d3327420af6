package plugin

import (
	"context"
	"log/slog"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/metrics"
)

type Row struct {
	Kind    string    `json:"kind"`
	Name    string    `json:"name"`
	State   string    `json:"state"`
	Since   time.Time `json:"since"`
	PID     int       `json:"pid,omitempty"`
	Program string    `json:"program,omitempty"`
	Version string    `json:"version,omitempty"`
	Starts  int       `json:"starts"`
	Deaths  int       `json:"deaths"`
	Why     string    `json:"why,omitempty"`
	Limit   string    `json:"limit,omitempty"` // what bounds its process
}

type Args struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

const (
	VerbList    = "plugins"
	VerbRestart = "restart-plugin"
)

func List(h *host.Host) listener.Handler {
	return func(context.Context, core.Peer, hook.Request) (any, error) {
		rows := []Row{}
		for _, s := range h.States() {
			rows = append(rows, Row{string(s.Kind), s.Name, s.State.String(), s.Since, s.PID, s.Program, s.Version, s.Starts, s.Deaths, s.Why, s.Limit})
		}
		return rows, nil
	}
}

// Restart is `weft plugin restart`. Who may call it is asked before.
func Restart(h *host.Host, audit *slog.Logger) listener.Handler {
	return func(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
		var args Args
		err := req.Decode(&args)
		if err == nil {
			err = restart(ctx, h, args)
		}
		attrs := append(peer.Audited(req.ID, req.Right), core.LogPlugin, core.Clip(args.Kind)+" "+core.Clip(args.Name))
		if err != nil {
			attrs = append(attrs, core.LogReason, string(core.AsError(err).Reason), core.LogError, err.Error())
		}
		audit.Info(VerbRestart, attrs...)
		return struct{}{}, err
	}
}

func restart(ctx context.Context, h *host.Host, args Args) error {
	p := h.Plugin(host.Kind(args.Kind), args.Name)
	if p == nil {
		return core.Errorf(core.NotThere, "plugin %s %s: there is none, or it runs inside the daemon", core.Clip(args.Kind), core.Clip(args.Name)).
			WithRemedy("`weft plugin list` shows those that there are")
	}
	return p.Restart(ctx)
}

func Figures(h *host.Host) func() []metrics.Plugin {
	return func() []metrics.Plugin {
		states := h.States()
		out := make([]metrics.Plugin, len(states))
		for i, s := range states {
			out[i] = metrics.Plugin{Kind: string(s.Kind), Name: s.Name, State: s.State.String(), Starts: s.Starts, Deaths: s.Deaths}
		}
		return out
	}
}
