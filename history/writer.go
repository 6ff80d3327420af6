// Package history keeps which jobs had what, in files of JSON lines beside the store, so that another policy can be held against them. Nothing depends on it.
package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/policy/facts"
)

const (
	DefaultSize = 64 << 20 // bytes of a file, from which on the next line opens another
	Files       = 4        // older ones that are kept: FILE.1 is the newest of them
	waiting     = 4096     // lines that wait for the disk
)

// line is what a file has: a reservation as it was made, or that one is over, or why a job got none.
type line struct {
	Serial uint64     `json:"serial"` // of the store
	Made   *time.Time `json:"made,omitempty"`
	Ended  *time.Time `json:"ended,omitempty"`
	VNIs   []core.VNI `json:"vni_numbers,omitempty"`
	Policy string     `json:"policy,omitempty"` // hash of the one that granted it
	Job    *facts.Job `json:"job,omitempty"`

	Refused *time.Time `json:"refused,omitempty"`
	Node    string     `json:"node,omitempty"` // which refused it
	Why     string     `json:"why,omitempty"`
}

// Writer is a server.History. Its calls return at once: what the disk is too slow for is left out, and the log says so.
type Writer struct {
	path    string
	size    int64
	log     *slog.Logger
	queue   chan line
	done    chan struct{}
	dropped atomic.Uint64

	f       *os.File // the goroutine's, as what follows
	has     int64
	failing bool
}

// Open goes on with the file at path, and makes it where there is none. size 0 is DefaultSize.
func Open(path string, size int64, log *slog.Logger) (*Writer, error) {
	w := &Writer{path: path, size: cmp.Or(size, DefaultSize), log: log, queue: make(chan line, waiting), done: make(chan struct{})}
	if err := w.open(); err != nil {
		return nil, core.Errorf(core.BadConfig, "history: %w", err).WithRemedy(file.Remedy(path, err))
	}
	go w.write()
	return w, nil
}

func (w *Writer) Made(r engine.Reservation) {
	job := facts.Of(r.Job).At(r.Grant.Now)
	w.put(line{Serial: r.Serial, Made: &r.Made, VNIs: engine.VNIsOf(r.VNIs), Policy: r.Grant.Policy, Job: &job})
}

func (w *Writer) Ended(serial uint64, at time.Time) { w.put(line{Serial: serial, Ended: &at}) }

// Refused implements server.RefusalHistory.
func (w *Writer) Refused(job core.JobID, uid uint32, node, why string, at time.Time) {
	w.put(line{Refused: &at, Node: node, Why: why, Job: &facts.Job{Scheduler: job.Scheduler, ID: job.Job, UID: uid}})
}

func (w *Writer) put(l line) {
	select {
	case w.queue <- l:
	default:
		w.dropped.Add(1)
	}
}

// Close writes what waits. Nothing may be told any more.
func (w *Writer) Close() error {
	close(w.queue)
	<-w.done
	if w.f == nil {
		return nil
	}
	return w.f.Close()
}

func (w *Writer) write() {
	defer close(w.done)
	for l := range w.queue {
		if n := w.dropped.Swap(0); n > 0 {
			w.log.Warn("the disk is too slow for the history of jobs: lines are missing there", core.LogCount, n)
		}
		err := w.line(l)
		if err != nil && !w.failing {
			w.log.Error("the history of jobs cannot be written; jobs run as ever, and are missing there", core.LogError, err)
		}
		w.failing = err != nil
	}
}

func (w *Writer) line(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if w.f == nil || w.has > 0 && w.has+int64(len(text)) >= w.size {
		if err := w.rotate(); err != nil {
			return err
		}
	}
	if w.failing {
		text = append([]byte{'\n'}, text...) // after what may be half a line
	}
	n, err := w.f.Write(append(text, '\n'))
	w.has += int64(n)
	return err
}

// rotate renames the file, and opens another. The oldest goes.
func (w *Writer) rotate() error {
	if w.f != nil {
		for i := Files - 1; i > 0; i-- {
			if err := file.Rename(older(w.path, i), older(w.path, i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err := file.Rename(w.path, older(w.path, 1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err := w.f.Close()
		if w.f = nil; err != nil {
			return err
		}
	}
	return w.open()
}

func older(path string, n int) string { return fmt.Sprintf("%s.%d", path, n) }

// open goes on at the end of the file, or makes it.
func (w *Writer) open() error {
	f, err := file.Append(w.path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	w.f, w.has = f, info.Size()
	return nil
}
