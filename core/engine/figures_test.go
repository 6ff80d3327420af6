package engine

import "testing"

func TestHolding(t *testing.T) {
	held := func(unknown bool, nodes ...stuck) *reservation {
		r := &reservation{Reservation: Reservation{Unknown: unknown}, state: Held}
		for _, s := range nodes {
			r.joins.list = append(r.joins.list, &join{stuck: s})
		}
		return r
	}
	for _, c := range []struct {
		r    *reservation
		want Holding
	}{
		{held(false, stuckBusy), HeldBusy},
		{held(false, stuckAway), HeldAway},
		{held(false, notStuck, stuckBusy, stuckAway), HeldAway},
		{held(false, notStuck, stuckBusy), HeldBusy},
		{held(false, stuckBefore), HeldAway},
		{held(true), HeldUnknown},
	} {
		if got := c.r.holding(); got != c.want {
			t.Errorf("%+v is held as %s, want %s", c.r.joins.list, got, c.want)
		}
	}
}
