package hostlist

import "iter"

// Expand goes through the names in the order written: the last group of a name runs fastest.
func (l List) Expand() iter.Seq[string] {
	return func(yield func(string) bool) {
		var buf [MaxName]byte
		for _, t := range l.terms {
			if !t.expand(buf[:0], 0, yield) {
				return
			}
		}
	}
}

// expand goes on with a name of which b is written, up to text i.
func (t term) expand(b []byte, i int, yield func(string) bool) bool {
	b = append(b, t.text[i]...)
	if i == len(t.groups) {
		return yield(string(b))
	}
	for _, s := range t.groups[i] {
		for n := s.low; n <= s.high; n++ {
			if !t.expand(appendNumber(b, n, s.width), i+1, yield) {
				return false
			}
		}
	}
	return true
}

// ExpandMax is the names in the order written, or an error when they are more than limit.
func (l List) ExpandMax(limit int) ([]string, error) {
	if limit < 0 || l.count > uint64(limit) {
		return nil, tooMany("names", l.count, limit)
	}
	out := make([]string, 0, l.count)
	for name := range l.Expand() {
		out = append(out, name)
	}
	return out, nil
}
