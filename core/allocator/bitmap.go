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

// full reports whether i to i+n-1 are all in the set; n is a power of two and i a multiple of it.
func (b bitmap) full(i, n int) bool {
	if i+n > len(b)<<6 {
		return false
	}
	if n < 64 {
		mask := uint64(1)<<n - 1
		return b[i>>6]>>(i&63)&mask == mask
	}
	for _, word := range b[i>>6 : (i+n)>>6] {
		if word != 1<<64-1 {
			return false
		}
	}
	return true
}
