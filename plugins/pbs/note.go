package pbs

import (
	"encoding/json"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

// noteVersion is raised when a note could no longer be understood by the release before.
const noteVersion = 1

// note is what Parse leaves for Describe. That of a prepare says nothing: qstat knows all of it.
type note struct {
	Version int    `json:"v"`
	Facts   *facts `json:"facts,omitempty"`
}

// facts are a job's where qstat cannot be asked for them.
type facts struct {
	User      string            `json:"user"`
	Group     string            `json:"group,omitempty"`
	Queue     string            `json:"queue,omitempty"`
	Account   string            `json:"account,omitempty"`
	Submitted int64             `json:"submitted,omitempty"`
	Vnodes    string            `json:"vnodes,omitempty"` // exec_vnode
	Wanted    map[string]string `json:"wanted,omitempty"` // by KEY of slingshot_KEY
}

func (n note) encode() ([]byte, error) {
	n.Version = noteVersion
	text, err := json.Marshal(n)
	if err != nil {
		return nil, core.Errorf(core.InternalFault, "note: %w", err)
	}
	if len(text) > core.MaxNote {
		return nil, core.Errorf(core.NotSupported, "job: what the hook tells of it has %d bytes and there may be %d", len(text), core.MaxNote)
	}
	return text, nil
}

func readNote(text []byte) (note, error) {
	var n note
	if err := scheduler.ReadNote(text, noteVersion, &n); err != nil {
		return note{}, err
	}
	return n, nil
}
