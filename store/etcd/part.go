package etcd

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// form is the version of the values of log and pages. Each record has a version, too.
const form = 1

// most bounds a value, in bytes, so that a request stays below etcd's default of 1.5 MiB.
const most = 1 << 20

// Marks of a part of the log.
const (
	last byte = iota // the last of its commit
	more             // the next part is of the same commit
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// summed is value with the checksum of itself and its key, without the prefix: a system may be copied below another.
func summed(key string, value []byte) []byte {
	return binary.BigEndian.AppendUint32(value, crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, value))
}

// bare is a value without its version and its checksum.
func bare(key string, value []byte) ([]byte, error) {
	const least = 1 + crc32.Size
	switch n := len(value); {
	case n < least:
		return nil, damaged(key, "it is cut short")
	case value[0] > form:
		return nil, core.Errorf(core.StoreNewer, "store: %s in etcd is of version %d: this release reads version %d",
			core.Clip(key), value[0], form)
	case string(summed(key, value[:n-crc32.Size:n-crc32.Size])) != string(value):
		return nil, damaged(key, "its checksum is wrong")
	default:
		return value[1 : n-crc32.Size], nil
	}
}

func damaged(key, why string) error {
	return core.Errorf(core.StoreCorrupt, "store: %s in etcd: %s", core.Clip(key), why).
		WithRemedy("restore etcd from a snapshot of it")
}

// change is one write of a commit: a record as bytes, or, without one, that its slot is empty now.
type change struct {
	at     engine.Slot
	record []byte
}

// A change is table, serial, name and record; texts have their size before them.
func (c change) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, byte(c.at.Table)), c.at.Serial)
	dst = append(binary.AppendUvarint(dst, uint64(len(c.at.Name))), c.at.Name...)
	return append(binary.AppendUvarint(dst, uint64(len(c.record))), c.record...)
}

// changes reads what append wrote. Records share the memory of b.
func changes(key string, b []byte) ([]change, error) {
	var out []change
	r := reader{rest: b}
	for len(r.rest) > 0 && !r.short {
		var c change
		c.at.Table = engine.Table(r.byte())
		c.at.Serial = r.uint()
		c.at.Name = string(r.bytes())
		c.record = r.bytes()
		switch {
		case r.short:
		case len(c.record) == 0:
			c.record = nil
			if record.Check(engine.Delete{At: c.at}) != nil {
				return nil, damaged(key, "a deletion in it is of no table")
			}
		default:
			if t, err := record.Peek(c.record); err != nil || t != c.at.Table {
				return nil, cmp.Or(err, damaged(key, "a record in it is of another table"))
			}
		}
		out = append(out, c)
	}
	if r.short {
		return nil, damaged(key, "a change in it is cut short")
	}
	return out, nil
}

// reader takes values from the front of bytes. After short it gives zeros.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) bytes() []byte {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.rest, r.short = nil, true
		return nil
	}
	out := r.rest[:n:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.short = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.short = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// parts packs the changes of a commit into values of the log without their checksums, none of them larger than most.
// A change is in one part.
func parts(list []change) ([][]byte, error) {
	const room = most - crc32.Size
	out := [][]byte{{form, last}}
	var one []byte
	for _, c := range list {
		one = c.append(one[:0])
		part := out[len(out)-1]
		if len(part)+len(one) > room {
			part[1] = more
			part = []byte{form, last}
			out = append(out, part)
		}
		if len(part)+len(one) > room {
			return nil, core.Errorf(core.StoreFailed, "store: %s %d %q: its %d bytes are more than the %d of a value in etcd",
				record.TableName(c.at.Table), c.at.Serial, core.Clip(c.at.Name), len(c.record), most).
				WithRemedy("make the policy's files smaller")
		}
		out[len(out)-1] = append(part, one...)
	}
	return out, nil
}
