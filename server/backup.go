package server

import (
	"context"
	"io"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// VerbBackup gives the store as it is between two commits, as a hook.Stream of package backup. Those who may write may
// ask, since it has everything.
const VerbBackup = "backup"

// backup answers one caller at a time, since a backup takes memory.
func (d *Verbs) backup(_ context.Context, peer core.Peer, req hook.Request) (any, error) {
	store, ok := d.Server.needs.Store.(interface {
		Export(ctx context.Context, w io.Writer) error
	})
	if !ok {
		return nil, core.Errorf(core.NotSupported, "store: it is in memory, and has no backup").
			WithRemedy("name a file as `store` of the server in config.hcl")
	}
	return hook.Stream(func(ctx context.Context, w io.Writer) error {
		if !d.Server.backups.TryLock() {
			return core.Errorf(core.Overloaded, "store: another backup is under way").WithRemedy("try again when it has ended")
		}
		defer d.Server.backups.Unlock()
		err := store.Export(ctx, w)
		about := peer.Audited(req.ID, req.Right)
		if err != nil {
			about = append(about, core.LogReason, string(core.ReasonOf(err)), core.LogError, err.Error())
		}
		d.Server.auditor.Info(VerbBackup, about...)
		return err
	}), nil
}
