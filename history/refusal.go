package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// Refusal is why a job got nothing.
type Refusal struct {
	Job  core.JobID
	UID  uint32
	Node string
	Why  string
	At   time.Time
}

var refusedKey = []byte(`"refused":`)

// Refusals gives the newest refusals since a time, from the oldest on: at most as many as are wanted. It reads the two
// newest files.
func Refusals(path string, since time.Time, most int) (all []Refusal, err error) {
	for _, name := range []string{older(path, 1), path} {
		f, err := file.Open(name, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		_, err = lines(f, func(text []byte) bool {
			var l line
			if !bytes.Contains(text, refusedKey) { // most lines
				return true
			}
			if json.Unmarshal(text, &l) != nil || l.Refused == nil || l.Job == nil || l.Refused.Before(since) {
				return true
			}
			job := core.JobID{Scheduler: l.Job.Scheduler, Job: l.Job.ID}
			all = append(all, Refusal{job, l.Job.UID, l.Node, l.Why, *l.Refused})
			if len(all) > 2*most {
				all = slices.Delete(all, 0, most)
			}
			return true
		})
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("history: %s: %w", name, err)
		}
	}
	return all[max(0, len(all)-most):], nil
}
