package allocator

import "math/bits"

// bitmap is a set of small numbers.
type bitmap []uint64

func (b bitmap) set(i int)   { b[i>>6] |= 1 << (i & 63) }
func (b bitmap) clear(i int) { b[i>>6] &^= 1 << (i & 63) }

// next is the lowest number of the set from i on; -1 where there is none.
func (b bitmap) next(i int) int {
	w := i >> 6
	if w >= len(b) {
		return -1
	}
	word := b[w] &^ (1<<(i&63) - 1)
	for word == 0 {
		if w++; w == len(b) {
			return -1
		}
		word = b[w]
	}
	return w<<6 | bits.TrailingZeros64(word)
}
