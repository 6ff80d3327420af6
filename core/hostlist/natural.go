package hostlist

import (
	"cmp"
	"strings"
)

// Compare orders names as people do: numbers in them by value, so n2 comes before n10; names alike in that by their bytes.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if !isDigit(x[0]) || !isDigit(y[0]) {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		var n, m string
		n, x = cutNumber(x)
		m, y = cutNumber(y)
		if c := cmp.Or(cmp.Compare(len(n), len(m)), strings.Compare(n, m)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// cutNumber takes the number off the front of s, without its leading zeros.
func cutNumber(s string) (number, rest string) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return strings.TrimLeft(s[:i], "0"), s[i:]
}
