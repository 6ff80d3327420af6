package allocator

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

const (
	last      = 1<<16 - 1 // the highest VNI
	maxText   = 64 << 10  // bytes of a range list
	maxRanges = 4096      // ranges of a pool
)

// Range is the VNIs from First to Last, both included.
type Range struct {
	First, Last core.VNI
}

func (r Range) String() string {
	if r.First == r.Last {
		return strconv.Itoa(int(r.First))
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// ParseRanges reads VNIs and ranges of VNIs, such as "1024-65535" or "2000-2999,4000", in the order written. A VNI is a decimal number from 1 to 65535;
// no VNI may be named twice. Blanks around numbers and commas are accepted. At most 64 KiB and 4,096 ranges.
func ParseRanges(s string) ([]Range, error) {
	if len(s) > maxText {
		return nil, core.Errorf(core.BadConfig, "VNI ranges: %d bytes are more than the %d allowed", len(s), maxText).WithRemedy("join neighbouring VNIs to ranges")
	}
	if strings.TrimSpace(s) == "" {
		return nil, bad(s, "no VNI is named")
	}
	if n := strings.Count(s, ",") + 1; n > maxRanges {
		return nil, core.Errorf(core.BadConfig, "VNI ranges: %d of them are more than the %d allowed", n, maxRanges).WithRemedy("join neighbouring VNIs to ranges")
	}
	var out []Range
	for item := range strings.SplitSeq(s, ",") {
		r, err := parseRange(item)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	sorted := slices.Clone(out)
	slices.SortFunc(sorted, byFirst)
	for i := 1; i < len(sorted); i++ {
		if sorted[i].First <= sorted[i-1].Last {
			return nil, bad(s, fmt.Sprintf("%v and %v overlap", sorted[i-1], sorted[i]))
		}
	}
	return out, nil
}

func byFirst(a, b Range) int { return cmp.Compare(a.First, b.First) }

func parseRange(item string) (Range, error) {
	from, to, isRange := strings.Cut(item, "-")
	if !isRange {
		to = from
	}
	first, ok1 := number(from)
	end, ok2 := number(to)
	switch {
	case !ok1 || !ok2:
		return Range{}, bad(item, "it is not a number or two numbers joined by -")
	case first < 1 || first > last || end < 1 || end > last:
		return Range{}, bad(item, "VNIs go from 1 to 65535")
	case first > end:
		return Range{}, bad(item, "it ends before it begins")
	}
	return Range{core.VNI(first), core.VNI(end)}, nil
}

// number reads digits only; one that is too large for its type is too large for a VNI.
func number(s string) (int, bool) {
	s = strings.Trim(s, " \t")
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return last + 1, true
	}
	return int(n), true
}

func bad(text, why string) *core.Error {
	return core.Errorf(core.BadConfig, "VNI range %q: %s", core.Clip(text), why).WithRemedy(`write it as "1024-65535" or "2000-2999,4000"`)
}
