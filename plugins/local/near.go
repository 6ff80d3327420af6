package local

import "github.com/weft-hpc/weft/core"

// nearest is the option whose name is at most two edits from name, or "".
func nearest(name string) string {
	if len(name) > 32 {
		return ""
	}
	best, least := "", 3
	try := func(known string) {
		if d := distance(name, known); d < least && d < len(known) {
			best, least = known, d
		}
	}
	for _, o := range options {
		try(o.name)
	}
	for _, l := range limits {
		for _, r := range core.ResourceNames() {
			try(l.prefix + r)
		}
	}
	return best
}

// distance is Levenshtein's, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
