package record_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

func TestChecker(t *testing.T) {
	meta := engine.Meta{Head: core.Head{Store: "a", Epoch: 1, Revision: 1}, Serial: 7}
	seven := engine.Reservation{Serial: 7, First: engine.Join{Serial: 7, Node: "n1"}}
	active := engine.Transition{Serial: 7, State: engine.Active}
	for name, c := range map[string]struct {
		records []engine.Record
		want    []string
	}{
		"an empty store": {},
		"sound": {
			records: []engine.Record{meta, engine.Node{Name: "n1"}, seven, active, engine.Join{Serial: 7, Node: "n2"}},
		},
		"no meta": {[]engine.Record{seven}, []string{
			"reservation 7: its serial is higher than 0, the highest that was given", "its meta record is missing",
		}},
		"no id": {[]engine.Record{engine.Meta{}}, []string{
			"meta: the store's id has 0 bytes", "its meta record is missing",
		}},
		"twice": {[]engine.Record{meta, seven, seven}, []string{"reservation 7: it comes twice, or out of order"}},
		"too high": {[]engine.Record{meta, engine.Tombstone{Serial: 8}}, []string{
			"tombstone 8: its serial is higher than 7, the highest that was given",
		}},
		"alone": {[]engine.Record{meta, active, engine.Join{Serial: 7, Node: "n2\n"}}, []string{
			"phase 7: its reservation is missing", `join 7 "n2\n": its reservation is missing`,
		}},
		"no state": {
			[]engine.Record{meta, seven, engine.Transition{Serial: 7, State: 9}}, []string{"phase 7: its state is 9"},
		},
		"another's node": {
			[]engine.Record{meta, engine.Reservation{Serial: 7}},
			[]string{"reservation 7: its first node is of reservation 0"},
		},
		"a long past": {[]engine.Record{engine.Meta{Head: meta.Head, Past: make([]engine.Past, engine.MaxPast+1)}}, []string{
			"meta: it remembers 129 incarnations, and 128 at most",
		}},
	} {
		var got []string
		checker := record.Checker{Tell: func(err error) { got = append(got, err.Error()) }}
		for _, r := range c.records {
			checker.Take(r)
		}
		checker.End()
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Move's bytes are read as they were written, and no others are.
func TestMove(t *testing.T) {
	for _, m := range []record.Move{{To: "/a"}, {From: "/b"}} {
		if got, err := record.ReadMove(m.Bytes()); err != nil || got != m {
			t.Errorf("%+v, %v", got, err)
		}
		if core.ReasonOf(m.Refused("s")) != core.StoreMoved {
			t.Errorf("%+v can be used", m)
		}
	}
	for _, text := range []string{"", "a", "\x00", "a\x00b"} {
		if m, err := record.ReadMove([]byte(text)); core.ReasonOf(err) != core.StoreCorrupt {
			t.Errorf("%q: %+v, %v", text, m, err)
		}
	}
	if err := (record.Move{}).Refused("s"); err != nil {
		t.Error(err)
	}
}
