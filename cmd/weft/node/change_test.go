package node

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

// TestSayContradictsItselfNowhere: the first line counts what Weft did, and the lines behind it say what it did not.
func TestSayContradictsItselfNowhere(t *testing.T) {
	for _, c := range []struct {
		name  string
		drain bool
		n     server.Count
		want  string
		err   string
	}{
		{name: "all did it", n: server.Count{Count: 1, Told: []server.Told{{Scheduler: "pbs", Nodes: "n2", Done: true}}},
			want: "1 node in service\npbs: n2: in service\n"},
		{name: "a scheduler is away",
			n: server.Count{Count: 1, Told: []server.Told{
				{Scheduler: "flux", Nodes: "n2", Done: true}, {Scheduler: "pbs", Nodes: "n2", Why: "it does not answer"},
			}},
			want: "1 node in service in Weft, and not in every scheduler\n" +
				"flux: n2: in service\npbs: n2: not in service: it does not answer\n",
			err: "resume: scheduler pbs did not do it"},
		{name: "all drained it", drain: true,
			n: server.Count{Count: 1, Told: []server.Told{
				{Scheduler: "pbs", Nodes: "n2", Done: true, Why: "drained: weft: fan"},
			}},
			want: "1 node drained\npbs: n2: drained: weft: fan\n"},
		{name: "drained by others before", drain: true,
			n: server.Count{Count: 1, Before: []string{"n2: blade, by root"}, Told: []server.Told{
				{Scheduler: "pbs", Nodes: "n2", Done: true, Kept: true, Why: "drained already, not by Weft: disk"},
			}},
			want: "1 node drained in Weft\nn2: blade, by root: the new reason replaces this one\n" +
				"pbs: n2: drained already, not by Weft: disk; that stays, and `weft resume` does not end it\n"},
		{name: "a node is refused", n: server.Count{Count: 2, Refused: []string{"node n1: it stays drained: cxi0 is gone"}},
			want: "2 nodes in service\nnode n1: it stays drained: cxi0 is gone\n", err: "resume: refused for 1 node"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			verb, done := "resume", "in service"
			if c.drain {
				verb, done = "drain", "drained"
			}
			err := say(&out, verb, done, c.n)
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Error(diff)
			}
			if e := core.AsError(err); (e != nil) != (c.err != "") || e != nil && e.What != c.err {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}
