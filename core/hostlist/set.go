package hostlist

import "slices"

// MaxSet bounds a Set, in names. The largest system that Weft is made for has 62,500 nodes.
const MaxSet = 1 << 18

// Set is a set of names in the order of their bytes. It does not change once made, and is safe for concurrent use.
// The zero value is empty.
type Set struct{ names []string }

// ParseSet reads a list as a set. The error says that the list cannot be read, or has more than MaxSet names; then
// the set is empty.
func ParseSet(s string) (Set, error) {
	l, err := Parse(s)
	if err != nil {
		return Set{}, err
	}
	names, err := l.ExpandMax(MaxSet)
	if err != nil {
		return Set{}, err
	}
	slices.Sort(names)
	return Set{slices.Clip(slices.Compact(names))}, nil
}

// Contains reports whether the name is in the set.
func (s Set) Contains(name string) bool {
	_, ok := slices.BinarySearch(s.names, name)
	return ok
}
