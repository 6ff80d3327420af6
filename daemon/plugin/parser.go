package plugin

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host"
)

// Parser is the adapter of a scheduler's block, which reads its users' options, and a function that ends it. It starts
// the program of an adapter that is not part of weft.
func Parser(ctx context.Context, p config.Plugin) (core.RequestParser, func(), error) {
	if len(p.Command) == 0 && builtins[host.Scheduler][p.Type] != nil {
		if parser, ok := builtins[host.Scheduler][p.Type](p.Name).(core.RequestParser); ok {
			return parser, func() {}, nil
		}
	}
	spec, findings := new(Blocks).Spec(host.Scheduler, p)
	if len(findings) > 0 {
		return nil, nil, core.Errorf(core.BadConfig, "scheduler %s: %s", p.Name, findings[0].Summary)
	}
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		return nil, nil, core.Errorf(core.BadCall, "scheduler %s: cannot make the folder of its socket: %w", p.Name, err)
	}
	plugins, err := host.New(host.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, nil, err
	}
	end := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = plugins.Close(ctx)
		_ = os.RemoveAll(dir)
	}
	started, err := plugins.Start(ctx, spec)
	if err != nil {
		end()
		return nil, nil, err
	}
	return started.Hooks().(core.RequestParser), end, nil
}
