package bolt

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/store/record"
)

// Format numbers the layout of buckets, keys and values. A file of a higher one is a newer release's.
const Format = 1

// The bucket of what the file says of itself, and its keys.
var (
	aboutBucket = []byte("weft")
	formatKey   = []byte("format") // u32, big-endian
	sealKey     = []byte("seal")   // seal
)

// sumSize is that of the checksum at the end of each value.
const sumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the checksum of a record where it lies.
func sum(table engine.Table, key, rec []byte) uint32 {
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

func (s *seal) add(value []byte)  { s.count++; s.sum += uint64(tail(value)) }
func (s *seal) drop(value []byte) { s.count--; s.sum -= uint64(tail(value)) }

func tail(value []byte) uint32 { return binary.BigEndian.Uint32(value[len(value)-sumSize:]) }

// shape is what is known of a file once it is verified.
type shape struct {
	pages, used uint64 // used: reachable; the rest is free
	one         bool   // one of the two meta pages is damaged: the file may be a commit behind
	foreign     bool   // another program wrote a freelist into it, which nobody verified
}

// verify reads the whole file and refuses one that is damaged or of a newer release, before bbolt maps it.
func verify(path string) (shape, error) {
	f, err := file.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return shape{}, failed(path, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return shape{}, failed(path, err)
	}
	s, err := examine(f, info.Size())
	var own *core.Error
	var bad damage
	switch {
	case err == nil:
		return s, nil
	case errors.As(err, &own):
		return s, core.Errorf(own.Reason, "store: %s: %s", path, strings.TrimPrefix(own.What, "store: "))
	case errors.As(err, &bad):
		return s, core.Errorf(core.StoreCorrupt, "store: %s: %w", path, err)
	}
	return s, failed(path, err)
}

type bucket struct {
	name   string
	root   uint64
	inline []byte
}

func examine(f io.ReaderAt, size int64) (shape, error) {
	m, both, ok := superblocks(f)
	switch {
	case !ok:
		return shape{}, core.Errorf(core.StoreCorrupt, "neither of its meta pages is sound")
	case m.layout > fileLayout:
		return shape{}, core.Errorf(core.StoreNewer, "its pages are of layout %d, this release knows %d", m.layout, fileLayout)
	case m.layout < fileLayout:
		return shape{}, core.Errorf(core.StoreCorrupt, "its pages are of layout %d, which no release wrote", m.layout)
	case m.high < 2 || m.high > uint64(size)/pageSize:
		return shape{}, core.Errorf(core.StoreCorrupt, "it is cut short: it has %d bytes, its meta page says %d pages of %d", size, m.high, pageSize)
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
	if about == nil {
		return shape{}, core.Errorf(core.StoreCorrupt, "it is no store of Weft's")
	}
	want, err := w.about(*about)
	if err != nil {
		return shape{}, err
	}
	var got seal
	for t := engine.TableMeta; t <= engine.TableTombstone; t++ {
		b, there := tables[record.TableName(t)]
		if !there {
			return shape{}, core.Errorf(core.StoreCorrupt, "its table of %ss is missing", record.TableName(t))
		}
		if err := w.bucket(b, func(key, value []byte) error { return got.take(t, key, value) }); err != nil {
			return shape{}, err
		}
	}
	if len(tables) != int(engine.TableTombstone) {
		return shape{}, core.Errorf(core.StoreCorrupt, "it has %d tables, a store has %d", len(tables), engine.TableTombstone)
	}
	if got != want {
		return shape{}, core.Errorf(core.StoreCorrupt, "it has %d records where its seal says %d, or others than were written", got.count, want.count)
	}
	return shape{pages: m.high, used: w.used + 2, one: !both, foreign: m.freelist != noFreelist}, nil
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
func (w *walker) about(b bucket) (want seal, err error) {
	format, sealed := uint32(0), false
	err = w.bucket(b, func(key, value []byte) error {
		switch string(key) {
		case string(formatKey):
			if len(value) == 4 {
				format = binary.BigEndian.Uint32(value)
			}
		case string(sealKey):
			want, sealed = readSeal(value)
		}
		return nil
	})
	switch {
	case err != nil:
		return want, err
	case format > Format:
		return want, core.Errorf(core.StoreNewer, "its format is %d, this release knows %d", format, Format)
	case format == 0 || !sealed:
		return want, core.Errorf(core.StoreCorrupt, "its format or its seal is missing")
	}
	return want, nil
}

// take verifies one value and counts it.
func (s *seal) take(table engine.Table, key, value []byte) error {
	if len(key) < 8 || len(value) < sumSize {
		return core.Errorf(core.StoreCorrupt, "a %s in it is cut short", record.TableName(table))
	}
	rec := bare(value)
	if sum(table, key, rec) != tail(value) {
		return core.Errorf(core.StoreCorrupt, "%s %d in it does not match its checksum", record.TableName(table), binary.BigEndian.Uint64(key))
	}
	t, err := record.Peek(rec)
	if err != nil {
		return err
	}
	if t != table {
		return core.Errorf(core.StoreCorrupt, "%s %d in it is a %s", record.TableName(table), binary.BigEndian.Uint64(key), record.TableName(t))
	}
	s.add(value)
	return nil
}
