package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/weft-hpc/weft/core"
)

// vigil knows whether the store's witness is there for the server's next start. The store tells it.
type vigil struct {
	path string
	log  *slog.Logger
	lost atomic.Pointer[string]
}

const lostRemedy = "clear that path, and restart the server while every node is up, since it then waits for all of them"

func (v *vigil) tell(err error) {
	if err == nil {
		v.lost.Store(nil)
		v.log.Info("the store's witness is good again")
		return
	}
	why := v.path + ": " + err.Error()
	v.lost.Store(&why)
	v.log.Warn("the store's witness is lost; "+lostRemedy, core.LogError, why)
}

// why tells for `weft status` why the witness is lost; empty: it is not.
func (v *vigil) why() string {
	if why := v.lost.Load(); why != nil {
		return *why + "; " + lostRemedy
	}
	return ""
}

// Check is for `weft doctor`.
func (v *vigil) Check(context.Context) ([]core.Finding, error) {
	why := v.lost.Load()
	if why == nil {
		return nil, nil
	}
	return []core.Finding{{
		Severity: core.Warning, What: "the store's witness is lost", Evidence: *why, Remedy: lostRemedy,
	}}, nil
}
