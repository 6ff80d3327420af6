package hostlist

import (
	"encoding/binary"

	"github.com/weft-hpc/weft/core"
)

const (
	accept   = 1         // the state in which a name ends that no longer one continues
	maxSteps = 1 << 22   // edges looked at in making a set
	maxMade  = 1 << 19   // states made on the way, also those that no name reaches in the end
	maxBytes = 128 << 20 // of remembered unions
)

// builder makes states, each once: two that read the same are one. States are made from the ends of names to their beginnings.
type builder struct {
	Set
	known  map[string]uint32 // by edges and final
	unions map[string]uint32 // by the states united
	key    []byte
	steps  int
	bytes  int
	full   bool // a bound was met: what was built is void
}

func newBuilder() *builder {
	b := &builder{known: map[string]uint32{}, unions: map[string]uint32{}}
	b.state(nil, false) // dead
	b.state(nil, true)  // accept
	return b
}

func makeEdge(c byte, to uint32) edge { return edge(c)<<24 | edge(to) }

// state is the one state with these edges; dead where no name could end.
func (b *builder) state(out []edge, final bool) uint32 {
	b.key = append(b.key[:0], 0)
	if final {
		b.key[0] = 1
	}
	for _, e := range out {
		b.key = binary.LittleEndian.AppendUint32(b.key, uint32(e))
	}
	if at, ok := b.known[string(b.key)]; ok {
		return at
	}
	if len(b.states) == maxMade {
		b.full = true
	}
	if b.full {
		return dead
	}
	at := uint32(len(b.states))
	b.known[string(b.key)] = at
	b.states = append(b.states, state{uint32(len(b.edges)), final})
	b.edges = append(b.edges, out...)
	return at
}

// chain reads text and goes on at to.
func (b *builder) chain(text string, to uint32) uint32 {
	for i := len(text) - 1; i >= 0; i-- {
		to = b.state([]edge{makeEdge(text[i], to)}, false)
	}
	return to
}

// finish keeps of what was built what names reach from root.
func (b *builder) finish(root uint32) (*Set, error) {
	s := &Set{}
	moved := make([]uint32, len(b.states))
	counts := make([]uint64, len(b.states))
	reached := make([]bool, len(b.states))
	var reach func(uint32)
	reach = func(at uint32) {
		if reached[at] {
			return
		}
		reached[at] = true
		for _, e := range b.out(at) {
			reach(e.to())
		}
	}
	reach(dead)
	if !b.full {
		reach(root)
	}
	for at := range b.states { // what a state leads to was made before it
		if !reached[at] {
			continue
		}
		from := b.states[at]
		moved[at] = uint32(len(s.states))
		s.states = append(s.states, state{uint32(len(s.edges)), from.final})
		if from.final {
			counts[at] = 1
		}
		for _, e := range b.out(uint32(at)) {
			counts[at] = add(counts[at], counts[e.to()])
			s.edges = append(s.edges, makeEdge(e.byte(), moved[e.to()]))
		}
	}
	if b.full || len(s.states) > MaxStates {
		return nil, core.Errorf(core.BadCall, "hostlist: its names are too irregular to be made a set: at most %d states of reading them are allowed", MaxStates).
			WithRemedy("write fewer names, or names of one form")
	}
	s.root, s.count = moved[root], counts[root]
	return s, nil
}
