package request

import "strings"

// nearest is the option whose name is at most two edits from name, in any case, or "".
func nearest(name string) string {
	if len(name) > 32 {
		return ""
	}
	name = strings.ToLower(name)
	best, least := "", 3
	for _, o := range table {
		for _, known := range o.names {
			if d := distance(name, known); d < least && d < len(known) {
				best, least = known, d
			}
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
