package daemon

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
)

func newBypass(o *cli.Options) *cobra.Command {
	var until string
	var end bool
	cmd := &cobra.Command{
		Use:   "bypass --until TIME | --end",
		Short: "Let jobs run without Weft on this node for a limited time",
		Args:  cobra.NoArgs,
		Long: `Let the hooks of every scheduler on this node run without Weft until TIME. Only
root may use it. Jobs start without VNIs, services and variables, and so
without isolation. The agent and the server need not run. Weft logs each
bypassed hook and counts it in the agent's run directory. Jobs that start
during the bypass continue after it.

TIME is one of these, at most 7 days ahead:
  15:04                        the next time that a clock shows it
  "2026-01-31 15:04"
  2026-01-31T15:04:00+01:00
  4h                           a duration from now

Without a flag, it reports whether a bypass is in force.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if until != "" && end {
				return cli.Misuse(cmd, "bypass: give one of --until and --end")
			}
			return bypass(cmd.Context(), o, until, end, time.Now())
		},
	}
	cmd.Flags().StringVar(&until, "until", "", "begin a bypass until `TIME`, or change its end")
	cmd.Flags().BoolVar(&end, "end", false, "end the bypass now")
	return cmd
}

func bypass(ctx context.Context, o *cli.Options, until string, end bool, now time.Time) error {
	dir, err := agentDir(o)
	if err != nil {
		return err
	}
	if until == "" && !end {
		at, on, err := dir.Bypass(now)
		switch {
		case err != nil:
			return err
		case on:
			_, err = fmt.Printf("hooks go by without Weft until %s\n", at.Local().Format(time.RFC3339))
		default:
			_, err = fmt.Println("hooks go through Weft")
		}
		return err
	}
	// A file of another user's is not obeyed by hooks, so only whom they obey is let write one.
	if info, err := os.Stat(string(dir)); os.Geteuid() != 0 && err == nil && !mine(info) {
		return core.Errorf(core.NotAllowed, "bypass: uid %d may not do it", os.Geteuid()).WithRemedy("only root may, on the node itself")
	}
	what := "bypass ended"
	if end {
		err = dir.ClearBypass()
	} else {
		var at time.Time
		if at, err = parseUntil(until, now); err == nil {
			err = dir.WriteBypass(at, now)
		}
		what = "bypass until " + at.Format(time.RFC3339)
	}
	if err != nil {
		return err
	}
	// The agent has it in its audit, unless it is what is broken.
	_ = hook.Call(ctx, dir.RootSocket(), daemon.VerbBypass, daemon.BypassArgs{What: what}, nil)
	return dir.LogBypass(now, fmt.Sprintf("uid %d pid %d: %s", os.Getuid(), os.Getpid(), what))
}

func mine(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(os.Geteuid())
}

// agentDir is the run directory of this host's agent, also where no agent has started yet.
func agentDir(o *cli.Options) (rundir.Dir, error) {
	if dir, _, ok := o.Here(); ok {
		return dir, nil
	}
	dir := o.Dir
	if dir == cli.DefaultDir || dir == cli.DaemonDir {
		dir = rundir.Default
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", core.Errorf(core.BadCall, "dir %s: %w", dir, err)
	}
	return rundir.Dir(abs), rundir.Dir(abs).Check()
}

// parseUntil reads a time to come.
func parseUntil(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d).Truncate(time.Second), nil
	}
	if t, err := time.ParseInLocation("15:04", text, now.Location()); err == nil {
		at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
		if !at.After(now) {
			at = at.AddDate(0, 0, 1)
		}
		return at, nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, core.Errorf(core.BadCall, "bypass: %q is no time", core.Clip(cmp.Or(strings.TrimSpace(text), text))).
		WithRemedy(`write 15:04, "2006-01-02 15:04", or how long from now, such as 4h`)
}
