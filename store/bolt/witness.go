package bolt

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/store/record"
)

// witness is a small file that has the head of the last commit. It lies apart from the store and from what backs the
// store up: a store that was put back from a copy does not know it.
//
// Each commit writes it. It is synced with the first commit of an incarnation, when it is closed, and about once a
// second beside the commits: after a loss of power it may lag, and the store still knows it.
type witness struct {
	f     *os.File
	path  string
	tell  func(error) // Options.Lost
	turn  uint64      // of the last write; its last bit says which slot it went to
	wrote atomic.Pointer[error]
	dirty atomic.Bool
	done  chan struct{}
	idle  sync.WaitGroup
}

// syncEvery is how long the witness may lie unsynced while the store takes commits.
const syncEvery = time.Second

// witnessSlot is one of two places that are written in turn, so that a write cut short leaves the other.
const witnessSlot = 256

const witnessMagic = "weft2"

// cacheTag marks the witness's own folder for backup tools, which leave it out then: see bford.info/cachedir.
const cacheTag = "Signature: 8a477f597d28d172789f06885d6f1d75\n"

func openWitness(path string, lost func(error)) (*witness, core.Head, error) {
	if names, err := os.ReadDir(filepath.Dir(path)); err == nil && len(names) == 0 {
		_ = os.WriteFile(filepath.Join(filepath.Dir(path), "CACHEDIR.TAG"), []byte(cacheTag), 0o644)
	}
	f, err := file.Open(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = file.Sync(filepath.Dir(path)) // the name of a new file must outlive the host's power too
	}
	if err != nil {
		_ = f.Close()
		return nil, core.Head{}, core.Errorf(core.StoreFailed, "store: witness %s: %w", path, file.Bare(err)).
			WithRemedy(file.Remedy(path, err))
	}
	w := &witness{f: f, path: path, tell: lost, done: make(chan struct{})}
	w.idle.Go(w.keep)
	var seen core.Head
	for slot := range int64(2) {
		b := make([]byte, witnessSlot)
		if _, err := f.ReadAt(b, slot*witnessSlot); err != nil {
			continue
		}
		if h, turn, ok := readWitness(b); ok && turn > w.turn {
			seen, w.turn = h, turn
		}
	}
	return w, seen, nil
}

// readWitness reads a slot: magic, epoch, revision, turn, incarnation, the store's id behind its length, and at the end a checksum.
func readWitness(b []byte) (h core.Head, turn uint64, ok bool) {
	body, end := b[:witnessSlot-sumSize], b[witnessSlot-sumSize:]
	if string(body[:len(witnessMagic)]) != witnessMagic || crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(end) {
		return h, 0, false
	}
	body = body[len(witnessMagic):]
	n := int(body[32])
	if n > record.MaxStore {
		return h, 0, false
	}
	h = core.Head{
		Store: string(body[33 : 33+n]), Incarnation: binary.BigEndian.Uint64(body[24:]),
		Epoch: binary.BigEndian.Uint64(body), Revision: binary.BigEndian.Uint64(body[8:]),
	}
	return h, binary.BigEndian.Uint64(body[16:]), true
}

// note writes the head. keep tells a failure, since the commit is durable.
func (w *witness) note(h core.Head) {
	if w == nil {
		return
	}
	b := make([]byte, witnessSlot)
	body := b[copy(b, witnessMagic):]
	binary.BigEndian.PutUint64(body, h.Epoch)
	binary.BigEndian.PutUint64(body[8:], h.Revision)
	binary.BigEndian.PutUint64(body[16:], w.turn+1)
	binary.BigEndian.PutUint64(body[24:], h.Incarnation)
	body[32] = byte(len(h.Store))
	copy(body[33:], h.Store)
	binary.BigEndian.PutUint32(b[witnessSlot-sumSize:], crc32.Checksum(b[:witnessSlot-sumSize], castagnoli))
	_, err := w.f.WriteAt(b, int64((w.turn+1)%2)*witnessSlot)
	if err == nil {
		w.turn++
		w.dirty.Store(true)
	}
	w.wrote.Store(&err)
}

// sync makes what note wrote outlive the host's power.
func (w *witness) sync() error {
	if w == nil || !w.dirty.Swap(false) {
		return nil
	}
	err := w.f.Sync()
	w.dirty.CompareAndSwap(false, err != nil)
	return err
}

// keep syncs now and then until close, and tells when the witness is lost and when it is back.
func (w *witness) keep() {
	t := time.NewTicker(syncEvery)
	defer t.Stop()
	lost := false
	for {
		select {
		case <-w.done:
			return
		case <-t.C:
			if err := w.look(); w.tell != nil && (err != nil) != lost {
				lost = !lost
				w.tell(err)
			}
		}
	}
}

// look syncs, and finds why the witness does not serve the next start.
func (w *witness) look() error {
	err := w.sync()
	if wrote := w.wrote.Load(); err == nil && wrote != nil {
		err = *wrote
	}
	if err != nil {
		return file.Bare(err)
	}
	return moved(w.f, w.path)
}

// moved finds why path does not lead to the open file any more.
func moved(f *os.File, path string) error {
	own, err := f.Stat()
	if err != nil {
		return file.Bare(err)
	}
	there, err := os.Stat(path)
	if err == nil && !os.SameFile(own, there) {
		err = errors.New("another file is in its place")
	}
	return file.Bare(err)
}

func (w *witness) close() error {
	if w == nil {
		return nil
	}
	close(w.done)
	w.idle.Wait()
	return errors.Join(w.sync(), w.f.Close())
}
