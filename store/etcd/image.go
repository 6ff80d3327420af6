package etcd

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// pages is their number without those of texts. With 60,000 live reservations each has some 45 KiB.
const pages = 1024

// image is all records as they are after a part of the log. Not safe for concurrent use.
type image struct {
	head  core.Head
	part  uint64 // the newest part that it has
	pages map[string]*page
	joins map[uint64]map[string]bool // the nodes of each serial's joins
	bytes int                        // of all records
}

// page is the records of some slots.
type page struct {
	records map[engine.Slot][]byte
	mod     int64  // the revision of etcd that wrote it; 0: it is not there
	since   uint64 // the first part that etcd's page lacks; 0: it lacks none
}

func newImage() *image {
	return &image{pages: map[string]*page{}, joins: map[uint64]map[string]bool{}}
}

// names are those of the pages without texts.
var names = func() (out [pages]string) {
	for i := range out {
		out[i] = fmt.Sprintf("%03x", i)
	}
	return out
}()

// pageOf names the page of a slot. It must never change, since etcd has the pages by it.
func pageOf(at engine.Slot) string {
	if at.Table == engine.TableText {
		return "text/" + at.Name
	}
	var buf [64]byte
	key := binary.BigEndian.AppendUint64(append(buf[:0], byte(at.Table)), at.Serial)
	return names[crc32.Checksum(append(key, at.Name...), castagnoli)%pages]
}

// at is the page of a slot.
func (m *image) at(at engine.Slot) *page {
	name := pageOf(at)
	p := m.pages[name]
	if p == nil {
		p = &page{records: map[engine.Slot][]byte{}}
		m.pages[name] = p
	}
	return p
}

// apply makes a change of a part. A page can have it already, and later ones: the rest of the log brings those again.
func (m *image) apply(part uint64, c change) error {
	p := m.at(c.at)
	if p.since == 0 {
		p.since = part
	}
	return m.set(p, c)
}

func (m *image) set(p *page, c change) error {
	m.bytes += len(c.record) - len(p.records[c.at])
	if c.record == nil {
		delete(p.records, c.at)
	} else {
		p.records[c.at] = c.record
	}
	switch c.at.Table { //nolint:exhaustive // the others lie alone
	case engine.TableMeta:
		r, err := new(record.Decoder).Decode(c.record)
		if err != nil {
			return err
		}
		m.head = r.(engine.Meta).Head
	case engine.TableJoin:
		m.joined(c)
	}
	return nil
}

func (m *image) joined(c change) {
	nodes := m.joins[c.at.Serial]
	switch {
	case c.record == nil:
		if delete(nodes, c.at.Name); len(nodes) == 0 {
			delete(m.joins, c.at.Serial)
		}
	case nodes == nil:
		m.joins[c.at.Serial] = map[string]bool{c.at.Name: true}
	default:
		nodes[c.at.Name] = true
	}
}

// restore takes a page as etcd has it: the part after which it was written, and its records as changes.
func (m *image) restore(name string, b []byte, mod int64) error {
	r := reader{rest: b}
	has := r.uint()
	list, err := changes(pagePrefix+name, r.rest)
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.record == nil || pageOf(c.at) != name {
			return damaged(pagePrefix+name, "a record in it is of another page")
		}
		if err := m.set(m.at(c.at), c); err != nil {
			return err
		}
	}
	if p := m.pages[name]; p != nil {
		p.mod = mod
	}
	m.part = max(m.part, has)
	return nil
}

// bytesOf is a page as etcd keeps it, without its checksum.
func (m *image) bytesOf(p *page) []byte {
	b := binary.AppendUvarint([]byte{form}, m.part)
	for at, rec := range p.records {
		b = change{at, rec}.append(b)
	}
	return b
}

// all are all records. Later changes do not change them.
func (m *image) all() []change {
	var all []change
	for _, p := range m.pages {
		for at, rec := range p.records {
			all = append(all, change{at, rec})
		}
	}
	return all
}

// sorted puts changes in order of table, serial and name.
func sorted(all []change) []change {
	slices.SortFunc(all, func(a, b change) int { return a.at.Compare(b.at) })
	return all
}

// written is the newest part up to which etcd's pages have everything.
func (m *image) written() uint64 {
	first := uint64(math.MaxUint64)
	for _, p := range m.pages {
		if p.since != 0 {
			first = min(first, p.since)
		}
	}
	return min(m.part, first-1)
}
