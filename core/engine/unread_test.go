package engine

import (
	"testing"

	"github.com/weft-hpc/weft/core"
)

// A node that cannot read its NICs keeps no other node from its jobs. It is drained while that lasts, and what an
// administrator drained stays so.
func TestUnread(t *testing.T) {
	w := lost(t)
	const why = core.UnreadPrefix + "node n1: no libcxi"
	unread := core.Report{Fault: why, Devices: []string{}}
	w.attach("n2")
	w.attach("n3")
	w.refused("n2", job("1", "n2"), app(), core.Recovering)
	w.begin("n1", unread)
	w.granted("n2", job("1", "n2"), app())

	drained := func() string { return w.m.nodes["n1"].Drained }
	set := func(reason string) { w.step(SetDrain{Call: 1, Node: "n1", Reason: reason, By: "root"}) }
	const repair = core.UnreadPrefix + "repair"
	back := core.Report{Changed: true, Devices: []string{"cxi0", "cxi1"}}
	for _, tt := range []struct {
		name string
		do   func()
		want string
	}{
		{"the first report", func() {}, why},
		{"an administrator cannot resume it", func() { set("") }, why},
		{"nor accept NICs that nobody sees", func() { w.step(Accept{Call: 2, Node: "n1"}) }, why},
		{"a report without a reading", func() { w.tell("n1") }, why},
		{"the NICs are read again", func() { w.more("n1", back) }, ""},
		{"an administrator's reason", func() { set(repair) }, repair},
		{"stays while the NICs cannot be read", func() { w.more("n1", core.Report{Changed: true, Fault: why}) }, repair},
		{"and when they can", func() { w.more("n1", back) }, repair},
		{"in service, when the NICs allow it", func() { w.more("n1", core.Report{Changed: true, Fault: why}); set("") }, why},
		{"after a restart of the server", func() { w.restart(); w.begin("n1", back) }, ""},
	} {
		if tt.do(); drained() != tt.want {
			t.Fatalf("%s: drained: %q, want %q", tt.name, drained(), tt.want)
		}
	}
	if got := w.m.nodes["n1"].Inventory; len(got) != 2 {
		t.Errorf("inventory %v", got)
	}
}

// A report without a reading frees nothing.
func TestUnreadFreesNothing(t *testing.T) {
	w := newWorld(t, 8, "n1")
	stray := core.Service{Device: "cxi0", ID: 9, VNIs: []core.VNI{1024}}
	w.begin("n1", core.Report{Unknown: []core.Service{stray}})
	w.step(Accept{Call: 1, Node: "n1"})
	w.begin("n1", core.Report{Fault: core.UnreadPrefix + "no libcxi", Devices: []string{}})
	if held := w.views(); len(held) != 1 || held[0].State != Held {
		t.Errorf("held: %+v", held)
	}
	accepted := done(t, w.step(Accept{Call: 2, Node: "n1"}))
	if got := w.m.nodes["n1"].Inventory; accepted.Err == nil || len(got) != 2 {
		t.Errorf("the node has to have the NICs %v, accepted: %v", got, accepted)
	}
}
