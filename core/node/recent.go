package node

import "slices"

// recent is a map that keeps its newest keys, at most `most` of them.
type recent[K comparable, V any] struct {
	most  int
	of    map[K]V
	order []K // oldest first
}

func newRecent[K comparable, V any](most int) recent[K, V] {
	return recent[K, V]{most: most, of: map[K]V{}}
}

func (r *recent[K, V]) has(key K) bool {
	_, known := r.of[key]
	return known
}

// put sets the value of key and returns the value that it drops for it, if any.
func (r *recent[K, V]) put(key K, value V) (oldest V, dropped bool) {
	if !r.has(key) {
		r.order = append(r.order, key)
	}
	r.of[key] = value
	if len(r.of) <= r.most {
		return oldest, false
	}
	oldest = r.of[r.order[0]]
	delete(r.of, r.order[0])
	r.order = r.order[1:]
	return oldest, true
}

func (r *recent[K, V]) drop(key K) {
	if r.has(key) {
		delete(r.of, key)
		i := slices.Index(r.order, key)
		r.order = slices.Delete(r.order, i, i+1)
	}
}
