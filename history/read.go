package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/policy/facts"
)

// Row is one reservation of the past or of now.
type Row struct {
	Serial uint64     `json:"serial,omitempty"`
	Made   time.Time  `json:"made,omitzero"`
	Ended  time.Time  `json:"ended,omitzero"` // zero: it runs, or how it ended is in no line
	VNIs   []core.VNI `json:"vni_numbers,omitempty"`
	Policy string     `json:"policy,omitempty"`
	Job    facts.Job  `json:"job"`
}

const MaxLine = facts.MaxSize

// MaxRows bounds what is read into memory.
const MaxRows = 1 << 20

// Read gives the reservations that a history has, in the order in which they were made, that had not ended before since; and how many lines could not be read.
func Read(path string, since time.Time) (rows []Row, bad int, err error) {
	found := false
	open := map[uint64]int{}
	for i := Files; i >= 0; i-- {
		name := path
		if i > 0 {
			name = older(path, i)
		}
		f, err := file.Open(name, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("history: %w", err)
		}
		found = true
		n, err := lines(f, func(text []byte) bool {
			var l line
			switch err := json.Unmarshal(text, &l); {
			case err != nil:
				return false
			case l.Made != nil && l.Job != nil:
				open[l.Serial] = len(rows)
				rows = append(rows, Row{Serial: l.Serial, Made: *l.Made, VNIs: l.VNIs, Policy: l.Policy, Job: *l.Job})
			case l.Refused != nil && l.Job != nil:
			case l.Ended != nil:
				if at, ok := open[l.Serial]; ok && rows[at].Ended.IsZero() {
					rows[at].Ended = *l.Ended
				}
			default:
				return false
			}
			return true
		})
		bad += n
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, bad, fmt.Errorf("history: %s: %w", name, err)
		}
		if len(rows) > MaxRows {
			return nil, bad, fmt.Errorf("history: %s: there are more than %d jobs", name, MaxRows)
		}
	}
	if !found {
		return nil, 0, fmt.Errorf("history: %s: %w", path, fs.ErrNotExist)
	}
	rows = slices.DeleteFunc(rows, func(r Row) bool { return !r.Ended.IsZero() && r.Ended.Before(since) })
	return rows, bad, nil
}

// Parse reads rows as `weft jobs --history -o json` writes them.
func Parse(r io.Reader) ([]Row, error) {
	var rows []Row
	var first error
	at := 0
	_, err := lines(r, func(text []byte) bool {
		at++
		var row Row
		if err := json.Unmarshal(text, &row); err != nil && first == nil {
			first = core.Errorf(core.BadCall, "jobs: line %d: %w", at, err).WithRemedy("write it with `weft jobs --history -o json`")
		}
		if len(rows) == MaxRows && first == nil {
			first = core.Errorf(core.BadCall, "jobs: there are more than %d", MaxRows)
		}
		if first == nil {
			rows = append(rows, row)
		}
		return first == nil
	})
	if err == nil {
		err = first
	}
	return rows, err
}

// lines gives each line that is not empty, and counts those that take does not want.
func lines(r io.Reader, take func([]byte) bool) (bad int, err error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), MaxLine)
	for s.Scan() {
		if text := s.Bytes(); len(text) > 0 && !take(text) {
			bad++
		}
	}
	return bad, s.Err()
}
