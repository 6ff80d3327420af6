package rundir

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Bounds of files about the agent's start, in bytes.
const (
	maxBoot  = 256      // a boot id's
	maxStart = 64 << 10 // of a Start
)

// Start is the agent's first start in a boot, until each scheduler has told which jobs ran then.
type Start struct {
	Boot  string   `json:"boot"`
	Since int64    `json:"since"`          // CLOCK_BOOTTIME in ns
	Told  []string `json:"told,omitempty"` // labels of the schedulers that have
}

// FirstStart reports whether not all schedulers have told yet which jobs ran at the agent's first start in this boot: that is now, or was before. Exemptions
// of a boot before end with it. now is CLOCK_BOOTTIME in ns.
func (d Dir) FirstStart(boot string, now int64) (s Start, first bool, err error) {
	noted, err := d.read(d.path(bootName), maxBoot, checkOwner)
	switch {
	case err == nil && strings.TrimSpace(string(noted)) == boot:
		return Start{}, false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Start{}, false, err
	}
	used := err == nil
	text, err := d.read(d.path(startName), maxStart, checkOwner)
	switch {
	case err == nil && json.Unmarshal(text, &s) == nil && s.Boot == boot:
		return s, true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Start{}, false, err
	}
	// In a run directory that was never used, what is exempt is what weft-hook let go by before the agent's first start.
	if used || err == nil {
		if err := os.RemoveAll(d.path(exempts)); err != nil {
			return Start{}, false, core.Errorf(core.BadConfig, "%s: %w", d.path(exempts), err)
		}
	}
	s = Start{Boot: boot, Since: now}
	return s, true, d.write(s)
}

// NoteTold remembers that a scheduler has told, and that the exemptions that follow are made.
func (d Dir) NoteTold(s *Start, scheduler string) error {
	if slices.Contains(s.Told, scheduler) {
		return nil
	}
	s.Told = append(s.Told, scheduler)
	return d.write(*s)
}

func (d Dir) write(s Start) error {
	text, err := json.Marshal(s)
	if err != nil {
		return core.Errorf(core.InternalFault, "%s: %w", d.path(startName), err)
	}
	return d.note(startName, text)
}

// NoteStart says that the agent has started in this boot, and that all schedulers have told.
func (d Dir) NoteStart(boot string) error {
	if err := d.note(bootName, []byte(boot)); err != nil {
		return err
	}
	if err := remove(d.path(startName)); err != nil {
		return core.Errorf(core.BadConfig, "%s: %w", d.path(startName), err)
	}
	return nil
}

func (d Dir) note(name string, text []byte) error {
	return d.put(core.BadConfig, d.path(name), append(text, '\n'))
}
