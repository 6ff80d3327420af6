package scheduler

import (
	"encoding/json"

	"github.com/weft-hpc/weft/core"
)

// ReadNote decodes JSON that came with a reservation into note. Its field "v" is its version, from 1 to newest.
func ReadNote(text []byte, newest int, note any) error {
	if len(text) > core.MaxNote {
		return core.Errorf(core.BadCall, "note: it has %d bytes and there may be %d", len(text), core.MaxNote)
	}
	var has struct {
		Version int `json:"v"`
	}
	err := json.Unmarshal(text, note)
	if err == nil {
		err = json.Unmarshal(text, &has)
	}
	switch {
	case err != nil:
		return core.Errorf(core.BadCall, "note: %w", err)
	case has.Version > newest:
		return core.Errorf(core.BadVersion, "note: it has version %d and this release reads %d", has.Version, newest)
	case has.Version < 1:
		return core.Errorf(core.BadCall, "note: it has no version")
	}
	return nil
}
