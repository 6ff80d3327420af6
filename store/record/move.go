package record

import (
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Move says that a store was copied, and that no server may use it. The zero value says that it was not.
type Move struct {
	To   string // the place that took its part; empty: none did
	From string // where it comes from, while the copy has not ended; empty: it has
}

// maxPlace bounds the name of a place, in bytes.
const maxPlace = 8 << 10

// Bytes are those that ReadMove reads.
func (m Move) Bytes() []byte { return []byte(m.To + "\x00" + m.From) }

// ReadMove reads Bytes. The error is core.StoreCorrupt.
func ReadMove(b []byte) (Move, error) {
	to, from, ok := strings.Cut(string(b), "\x00")
	if !ok || len(b) > maxPlace || (to == "") == (from == "") {
		return Move{}, core.Errorf(core.StoreCorrupt, "store: the place in it where it was copied to cannot be read")
	}
	return Move{to, from}, nil
}

// Refused is why no server may use the store, which name names: core.StoreMoved. Nil: one may.
func (m Move) Refused(name string) error {
	switch {
	case m.To != "":
		return core.Errorf(core.StoreMoved, "store: %s: it was copied to %s, which has its part now", name, core.Clip(m.To)).
			WithRemedy("name that store in config.hcl; if it is not there, run the same `weft store copy` again")
	case m.From != "":
		return core.Errorf(core.StoreMoved, "store: %s: the copy from %s to it has not ended", name, core.Clip(m.From)).
			WithRemedy("run the same `weft store copy` again, or move this store away")
	}
	return nil
}
