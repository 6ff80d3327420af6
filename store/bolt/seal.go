package bolt

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/store/record"
)

// Format numbers the layout of buckets, keys and values. A file of a higher one is a newer release's.
const Format = 1

// noServer is the format of a file that no server may use.
const noServer = math.MaxUint32

// The bucket of what the file says of itself, and its keys.
var (
	aboutBucket = []byte("weft")
	formatKey   = []byte("format") // u32, big-endian
	sealKey     = []byte("seal")   // seal
	movedKey    = []byte("moved")  // record.Move; its format is noServer, which older releases refuse
)

// sumSize is that of the checksum at the end of each value.
const sumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the checksum of a record where it lies.
func sum(table int, key, rec []byte) uint32 {
	c := crc32.Update(0, castagnoli, []byte{byte(table)})
	return crc32.Update(crc32.Update(c, castagnoli, key), castagnoli, rec)
}

// seal is the number of records in the file and the sum of their checksums.
type seal struct{ count, sum uint64 }

func (s seal) bytes() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, s.count), s.sum)
}

func readSeal(b []byte) (seal, bool) {
	if len(b) != 16 {
		return seal{}, false
	}
	return seal{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}, true
}

func (s *seal) add(value []byte) { s.count++; s.sum += uint64(tail(value)) }

// set puts a value, or with none deletes the key, and accounts for it.
func (s *seal) set(b *bbolt.Bucket, key, value []byte) error {
	if old := b.Get(key); old != nil {
		s.count--
		s.sum -= uint64(tail(old))
	}
	if value == nil {
		return b.Delete(key)
	}
	s.add(value)
	return b.Put(key, value)
}

// sealed lets do change the file and writes the seal of what it leaves.
func sealed(tx *bbolt.Tx, do func(now *seal) error) error {
	about := tx.Bucket(aboutBucket)
	now, ok := readSeal(about.Get(sealKey))
	if !ok {
		return core.Errorf(core.StoreCorrupt, "its seal is missing")
	}
	if err := do(&now); err != nil {
		return err
	}
	return about.Put(sealKey, now.bytes())
}

func tail(value []byte) uint32 { return binary.BigEndian.Uint32(value[len(value)-sumSize:]) }

// shape is what is known of a file once it is verified.
type shape struct {
	pages, used uint64 // used: reachable; the rest is free
	one         bool   // one of the two meta pages is damaged: the file may be a commit behind
	foreign     bool   // another program wrote a freelist into it, which nobody verified
	bare        bool   // it has no seal: an older release wrote it
	moved       record.Move
}

// verify reads the whole file and refuses one that is damaged or of a newer release, before bbolt maps it.
func (l layout) verify(path string) (shape, error) {
	f, err := file.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return shape{}, l.failed(path, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return shape{}, l.failed(path, err)
	}
	s, err := l.examine(f, info.Size())
	var own *core.Error
	var bad damage
	switch {
	case err == nil:
		return s, nil
	case errors.As(err, &own):
		return s, core.Errorf(own.Reason, "%s: %s: %s", l.kind, path, strings.TrimPrefix(own.What, "store: "))
	case errors.As(err, &bad):
		return s, core.Errorf(core.StoreCorrupt, "%s: %s: %w", l.kind, path, err)
	}
	return s, l.failed(path, err)
}

type bucket struct {
	name   string
	root   uint64
	inline []byte
}

func (l layout) examine(f io.ReaderAt, size int64) (shape, error) {
	m, both, ok := superblocks(f)
	switch {
	case !ok:
		return shape{}, core.Errorf(core.StoreCorrupt, "neither of its meta pages is sound")
	case m.layout > fileLayout:
		return shape{}, core.Errorf(core.StoreNewer, "its pages are of layout %d, this release knows %d", m.layout, fileLayout)
	case m.layout < fileLayout:
		return shape{}, core.Errorf(core.StoreCorrupt, "its pages are of layout %d, which no release wrote", m.layout)
	case m.page != pageSize && !l.bare:
		return shape{}, core.Errorf(core.StoreCorrupt, "its pages have %d bytes, a %s's have %d", m.page, l.kind, pageSize)
	case !both && !l.witnessed:
		return shape{}, core.Errorf(core.StoreCorrupt, "one of its two meta pages is damaged: it may lack its last commit")
	case m.high < 2 || m.high > uint64(size/m.page):
		return shape{}, core.Errorf(core.StoreCorrupt, "it is cut short: it has %d bytes, its meta page says %d pages of %d",
			size, m.high, m.page)
	}
	w := newWalker(f, m)
	var about *bucket
	tables := map[string]bucket{}
	err := w.walk(m.root, 0, nil, nil, func(isBucket bool, key, value []byte) error {
		if !isBucket || len(value) < bucketHead {
			return damage{m.root, "it has a value outside any bucket"}
		}
		b := bucket{string(key), order.Uint64(value), append([]byte(nil), value[bucketHead:]...)}
		if b.name == string(aboutBucket) {
			about = &b
		} else {
			tables[b.name] = b
		}
		return nil
	})
	if err != nil {
		return shape{}, err
	}
	bare := about == nil && l.bare && len(tables) > 0
	if about == nil && !bare {
		return shape{}, core.Errorf(core.StoreCorrupt, "it is no %s of Weft's", l.kind)
	}
	var want, got seal
	var moved record.Move
	if !bare {
		if want, moved, err = w.about(*about); err != nil {
			return shape{}, err
		}
	}
	faults := 0
	for i, table := range l.tables {
		b, there := tables[table]
		if !there {
			return shape{}, core.Errorf(core.StoreCorrupt, "its table of %ss is missing", table)
		}
		err := w.bucket(b, func(key, value []byte) error {
			if bare {
				return l.check(i+1, value)
			}
			err := l.take(&got, i+1, key, value)
			if err != nil && l.tell != nil {
				faults++
				l.tell(err)
				return nil
			}
			return err
		})
		if err != nil {
			return shape{}, err
		}
	}
	if len(tables) != len(l.tables) {
		return shape{}, core.Errorf(core.StoreCorrupt, "it has %d tables, a %s has %d", len(tables), l.kind, len(l.tables))
	}
	if got != want && faults == 0 {
		return shape{}, core.Errorf(core.StoreCorrupt, "it has %d records where its seal says %d, or others than were written", got.count, want.count)
	}
	return shape{pages: m.high, used: w.used + 2, one: !both, foreign: m.freelist != noFreelist, bare: bare, moved: moved}, nil
}

// bucket visits a bucket that holds no other.
func (w *walker) bucket(b bucket, each func(key, value []byte) error) error {
	plain := func(isBucket bool, key, value []byte) error {
		if isBucket {
			return damage{b.root, "bucket " + b.name + " has a bucket in it"}
		}
		return each(key, value)
	}
	if b.root != 0 {
		return w.walk(b.root, 1, nil, nil, plain)
	}
	p, err := parse(0, b.inline)
	if err != nil {
		return err
	}
	return p.visit(nil, nil, plain)
}

// about reads what the file says of itself.
func (w *walker) about(b bucket) (want seal, moved record.Move, err error) {
	format, sealed := uint32(0), false
	err = w.bucket(b, func(key, value []byte) error {
		switch string(key) {
		case string(formatKey):
			if len(value) == 4 {
				format = binary.BigEndian.Uint32(value)
			}
		case string(sealKey):
			want, sealed = readSeal(value)
		case string(movedKey):
			if moved, err = record.ReadMove(value); err == nil && format == noServer {
				format = Format
			}
		}
		return err
	})
	switch {
	case err != nil:
		return want, moved, err
	case format > Format:
		return want, moved, core.Errorf(core.StoreNewer, "its format is %d, this release knows %d", format, Format)
	case format == 0 || !sealed:
		return want, moved, core.Errorf(core.StoreCorrupt, "its format or its seal is missing")
	}
	return want, moved, nil
}

// take verifies one value and counts it.
func (l layout) take(s *seal, table int, key, value []byte) error {
	name := l.tables[table-1]
	if len(value) < sumSize || l.serials && len(key) < 8 {
		return core.Errorf(core.StoreCorrupt, "a %s in it is cut short", name)
	}
	rec := bare(value)
	if sum(table, key, rec) != tail(value) {
		return core.Errorf(core.StoreCorrupt, "%s %s in it does not match its checksum", name, l.name(key))
	}
	s.add(value)
	return l.check(table, rec)
}
