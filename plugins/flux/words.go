package flux

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/schollz/mnemonicode"
)

// parseWords reads an id as six words of Oren Tirosh's mnemonic encoding, which flux-core has in libutil. Each half has
// three words. The lower half and the lowest word come first.
func parseWords(text string) (uint64, bool) {
	given := strings.FieldsFunc(text, func(r rune) bool { return r == '-' })
	if len(given) != 6 {
		return 0, false
	}
	id, err := mnemonicode.DecodeWordList(nil, given)
	// The decoder takes words that are only alike.
	if err != nil || len(id) != 8 || !slices.Equal(mnemonicode.EncodeWordList(nil, id), given) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(id), true
}
