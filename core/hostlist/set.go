package hostlist

import (
	"iter"
	"slices"
)

// MaxStates bounds a Set: a step of reading a name that no other name shares. 11,136 consecutive names take about twenty, as many out of 100,000 at
// random about 1,500.
const MaxStates = 1 << 18

// Set is a set of names: the smallest automaton that reads them, so its size is that of what is irregular in the names, not their number. It does not
// change once made, and is safe for concurrent use. The zero value is empty.
type Set struct {
	states []state
	edges  []edge
	root   uint32
	count  uint64
}

// state is a step of reading: whether a name may end here, and where its edges begin; they end where those of the next state begin.
type state struct {
	edges uint32
	final bool
}

// edge leads on one byte to another state: byte<<24 | state. The edges of a state are in the order of their bytes.
type edge uint32

func (e edge) byte() byte { return byte(e >> 24) }
func (e edge) to() uint32 { return uint32(e & (1<<24 - 1)) }

// dead is the state from which no name ends; it is the root of an empty set.
const dead = 0

// ParseSet reads a list as a set.
func ParseSet(s string) (*Set, error) {
	l, err := Parse(s)
	if err != nil {
		return nil, err
	}
	return l.Set()
}

// Set is the set of the list's names. The error says that they are too irregular for MaxStates.
func (l List) Set() (*Set, error) {
	b := newBuilder()
	root := b.list(l)
	return b.finish(root)
}

func (s *Set) out(at uint32) []edge {
	if int(at) >= len(s.states) {
		return nil
	}
	end := len(s.edges)
	if int(at)+1 < len(s.states) {
		end = int(s.states[at+1].edges)
	}
	return s.edges[s.states[at].edges:end]
}

func (s *Set) final(at uint32) bool { return int(at) < len(s.states) && s.states[at].final }

// Contains reports whether the name is in the set; its cost grows with the length of the name only.
func (s *Set) Contains(name string) bool {
	at := s.root
next:
	for i := range len(name) {
		for _, e := range s.out(at) {
			if e.byte() == name[i] {
				at = e.to()
				continue next
			}
		}
		return false
	}
	return s.final(at)
}

// Count is how many names the set has; math.MaxUint64 stands for that many or more.
func (s *Set) Count() uint64 { return s.count }

// All goes through the names in the order of their bytes.
func (s *Set) All() iter.Seq[string] {
	return func(yield func(string) bool) { s.all(make([]byte, 0, MaxName), s.root, yield) }
}

func (s *Set) all(b []byte, at uint32, yield func(string) bool) bool {
	if s.final(at) && !yield(string(b)) {
		return false
	}
	for _, e := range s.out(at) {
		if !s.all(append(b, e.byte()), e.to(), yield) {
			return false
		}
	}
	return true
}

// ExpandMax is the names in the order of Compare, or an error when they are more than limit.
func (s *Set) ExpandMax(limit int) ([]string, error) {
	if limit < 0 || s.count > uint64(limit) {
		return nil, tooMany("names", s.count, limit)
	}
	out := slices.AppendSeq(make([]string, 0, s.count), s.All())
	slices.SortFunc(out, Compare)
	return out, nil
}

// Fold writes the set as a list in the order of Compare, or gives an error when its names are more than limit.
func (s *Set) Fold(limit int) (string, error) {
	names, err := s.ExpandMax(limit)
	if err != nil {
		return "", err
	}
	return Fold(names), nil
}
