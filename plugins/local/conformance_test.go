package local

import (
	"encoding/json"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/sdk/conformance"
)

// TestConformance: the suite that every adapter must pass, with a process as its job and the calls that `weft run` makes.
func TestConformance(t *testing.T) {
	table, _ := open(t, Options{Cores: 4})
	c := cat(t, me())
	e := begin(t, table, c)
	stdin, err := json.Marshal(Call{Job: e.Job})
	if err != nil {
		t.Fatal(err)
	}
	var calls []core.HookCall
	for _, phase := range []string{PhasePrepare, PhaseEnvironment, PhaseCleanUp} {
		calls = append(calls, core.HookCall{ID: "id", Scheduler: "login", Phase: phase, Node: "login1.site", Began: 5, Stdin: stdin, Peer: c.peer()})
	}
	conformance.Test(t, func() any { return New("login", table) }, conformance.Site{
		Calls: calls,
		Job:   &conformance.Job{Run: core.Run{Key: key(e.Job), Fingerprint: core.Fingerprint{UID: e.UID, Submitted: e.Submitted}}, From: c.peer()},
	})
}
