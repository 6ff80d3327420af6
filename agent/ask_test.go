package agent

import (
	"testing"

	"github.com/weft-hpc/weft/core"
)

// TestABusyNodeSaysSo: more asks than a node takes get a reply at once, and a full session drops it.
func TestABusyNodeSaysSo(t *testing.T) {
	a := &Agent{needs: Needs{Node: "n1"}, asks: make(chan struct{}, 1)}
	a.asks <- struct{}{}
	s := &session{reports: make(chan core.Report, 1)}
	a.ask(t.Context(), s, core.NodeAsk{ID: 7, Verb: VerbServices})
	a.ask(t.Context(), s, core.NodeAsk{ID: 8, Verb: VerbServices})
	if r := (<-s.reports).Told; r == nil || r.ID != 7 || r.Err == nil || r.Err.Reason != core.Overloaded {
		t.Errorf("got %+v", r)
	}
	if len(s.reports) > 0 {
		t.Errorf("got %+v, too", <-s.reports)
	}
}
