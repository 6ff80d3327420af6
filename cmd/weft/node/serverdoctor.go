package node

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hclfile"
)

// serverHere reports whether this is the host of a server that has started since it booted.
func serverHere(o *cli.Options) bool {
	path, err := o.Socket("")
	if err == nil {
		_, err = os.Stat(path)
	}
	return err == nil && !manyNodes(o)
}

// examineServer is examine for the server of this host.
func examineServer(ctx context.Context, o *cli.Options, limit time.Duration, path string) ([]agent.FindingRow, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rows := []agent.FindingRow{}
	err := o.Ask(ctx, daemon.VerbDoctor, nil, &rows)
	if err == nil {
		return rows, nil
	}
	if e := core.AsError(err); e.Reason == core.NotAllowed || e.Reason == core.BadCall {
		return nil, err
	}
	return append([]agent.FindingRow{{
		Severity: core.Critical.String(), Of: "server", What: "the server does not answer: no new job gets a VNI",
		Evidence: core.AsError(err).What,
		Remedy:   "`systemctl restart weft-server`, which touches no job; then `journalctl -u weft-server`",
	}}, unbelieved(path, "server", config.OfServer)...), nil
}

// unbelieved are the files that keep a daemon from its start. A daemon that does not run cannot tell them itself.
func unbelieved(path, who string, of config.Daemon) (rows []agent.FindingRow) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	site, bad := settings.Read(path, 0)
	if site != nil {
		bad = site.Distrusted(of)
	}
	for _, f := range bad {
		if f.Severity == hclfile.Error {
			what := f.File + ": " + f.Summary
			rows = append(rows, agent.FindingRow{Severity: core.Critical.String(), Of: who, What: what, Remedy: f.Detail})
		}
	}
	return rows
}
