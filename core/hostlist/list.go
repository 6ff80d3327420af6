// Package hostlist reads, writes and compares lists of node names as Slurm, Flux and PBS write them: n[001-003,7], r[1-2]n[1-3], n[1-3]-ib,
// x1000c0s0b0n0 and commas between.
//
// A List expands nothing until it is asked to: n[1-999999999] takes some bytes. It keeps the order and the repetitions as
// written. A Set answers whether a name is in it. Padding is part of a name: n001 and n1 are two nodes.
package hostlist

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/weft-hpc/weft/core"
)

// Limits of what is read. A text beyond them is refused, never cut.
const (
	MaxText   = 1 << 20 // bytes
	MaxRanges = 1 << 17 // names and ranges written, in all
	MaxGroups = 8       // bracketed groups in one name
	MaxName   = 255     // bytes of one name
	MaxDigits = 18      // digits of one bracketed number
)

// List is node names in the order written, folded. The zero value is empty.
type List struct {
	terms []term
	count uint64
}

// term is names that were written as one: the text before, between and behind its groups. len(text) is len(groups)+1.
type term struct {
	text   []string
	groups []group
}

// group is what stands in a pair of brackets.
type group []span

// span is the numbers from low to high, padded with zeros to width digits.
type span struct {
	low, high uint64
	width     int
}

// Count is how many names the list expands to, repetitions included; math.MaxUint64 stands for that many or more.
func (l List) Count() uint64 { return l.count }

// count is how many names the term expands to.
func (t term) count() uint64 {
	n := uint64(1)
	for _, g := range t.groups {
		sum := uint64(0)
		for _, s := range g {
			sum = add(sum, s.high-s.low+1)
		}
		n = mul(n, sum)
	}
	return n
}

// add and mul stop at math.MaxUint64.
func add(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry > 0 {
		return math.MaxUint64
	}
	return sum
}

func mul(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high > 0 {
		return math.MaxUint64
	}
	return low
}

// digits is how many digits the number has when padded to width.
func digits(n uint64, width int) int { return max(width, len(strconv.FormatUint(n, 10))) }

// appendNumber writes the number padded to width.
func appendNumber(b []byte, n uint64, width int) []byte {
	var buf [20]byte
	s := strconv.AppendUint(buf[:0], n, 10)
	for range width - len(s) {
		b = append(b, '0')
	}
	return append(b, s...)
}

// Valid reports whether s can be the name of one node: letters, digits, dots, underscores and hyphens, 1 to 255 of them. It begins with neither dot nor
// hyphen, for a name may become a file's or stand where a command expects an option.
func Valid(s string) bool {
	for i := range len(s) {
		if !inName(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= MaxName && canBegin(s[0])
}

func inName(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_' || c == '.'
}

func canBegin(c byte) bool { return c != '.' && c != '-' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func tooMany(what string, n uint64, limit int) *core.Error {
	return core.Errorf(core.BadCall, "hostlist: %d %s are more than the %d allowed", n, what, limit)
}
