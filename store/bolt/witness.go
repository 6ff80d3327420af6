package bolt

import (
	"encoding/binary"
	"hash/crc32"
	"os"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/store/record"
)

// witness is a small file outside the store, best on a tmpfs, that has the head of the last commit. A store put back from a backup is behind it. It is
// never synced: after a reboot there is none, and nodes' reports tell instead.
type witness struct {
	f     *os.File
	turn  uint64 // of the last write; its last bit says which slot it went to
	wrote error
}

// witnessSlot is one of two places that are written in turn, so that a write cut short leaves the other.
const witnessSlot = 256

const witnessMagic = "weft1"

func openWitness(path string) (*witness, core.Head, error) {
	f, err := file.Open(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, core.Head{}, core.Errorf(core.StoreFailed, "store: witness %s: %w", path, err).
			WithRemedy("make its directory, on a tmpfs and writable for the server")
	}
	w := &witness{f: f}
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

// readWitness reads a slot: magic, epoch, revision, turn, the store's id behind its length, and at the end a checksum.
func readWitness(b []byte) (h core.Head, turn uint64, ok bool) {
	body, end := b[:witnessSlot-sumSize], b[witnessSlot-sumSize:]
	if string(body[:len(witnessMagic)]) != witnessMagic || crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(end) {
		return h, 0, false
	}
	body = body[len(witnessMagic):]
	n := int(body[24])
	if n > record.MaxStore {
		return h, 0, false
	}
	h = core.Head{Store: string(body[25 : 25+n]), Epoch: binary.BigEndian.Uint64(body), Revision: binary.BigEndian.Uint64(body[8:])}
	return h, binary.BigEndian.Uint64(body[16:]), true
}

// note writes the head; a failure is kept for Stats, since the commit it belongs to is durable.
func (w *witness) note(h core.Head) {
	if w == nil {
		return
	}
	b := make([]byte, witnessSlot)
	body := b[copy(b, witnessMagic):]
	binary.BigEndian.PutUint64(body, h.Epoch)
	binary.BigEndian.PutUint64(body[8:], h.Revision)
	binary.BigEndian.PutUint64(body[16:], w.turn+1)
	body[24] = byte(len(h.Store))
	copy(body[25:], h.Store)
	binary.BigEndian.PutUint32(b[witnessSlot-sumSize:], crc32.Checksum(b[:witnessSlot-sumSize], castagnoli))
	if _, w.wrote = w.f.WriteAt(b, int64((w.turn+1)%2)*witnessSlot); w.wrote == nil {
		w.turn++
	}
}

func (w *witness) close() error {
	if w == nil {
		return nil
	}
	return w.f.Close()
}
