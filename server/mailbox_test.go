package server

import (
	"testing"

	"github.com/weft-hpc/weft/core"
)

func TestMailboxKeepsOrderAndItsBound(t *testing.T) {
	m := newMailbox()
	for i := range 3 {
		if !m.put(core.Orders{Heard: uint64(i)}, 3) {
			t.Fatalf("order %d was refused; 3 may wait", i)
		}
	}
	if m.put(core.Orders{}, 3) {
		t.Error("a fourth order was taken; 3 may wait")
	}
	<-m.bell
	for i, o := range m.take() {
		if o.Heard != uint64(i) {
			t.Errorf("order %d came in place %d", o.Heard, i)
		}
	}
	if left := m.take(); len(left) > 0 {
		t.Errorf("%d orders were given twice", len(left))
	}
	if !m.put(core.Orders{}, 3) {
		t.Error("an order was refused though none waits")
	}
	select {
	case <-m.bell:
	default:
		t.Error("an order waits and nobody is told")
	}
}
