package hostlist

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Parse reads names and bracketed names with commas between, such as "login,n[001-003,7],r[1-2]n[1-3]-ib". Numbers in brackets are padded as the lower
// one is: [08-10] is 08, 09, 10. Blanks around a name are accepted; an empty text is an empty list. See the limits of this package.
func Parse(s string) (List, error) {
	if len(s) > MaxText {
		return List{}, tooMany("bytes", uint64(len(s)), MaxText)
	}
	p := parser{s: s}
	p.blanks()
	if p.at == len(s) {
		return List{}, nil
	}
	var l List
	for {
		t, err := p.term()
		if err != nil {
			return List{}, err
		}
		l.terms = append(l.terms, t)
		l.count = add(l.count, t.count())
		p.blanks()
		if p.at == len(s) {
			return l, nil
		}
		if s[p.at] != ',' {
			return List{}, p.bad(p.at, "%q cannot stand in a name", rune(s[p.at]))
		}
		p.at++
		p.blanks()
	}
}

type parser struct {
	s      string
	at     int
	ranges int
}

// bad is the error at a byte of the text: it shows what stands there.
func (p *parser) bad(at int, format string, args ...any) error {
	near := p.s[max(at-20, 0):min(at+20, len(p.s))]
	return core.Errorf(core.BadCall, "hostlist: byte %d, near %q: %s", at+1, strings.ToValidUTF8(near, "?"), fmt.Sprintf(format, args...)).
		WithRemedy("write it as n[001-003,7] or as names with commas between")
}

func (p *parser) blanks() {
	for p.at < len(p.s) && (p.s[p.at] == ' ' || p.s[p.at] == '\t') {
		p.at++
	}
}

// one counts a name or range against the limit.
func (p *parser) one() error {
	if p.ranges++; p.ranges > MaxRanges {
		return p.bad(p.at, "there are more than %d names and ranges", MaxRanges)
	}
	return nil
}

func (p *parser) term() (term, error) {
	var t term
	begin, length := p.at, 0
	if err := p.one(); err != nil {
		return t, err
	}
	for {
		from := p.at
		for p.at < len(p.s) && inName(p.s[p.at]) {
			p.at++
		}
		t.text = append(t.text, p.s[from:p.at])
		length += p.at - from
		if p.at == len(p.s) || p.s[p.at] != '[' {
			break
		}
		if len(t.groups) == MaxGroups {
			return t, p.bad(p.at, "a name has more than %d bracketed groups", MaxGroups)
		}
		g, longest, err := p.group()
		if err != nil {
			return t, err
		}
		t.groups = append(t.groups, g)
		length += longest
	}
	switch {
	case length == 0 && p.at < len(p.s) && p.s[p.at] != ',':
		return t, p.bad(p.at, "%q cannot stand in a name", rune(p.s[p.at]))
	case length == 0:
		return t, p.bad(begin, "a name is empty")
	case !canBegin(p.s[begin]):
		return t, p.bad(begin, "a name cannot begin with %q", rune(p.s[begin]))
	case length > MaxName:
		return t, p.bad(begin, "a name is longer than %d bytes", MaxName)
	}
	return t, nil
}

// group reads from [ to ] and says how many digits its longest number has.
func (p *parser) group() (group, int, error) {
	var g group
	open, longest := p.at, 0
	for {
		p.at++ // the bracket or comma
		if err := p.one(); err != nil {
			return nil, 0, err
		}
		s, err := p.span(open)
		if err != nil {
			return nil, 0, err
		}
		g = append(g, s)
		longest = max(longest, digits(s.high, s.width))
		switch {
		case p.at == len(p.s):
			return nil, 0, p.bad(open, "the bracket is not closed")
		case p.s[p.at] == ']':
			p.at++
			return g, longest, nil
		case p.s[p.at] != ',':
			return nil, 0, p.bad(p.at, "%q cannot stand in brackets, only numbers and ranges can", rune(p.s[p.at]))
		}
	}
}

func (p *parser) span(open int) (span, error) {
	begin := p.at
	low, width, err := p.number(open)
	if err != nil {
		return span{}, err
	}
	if p.at == len(p.s) || p.s[p.at] != '-' {
		return span{low, low, width}, nil
	}
	p.at++
	high, wide, err := p.number(open)
	switch {
	case err != nil:
		return span{}, err
	case high < low:
		return span{}, p.bad(begin, "the range ends before it begins")
	case wide > width && wide != digits(high, 1):
		return span{}, p.bad(begin, "the two ends of the range are padded differently")
	}
	return span{low, high, width}, nil
}

// number reads a number and how many digits it was written with.
func (p *parser) number(open int) (uint64, int, error) {
	from := p.at
	for p.at < len(p.s) && isDigit(p.s[p.at]) {
		p.at++
	}
	switch width := p.at - from; {
	case width == 0 && p.at == len(p.s):
		return 0, 0, p.bad(open, "the bracket is not closed")
	case width == 0:
		return 0, 0, p.bad(from, "a number is missing")
	case width > MaxDigits:
		return 0, 0, p.bad(from, "a number has more than %d digits", MaxDigits)
	default:
		n, err := strconv.ParseUint(p.s[from:p.at], 10, 64)
		return n, width, err
	}
}
