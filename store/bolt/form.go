package bolt

import (
	"encoding/json"
	"fmt"

	"github.com/weft-hpc/weft/core/node"
)

// formVersion is that of a ledger's records. An older one decodes. A newer one is refused: a ledger does not outlive a
// reboot anyway. A new optional field needs no new version: an older agent reads over it.
const formVersion = 1

// form is a record in the file. JSON is fast enough for some records a job, and can be read by a person in need.
type form struct {
	Version   int             `json:"v"`
	Entry     *node.Entry     `json:"entry,omitempty"`
	Tombstone *node.Tombstone `json:"tombstone,omitempty"`
	Seen      *node.Seen      `json:"seen,omitempty"`
	Step      *node.Step      `json:"step,omitempty"`
}

func encodeForm(r node.Record) ([]byte, error) {
	f := form{Version: formVersion}
	switch r := r.(type) {
	case node.Entry:
		f.Entry = &r
	case node.Tombstone:
		f.Tombstone = &r
	case node.Seen:
		f.Seen = &r
	case node.Step:
		f.Step = &r
	default:
		return nil, fmt.Errorf("record %T: a ledger has no form for it", r)
	}
	return json.Marshal(f)
}

func decodeForm(b []byte) (node.Record, error) {
	var f form
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	switch {
	case f.Version > formVersion:
		return nil, fmt.Errorf("its version %d is newer than this release's %d: use the newer agent, or reboot the node",
			f.Version, formVersion)
	case f.Entry != nil:
		return *f.Entry, nil
	case f.Tombstone != nil:
		return *f.Tombstone, nil
	case f.Seen != nil:
		return *f.Seen, nil
	case f.Step != nil:
		return *f.Step, nil
	}
	return nil, fmt.Errorf("it is of no known kind")
}
