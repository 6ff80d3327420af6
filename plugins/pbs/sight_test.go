package pbs

import (
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs/pbstest"
)

// TestAnEmptyAnswerIsNoProof: a qstat that lists nothing is not believed while pbs_server counts a running job.
func TestAnEmptyAnswerIsNoProof(t *testing.T) {
	c := pbstest.New(1)
	p := &Plugin{name: "aurora", run: c.Command}
	if err := p.seesAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
	c.Submit(pbstest.Job{})
	c.Schedule()
	if err := p.seesAll(t.Context(), nil); core.ReasonOf(err) != core.SchedulerAway {
		t.Errorf("%v", err)
	}
}
