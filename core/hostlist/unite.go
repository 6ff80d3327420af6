package hostlist

import (
	"encoding/binary"
	"slices"
	"strings"
)

// path is names to be united with others: those that begin with text and go on at a state.
type path struct {
	text string
	to   uint32
}

// list is the state that reads the names of the list.
func (b *builder) list(l List) uint32 {
	paths := make([]path, 0, len(l.terms))
	for _, t := range l.terms {
		to := uint32(accept)
		for i := len(t.groups) - 1; i >= 0; i-- {
			to = b.group(t.groups[i], b.chain(t.text[i+1], to))
		}
		paths = append(paths, path{t.text[0], to})
	}
	return b.unite(paths)
}

// group is the state that reads one of the group's numbers and goes on at to.
func (b *builder) group(g group, to uint32) uint32 {
	paths := make([]path, 0, len(g))
	for _, s := range g {
		if s.low == s.high {
			paths = append(paths, path{string(appendNumber(nil, s.low, s.width)), to})
			continue
		}
		for low := s.low; low <= s.high; { // numbers of equally many digits at a time
			n := digits(low, s.width)
			high := min(s.high, power(n)-1)
			paths = append(paths, path{"", b.span(low, high, n, to)})
			low = high + 1
		}
	}
	return b.unite(paths)
}

// power is 10 to the n; n is at most MaxDigits.
func power(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// span is the state that reads a number of n digits from low to high and goes on at to.
func (b *builder) span(low, high uint64, n int, to uint32) uint32 {
	if n == 0 {
		return to
	}
	place := power(n - 1)
	first, last := low/place, high/place
	var out []edge
	whole := uint32(dead)
	for d := first; d <= last; d++ {
		from, until := uint64(0), place-1
		if d == first {
			from = low % place
		}
		if d == last {
			until = high % place
		}
		var next uint32
		if from > 0 || until < place-1 {
			next = b.span(from, until, n-1, to)
		} else {
			if whole == dead {
				whole = b.span(0, place-1, n-1, to)
			}
			next = whole
		}
		out = append(out, makeEdge('0'+byte(d), next))
	}
	return b.state(out, false)
}

// unite is the state that reads what any of the paths reads.
func (b *builder) unite(paths []path) uint32 {
	slices.SortFunc(paths, func(p, q path) int {
		if c := strings.Compare(p.text, q.text); c != 0 {
			return c
		}
		return int(p.to) - int(q.to)
	})
	return b.merge(slices.Compact(paths))
}

// merge unites paths that are sorted and differ. Those without text come first: they are states, whose edges take part as paths.
func (b *builder) merge(paths []path) uint32 {
	if b.steps += len(paths); b.full || b.steps > maxSteps {
		b.full = true
		return dead
	}
	switch {
	case len(paths) == 0:
		return dead
	case len(paths) == 1:
		return b.chain(paths[0].text, paths[0].to)
	}
	states := 0
	for states < len(paths) && paths[states].text == "" {
		states++
	}
	key := ""
	if states == len(paths) {
		key = b.unionKey(paths)
		if at, ok := b.unions[key]; ok {
			return at
		}
	}

	var final bool
	var steps []uint64 // byte<<32 | state, for the edges of states
	for _, p := range paths[:states] {
		final = final || b.final(p.to)
		for _, e := range b.out(p.to) {
			steps = append(steps, uint64(e.byte())<<32|uint64(e.to()))
		}
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	b.steps += len(steps)

	var out []edge
	texts := paths[states:]
	for len(steps) > 0 || len(texts) > 0 {
		c := byte(255)
		if len(steps) > 0 {
			c = byte(steps[0] >> 32)
		}
		if len(texts) > 0 {
			c = min(c, texts[0].text[0])
		}
		var next []path
		for len(steps) > 0 && byte(steps[0]>>32) == c {
			next = append(next, path{"", uint32(steps[0])})
			steps = steps[1:]
		}
		for len(texts) > 0 && texts[0].text[0] == c {
			next = append(next, path{texts[0].text[1:], texts[0].to})
			texts = texts[1:]
		}
		out = append(out, makeEdge(c, b.unite(next)))
	}
	at := b.state(out, final)
	if key != "" {
		if b.bytes += len(key); b.bytes > maxBytes {
			b.full = true
		}
		b.unions[key] = at
	}
	return at
}

func (b *builder) unionKey(paths []path) string {
	key := make([]byte, 0, 4*len(paths))
	for _, p := range paths {
		key = binary.LittleEndian.AppendUint32(key, p.to)
	}
	return string(key)
}
