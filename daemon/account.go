package daemon

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/observe"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/server"
)

// account is the file next to the store that keeps the account of observed jobs.
type account string

// maxAccount bounds the file, in bytes: every list in it is bounded.
const maxAccount = 64 << 20

// accountOf is where the account of a store is kept; nil: a store without a file has none.
func accountOf(c config.Server) server.Kept {
	if !c.OneFile() {
		return nil
	}
	return account(strings.TrimSuffix(c.Store, filepath.Ext(c.Store)) + ".observe.json")
}

func (a account) Load() (s observe.State, err error) {
	text, err := file.Read(string(a), maxAccount)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, core.Errorf(core.StoreCorrupt, "%s: %w", string(a), err)
	}
	return s, nil
}

func (a account) Save(s observe.State) error {
	text, err := json.Marshal(s)
	if err == nil {
		err = file.Replace(string(a), append(text, '\n'), file.How{Mode: 0o600})
	}
	if err != nil {
		return core.Errorf(core.StoreFailed, "%s: %w", string(a), err)
	}
	return nil
}
