package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// unansweredName is the log of the hooks that failed because the agent did not answer. Only root can read it.
const unansweredName = "unanswered.log"

// apart is how long after one such hook the next belongs to another absence of the agent.
const apart = 5 * time.Minute

// maxWhy bounds the words of one hook, in bytes, so that its line is whole.
const maxWhy = 256

// unanswered is a line of the log.
type unanswered struct {
	Time      int64  `json:"time"` // seconds since 1970
	Scheduler string `json:"scheduler"`
	Why       string `json:"why"`
}

// NoteUnanswered notes that a scheduler's hook failed, and why. Only the owner of the run directory can.
func (d Dir) NoteUnanswered(now time.Time, scheduler, why string) error {
	if err := d.Check(); err != nil {
		return err
	}
	line, err := json.Marshal(unanswered{now.Unix(), scheduler, core.Cut(why, maxWhy)})
	if err == nil {
		err = appendLine(d.path(unansweredName), line)
	}
	if err != nil {
		return core.Errorf(core.NotAllowed, "%s: %w", d.path(unansweredName), err)
	}
	return nil
}

// Unanswered lists the newest absences of the agent, each of one scheduler, from the oldest on.
func (d Dir) Unanswered() ([]core.Unanswered, error) {
	text, err := d.read(d.path(unansweredName), MaxLog, checkPrivate)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return parseUnanswered(text), err
}

// parseUnanswered leaves out lines that it cannot read: a hook may have been killed as it wrote one.
func parseUnanswered(text []byte) (all []core.Unanswered) {
	for line := range bytes.Lines(text) {
		var u unanswered
		err := json.Unmarshal(line, &u)
		if err == nil {
			err = core.CheckName("scheduler", u.Scheduler, core.MaxScheduler)
		}
		if err != nil || u.Time <= 0 {
			continue
		}
		i := len(all) - 1
		for i >= 0 && all[i].Scheduler != u.Scheduler {
			i--
		}
		if i >= 0 && u.Time >= all[i].From && u.Time-all[i].Until <= int64(apart/time.Second) {
			all[i].Until = max(all[i].Until, u.Time)
			continue
		}
		all = append(all, core.Unanswered{Scheduler: u.Scheduler, Why: core.Cut(u.Why, maxWhy), From: u.Time, Until: u.Time})
		if len(all) > core.MaxUnanswered {
			all = slices.Delete(all, 0, 1)
		}
	}
	return all
}

// appendLine appends a line to a file that only its owner can use. A full one becomes its own predecessor.
func appendLine(path string, line []byte) error {
	f, err := appendable(path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size()+int64(len(line))+1 > MaxLog {
		f.Close()
		if err := file.Rename(path, path+".1"); err != nil {
			return err
		}
		if f, err = appendable(path, os.O_WRONLY|os.O_APPEND); err != nil {
			return err
		}
	}
	_, err = f.Write(append(line, '\n'))
	return err
}
