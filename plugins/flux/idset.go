package flux

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxIDs bounds a set of ranks or cores.
const maxIDs = 1 << 20

// span is the ids from low to high.
type span struct{ low, high int }

// parseIDs reads an idset (RFC 22): 0-3,7, in brackets or not, ascending.
func parseIDs(text string) ([]span, error) {
	if s, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(s, "]"); !ok {
			return nil, fmt.Errorf("idset %.40q: its bracket is not closed", text)
		}
	}
	var all []span
	last, n := -1, 0
	for one := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(one, "-")
		a, err := parseIndex(low)
		b := a
		if err == nil && ranged {
			b, err = parseIndex(high)
		}
		if n += b - a + 1; err != nil || a <= last || b < a || n > maxIDs {
			return nil, fmt.Errorf("idset %.40q: %.20q is no range of ascending ids, %d at most", text, one, maxIDs)
		}
		all, last = append(all, span{a, b}), b
	}
	return all, nil
}

// parseIndex reads a number as RFC 22 writes it, without zeros in front.
func parseIndex(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err == nil && strconv.FormatUint(n, 10) != s {
		err = strconv.ErrSyntax
	}
	return int(n), err //nolint:gosec // of 31 bits
}

func count(spans []span) int {
	n := 0
	for _, s := range spans {
		n += s.high - s.low + 1
	}
	return n
}

func within(spans []span, id int) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.low <= id && id <= s.high })
}
