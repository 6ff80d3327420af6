package flux

import (
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux/broker/brokertest"
	"github.com/weft-hpc/weft/sdk/conformance"
)

// spoken are an adapter's halves without its block, which would name another broker.
type spoken struct {
	core.Hooks
	core.Phased
	core.Scheduler
	core.Annotator
	core.Requeuer
	core.Blamer
}

// TestConformance: the suite that every adapter must pass, with a broker that has a job.
func TestConformance(t *testing.T) {
	p, b := adapter(t)
	submitted(b, one, nil)
	env := map[string]string{"FLUX_JOB_ID": oneF58, "FLUX_JOB_USERID": "1000"}
	var calls []core.HookCall
	all, err := p.Phases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, phase := range all {
		c := core.HookCall{ID: "id", Scheduler: "tioga", Phase: phase.Name, Node: "node01", Began: 5, Env: env}
		if !phase.Root {
			c.Peer = core.Peer{UID: 1000, GID: 100}
		}
		calls = append(calls, c)
	}
	conformance.Test(t, func() any { return spoken{p, p, p, p, p, p} }, conformance.Site{
		Calls: calls,
		Job:   &conformance.Job{Run: core.Run{Key: key(oneF58), Fingerprint: core.Fingerprint{UID: 1000, Submitted: brokertest.First}}, Doomed: true},
	})
}
