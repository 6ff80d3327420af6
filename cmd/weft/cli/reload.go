package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/reload"
)

type ReloadRow struct {
	Daemon string `json:"daemon"`
	reload.Outcome
}

// Reload asks every daemon of this host. It is one file, so where the first refuses it the other is not asked.
func (o *Options) Reload(ctx context.Context) ([]ReloadRow, error) {
	_, name, agent := o.Here()
	if err := o.There(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "nodes")); err == nil && !agent {
		return nil, core.Errorf(core.NotSupported, "reload: %s is a system of `weft dev`, which reads its configuration at its start only", o.Dir).
			WithRemedy("end it and start it again: what it keeps is found again")
	}
	var rows []ReloadRow
	var down error
	if _, err := os.Stat(filepath.Join(o.Dir, serverSocket)); err == nil || !agent {
		r := ReloadRow{Daemon: "server"}
		switch err := o.Ask(ctx, "reload", nil, &r.Outcome); {
		case err == nil:
			if rows = append(rows, r); r.Refused {
				return rows, nil
			}
		case agent && awayFrom(err): // a server that was killed leaves its socket behind; the agent can reload without it
			down = err
		default:
			return nil, err
		}
	}
	if agent {
		r := ReloadRow{Daemon: "agent"}
		if err := o.AskNode(ctx, name, "reload", nil, &r.Outcome); err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, down
}

func awayFrom(err error) bool {
	e, ok := errors.AsType[*core.Error](err)
	return ok && e.Reason == core.ServerAway
}
