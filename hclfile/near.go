package hclfile

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Near finds the known word that was probably meant, or "". Words of less than four letters must differ in one letter only.
func Near(given string, known []string) string {
	if len(given) > 64 {
		return ""
	}
	best, least := "", 3
	if len(given) < 4 {
		least = 2
	}
	for _, word := range known {
		d := levenshtein.Distance(strings.ToLower(given), strings.ToLower(word), nil)
		if d == 2 && sameLetters(given, word) {
			d = 1 // two letters are exchanged, the commonest slip
		}
		if d < least && d < len(word) && word != given {
			best, least = word, d
		}
	}
	return best
}

func sameLetters(a, b string) bool {
	x, y := []byte(strings.ToLower(a)), []byte(strings.ToLower(b))
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
