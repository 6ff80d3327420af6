package daemon

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
)

// absent is a server that is away for a while.
type absent struct {
	core.Authority
	until time.Time
	why   core.Reason
	asked int
}

func (a *absent) Reserve(context.Context, string, core.Ask, core.Peer) (core.Grant, error) {
	if a.asked++; time.Now().Before(a.until) {
		return core.Grant{}, core.Errorf(a.why, "no")
	}
	return core.Grant{VNIs: []core.VNI{7}}, nil
}

// A hook waits for a server that is away as long as it can, and is told why at its end.
func TestAHookWaitsForTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		why  core.Reason
		away time.Duration
		want core.Reason
		most int // questions
	}{
		"it restarts":                {core.ServerAway, 3 * time.Second, "", 10},
		"it has not heard of a node": {core.NodeAway, time.Second, "", 6},
		"it stays away":              {core.ServerAway, time.Hour, core.ServerAway, 12},
		"it refuses":                 {core.PoolEmpty, time.Second, core.PoolEmpty, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				defer cancel()
				a := &absent{until: time.Now().Add(c.away), why: c.why}
				began := time.Now()
				g, err := (&line{to: a}).Reserve(ctx, "n1", core.Ask{}, core.Peer{})
				if c.want != "" && (err == nil || core.AsError(err).Reason != c.want) || c.want == "" && (err != nil || len(g.VNIs) != 1) {
					t.Errorf("%+v, %v", g, err)
				}
				if a.asked > c.most || c.want == "" && time.Since(began) > 3*c.away || time.Since(began) >= 8*time.Second {
					t.Errorf("asked %d times in %v", a.asked, time.Since(began))
				}
			})
		})
	}
}
