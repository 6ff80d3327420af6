package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// seal begins the last line of a file that Weft wrote, so that an edit by hand is known.
const seal = " weft seal "

// Sealed is a text with its seal. The text ends its last line, and comment begins a comment in its language.
func Sealed(comment, text string) []byte { return []byte(text + comment + seal + Sum(text) + "\n") }

// Sum is short: it guards against a hand's edit, not against a forger.
func Sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:8])
}

// IsSealed reports whether Weft wrote a file, and whether the file is still as Weft wrote it.
func IsSealed(text []byte) (ours, intact bool) {
	s := string(text)
	i := strings.LastIndex(s, seal)
	if i < 0 {
		return false, false
	}
	start := strings.LastIndexByte(s[:i], '\n') + 1
	return true, string(Sealed(s[start:i], s[:start])) == s
}
