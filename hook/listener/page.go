package listener

import (
	"bytes"
	"encoding/json"
	"sort"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// Page is what a Handler returns for a part of a list; Next is the Cursor of the request for the part after it, empty at the end.
type Page struct {
	Body any
	Next string
	Note string // what the caller must know of Body
}

// Slice is the page that r asks for of a list that is sorted by key, each key once: as many elements as a reply holds. Since a page begins after the
// key that ended the one before, a list may change in between: what stays in it is told once.
func Slice[T any](r hook.Request, list []T, key func(T) string) (Page, error) {
	room := r.Room
	if room <= 0 {
		room = DefaultReply
	}
	first := 0
	if r.Cursor != "" {
		first = sort.Search(len(list), func(i int) bool { return key(list[i]) > r.Cursor })
	}
	var out bytes.Buffer
	out.WriteByte('[')
	for i := first; i < len(list); i++ {
		one, err := json.Marshal(list[i])
		if err != nil {
			return Page{}, core.Errorf(core.InternalFault, "list of %s: %s: %w", r.Verb, core.Clip(key(list[i])), err)
		}
		// Next may be as long as escaping makes it: six bytes of JSON for each of its own.
		if out.Len()+len(one)+2+6*len(key(list[i])) > room {
			if i == first {
				return Page{}, core.Errorf(core.InternalFault, "list of %s: %s: it has %d bytes and a reply holds %d", r.Verb, core.Clip(key(list[i])), len(one), room)
			}
			out.WriteByte(']')
			return Page{Body: json.RawMessage(out.Bytes()), Next: key(list[i-1])}, nil
		}
		if i > first {
			out.WriteByte(',')
		}
		out.Write(one)
	}
	out.WriteByte(']')
	return Page{Body: json.RawMessage(out.Bytes())}, nil
}
