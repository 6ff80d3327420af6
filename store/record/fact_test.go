package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// laterNode is a Node of a later release, which has added two facts.
type laterNode struct {
	engine.Node
	Rack  string
	Slots []string
}

// ours is this release's newest fact of a Node.
var ours = newest[engine.TableNode]

func (n *laterNode) form(c *coder) {
	node(c, &n.Node)
	fact(c, ours+1, &n.Rack, (*coder).text)
	fact(c, ours+2, &n.Slots, (*coder).texts)
}

func (n laterNode) encode() []byte {
	c := coder{out: []byte{Version, byte(engine.TableNode)}}
	n.form(&c)
	return attach(c.out, 0, c.grown)
}

func decodeLater(t *testing.T, b []byte) (n laterNode) {
	t.Helper()
	fields, facts, ok := split(b)
	c := coder{reads: true, in: fields, facts: facts, names: map[string]string{}}
	n.form(&c)
	if !ok || c.bad != "" {
		t.Fatalf("%x: %t, %s", b, ok, c.bad)
	}
	return n
}

// An older release reads a record with facts that it does not know, changes and writes it. The facts are still there.
func TestFactsOfALaterRelease(t *testing.T) {
	drained := engine.Node{Name: "n1", Boot: "b", Drained: "a fan"}
	for name, c := range map[string]struct {
		wrote laterNode
		knows uint64 // of them, how many this release does
		want  laterNode
	}{
		"both":              {laterNode{Rack: "x", Slots: []string{"s", "t"}}, 0, laterNode{Rack: "x", Slots: []string{"s", "t"}}},
		"the second alone":  {laterNode{Slots: []string{""}}, 0, laterNode{Slots: []string{""}}},
		"none":              {laterNode{}, 0, laterNode{}},
		"the first is ours": {laterNode{Rack: "x1", Slots: []string{"s1"}}, 1, laterNode{Slots: []string{"s1"}}},
		"both are ours":     {laterNode{Rack: "x1", Slots: []string{"s1"}}, 2, laterNode{}},
	} {
		t.Run(name, func(t *testing.T) {
			c.wrote.Node = engine.Node{Name: "n1", Boot: "b"}
			old := c.wrote.encode()
			if d := cmp.Diff(c.wrote, decodeLater(t, old)); d != "" {
				t.Errorf("there and back: %s", d)
			}
			var d Decoder
			if got, err := d.Decode(old); err != nil || cmp.Diff(engine.Record(c.wrote.Node), got) != "" {
				t.Errorf("this release reads %+v, %v", got, err)
			}
			rec, err := Append(nil, drained)
			if err != nil {
				t.Fatal(err)
			}
			defer func(n uint64) { newest[engine.TableNode] = n }(newest[engine.TableNode])
			newest[engine.TableNode] = ours + c.knows
			kept, err := Keep(rec, old)
			if err != nil {
				t.Fatal(err)
			}
			if kept == nil {
				kept = rec
			}
			c.want.Node = drained
			if d := cmp.Diff(c.want, decodeLater(t, kept)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Facts are the numbers of a record's facts, and the highest that its form should write.
func Facts(rec []byte) (numbers []uint64, newestOfTable uint64) {
	_, facts, _ := split(rec)
	for _, f := range facts {
		numbers = append(numbers, f.number)
	}
	return numbers, newest[rec[1]&^grown]
}

func TestBrokenFacts(t *testing.T) {
	plain, err := Append(nil, engine.Text{Hash: "h", Text: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tail := range map[string][]byte{
		"no size":         {},
		"no facts":        {0, 0, 0, 0},
		"more than it is": {1, 1, 'x', 0xff, 0xff, 0xff, 0xff},
		"number 0":        {0, 1, 'x', 0, 0, 0, 3},
		"twice":           {1, 1, 'x', 1, 1, 'x', 0, 0, 0, 6},
		"cut":             {1, 2, 'x', 0, 0, 0, 3},
		"no length":       {1, 0, 0, 0, 1},
	} {
		b := append([]byte(nil), plain...)
		b[1] |= grown
		b = append(b, tail...)
		var d Decoder
		r, err := d.Decode(b)
		if e := core.AsError(err); e == nil || e.Reason != core.StoreCorrupt {
			t.Errorf("%s: read as %+v, %v", name, r, err)
		}
		if r, err := Keep(plain, b); err == nil {
			t.Errorf("%s: kept as %x", name, r)
		}
	}
	// A field behind those of version 1 is no fact.
	c := coder{reads: true, in: append(plain[2:len(plain):len(plain)], 0), names: map[string]string{}}
	var r engine.Text
	text(&c, &r)
	fact(&c, 1, &r.Hash, (*coder).text)
	if c.bad == "" {
		t.Error("a record with more fields than it should have was read")
	}
	large, err := Append(nil, engine.Text{Text: string(make([]byte, MaxSize-10))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Keep(large, attach(plain, 0, []byte{1, 1, 'x'}))
	if e := core.AsError(err); e == nil || e.Reason != core.StoreFailed {
		t.Errorf("a record that its facts make too large: %v", err)
	}
}
