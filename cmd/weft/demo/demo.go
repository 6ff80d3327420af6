// Package demo is `weft demo`: a story on simulated nodes that checks itself.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/cmd/weft/sim"
	"github.com/weft-hpc/weft/dev"
)

func New(o *cli.Options) *cobra.Command {
	d := &sim.System{}
	cmd := &cobra.Command{
		Use: "demo", Short: "Show Weft's main tasks on simulated NICs, and check each step", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			return runDemo(ctx, d, o.Version, term.IsTerminal(int(os.Stdout.Fd())))
		},
	}
	d.Flags(cmd, 2*time.Second)
	return cmd
}

// runDemo plays the story in a folder of its own, which goes with it unless something deviates.
func runDemo(ctx context.Context, d *sim.System, version string, colour bool) error {
	dir, err := os.MkdirTemp("", "weft-demo-")
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	logs, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer logs.Close()
	opts, err := d.Options(dir, version, slog.New(slog.NewTextHandler(logs, nil)))
	if err != nil {
		return err
	}
	sys, err := dev.Start(ctx, opts)
	if err != nil {
		return err
	}
	s := &story{ctx: ctx, out: os.Stdout, colour: colour, dir: dir, sys: sys, opts: opts, o: &cli.Options{Dir: dir, Output: "table"}, quarantine: opts.Config.Pools[0].Quarantine}
	defer s.end()
	err = s.play()
	sys.Stop()
	return demoEnd(ctx, err, dir)
}

// demoEnd is what comes of a demo that ended with err. Who ends it by Ctrl-C has seen no deviation, and nothing is left to look at.
func demoEnd(ctx context.Context, err error, dir string) error {
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return errors.Join(cli.Exit(130, errors.New("the demo was interrupted")), os.RemoveAll(dir))
	case err != nil:
		return fmt.Errorf("the demo deviated: %w; its log and state are in %s", err, dir)
	}
	return os.RemoveAll(dir)
}
