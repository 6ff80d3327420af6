package hostlist

// String writes the list as it was read, blanks left out.
func (l List) String() string {
	var b []byte
	for i, t := range l.terms {
		if i > 0 {
			b = append(b, ',')
		}
		b = t.write(b)
	}
	return string(b)
}

func (t term) write(b []byte) []byte {
	for i, text := range t.text {
		b = append(b, text...)
		if i < len(t.groups) {
			b = t.groups[i].write(b)
		}
	}
	return b
}

// write a group; one of a single number needs no brackets.
func (g group) write(b []byte) []byte {
	if len(g) == 1 && g[0].low == g[0].high {
		return appendNumber(b, g[0].low, g[0].width)
	}
	for i, s := range g {
		b = append(b, "[,"[min(i, 1)])
		b = appendNumber(b, s.low, s.width)
		if s.high > s.low {
			b = append(b, '-')
			b = appendNumber(b, s.high, s.width)
		}
	}
	return append(b, ']')
}
