package hostlist

// Union is the names of s or t. The error says that they are too irregular for MaxStates.
func (s *Set) Union(t *Set) (*Set, error) {
	return combine(s, t, func(in, also bool) bool { return in || also })
}

// Intersect is the names of both s and t. The error is as of Union.
func (s *Set) Intersect(t *Set) (*Set, error) {
	return combine(s, t, func(in, also bool) bool { return in && also })
}

// Minus is the names of s that are not in t. The error is as of Union.
func (s *Set) Minus(t *Set) (*Set, error) {
	return combine(s, t, func(in, also bool) bool { return in && !also })
}

// Equal reports whether s and t have the same names.
func (s *Set) Equal(t *Set) bool {
	if s.count != t.count || len(s.states) != len(t.states) && len(s.states)*len(t.states) > 0 {
		return false
	}
	seen := map[uint32]uint32{}
	var equal func(x, y uint32) bool
	equal = func(x, y uint32) bool {
		if was, ok := seen[x]; ok {
			return was == y // both are the smallest automaton, so states pair off
		}
		seen[x] = y
		out, other := s.out(x), t.out(y)
		if s.final(x) != t.final(y) || len(out) != len(other) {
			return false
		}
		for i := range out {
			if out[i].byte() != other[i].byte() || !equal(out[i].to(), other[i].to()) {
				return false
			}
		}
		return true
	}
	return equal(s.root, t.root)
}

// pair is a state of each of two sets, reached by the same text.
type pair struct{ x, y uint32 }

// combine reads both sets at once; keep says whether a name stays by whether each has it.
func combine(s, t *Set, keep func(in, also bool) bool) (*Set, error) {
	b := newBuilder()
	done := map[pair]uint32{}
	var walk func(pair) uint32
	walk = func(p pair) uint32 {
		if p == (pair{dead, dead}) || b.full {
			return dead
		}
		if at, ok := done[p]; ok {
			return at
		}
		if len(done) > MaxStates {
			b.full = true
			return dead
		}
		var out []edge
		add := func(c byte, x, y uint32) {
			if to := walk(pair{x, y}); to != dead {
				out = append(out, makeEdge(c, to))
			}
		}
		left, right := s.out(p.x), t.out(p.y)
		for len(left) > 0 || len(right) > 0 {
			switch {
			case len(right) == 0 || len(left) > 0 && left[0].byte() < right[0].byte():
				add(left[0].byte(), left[0].to(), dead)
				left = left[1:]
			case len(left) == 0 || right[0].byte() < left[0].byte():
				add(right[0].byte(), dead, right[0].to())
				right = right[1:]
			default:
				add(left[0].byte(), left[0].to(), right[0].to())
				left, right = left[1:], right[1:]
			}
		}
		at := b.state(out, keep(s.final(p.x), t.final(p.y)))
		done[p] = at
		return at
	}
	return b.finish(walk(pair{s.root, t.root}))
}
