package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
)

// The layout of a bbolt file (magic, version 2), as far as it must be known to tell whether it is sound. Numbers are in the machine's byte order.
const (
	pageSize   = 4096     // of every store, so that they can move between machines
	maxPage    = 64 << 10 // of a ledger without a seal, which older releases wrote in the machine's pages
	pageHead   = 16       // id u64, flags u16, count u16, overflow u32
	elemSize   = 16       // leaf: flags, pos, ksize, vsize u32; branch: pos, ksize u32, id u64
	bucketHead = 16       // root u64, sequence u64
	metaSize   = 64       // magic, version, pageSize, flags u32; root, sequence, freelist, high, txid, checksum u64
	fileMagic  = 0xED0CDAED
	fileLayout = 2
	flagBranch = 0x01
	flagLeaf   = 0x02
	elemBucket = 0x01
	noFreelist = ^uint64(0)
	maxDepth   = 32
)

var order = binary.NativeEndian

// superblock is a bbolt meta page.
type superblock struct {
	page     int64 // its size in bytes
	layout   uint32
	root     uint64
	freelist uint64
	high     uint64 // the first page that was never used
	txid     uint64
}

// readSuper reads the meta page at off; not ok when it is not sound.
func readSuper(r io.ReaderAt, off int64) (m superblock, ok bool) {
	b := make([]byte, pageHead+metaSize)
	if _, err := r.ReadAt(b, off); err != nil {
		return m, false
	}
	b = b[pageHead:]
	h := fnv.New64a()
	_, _ = h.Write(b[:metaSize-8])
	m = superblock{
		page: int64(order.Uint32(b[8:])), layout: order.Uint32(b[4:]), root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]), high: order.Uint64(b[40:]), txid: order.Uint64(b[48:]),
	}
	known := m.page >= pageSize && m.page <= maxPage && m.page&(m.page-1) == 0
	return m, known && order.Uint32(b) == fileMagic && order.Uint64(b[56:]) == h.Sum64()
}

// superblocks gives the newest sound meta page, and whether the other is sound too.
func superblocks(r io.ReaderAt) (newest superblock, both, ok bool) {
	a, aok := readSuper(r, 0)
	page := int64(pageSize)
	if aok {
		page = a.page
	}
	b, bok := readSuper(r, page)
	bok = bok && b.page == page
	if !bok || aok && a.txid > b.txid {
		return a, aok && bok, aok
	}
	return b, aok, true
}

// walker reads pages and believes nothing of them.
type walker struct {
	from  io.ReaderAt
	page  int
	high  uint64
	seen  []uint64 // a bit a page
	used  uint64
	spare [maxDepth][]byte
}

func newWalker(from io.ReaderAt, m superblock) *walker {
	return &walker{from: from, page: int(m.page), high: m.high, seen: make([]uint64, m.high/64+1)}
}

type damage struct {
	page uint64
	why  string
}

func (d damage) Error() string { return fmt.Sprintf("page %d: %s", d.page, d.why) }

// read claims a page and those that continue it.
func (w *walker) read(id uint64, depth int) (page, error) {
	if depth >= maxDepth {
		return page{}, damage{id, "it lies too deep"}
	}
	if id < 2 || id >= w.high {
		return page{}, damage{id, "it is outside the file's used part"}
	}
	b := w.grown(depth, w.page)
	if _, err := w.from.ReadAt(b, int64(id)*int64(w.page)); err != nil {
		return page{}, fmt.Errorf("page %d: %w", id, err)
	}
	if order.Uint64(b) != id {
		return page{}, damage{id, fmt.Sprintf("it says that it is page %d", order.Uint64(b))}
	}
	more := uint64(order.Uint32(b[12:]))
	if id+more >= w.high {
		return page{}, damage{id, "it goes on beyond the file's used part"}
	}
	for i := id; i <= id+more; i++ {
		if w.seen[i/64]&(1<<(i%64)) != 0 {
			return page{}, damage{i, "two others lead to it"}
		}
		w.seen[i/64] |= 1 << (i % 64)
	}
	w.used += more + 1
	if more > 0 {
		b = w.grown(depth, w.page*int(more+1))
		if _, err := w.from.ReadAt(b, int64(id)*int64(w.page)); err != nil {
			return page{}, fmt.Errorf("page %d: %w", id, err)
		}
	}
	return parse(id, b)
}

func (w *walker) grown(depth, n int) []byte {
	if cap(w.spare[depth]) < n {
		w.spare[depth] = make([]byte, n)
	}
	return w.spare[depth][:n]
}

// page is a branch or leaf, in the file or inside a bucket's value.
type page struct {
	id   uint64
	b    []byte
	leaf bool
	n    int
}

func parse(id uint64, b []byte) (page, error) {
	if len(b) < pageHead {
		return page{}, damage{id, "it is cut short"}
	}
	flags := order.Uint16(b[8:])
	p := page{id, b, flags == flagLeaf, int(order.Uint16(b[10:]))}
	switch {
	case flags != flagLeaf && flags != flagBranch:
		return page{}, damage{id, fmt.Sprintf("its kind is %#x, neither branch nor leaf", flags)}
	case flags == flagBranch && p.n == 0:
		return page{}, damage{id, "it is a branch without a child"}
	case pageHead+elemSize*p.n > len(b):
		return page{}, damage{id, "it has more elements than room"}
	}
	return p, nil
}

func (p page) span(at int, pos uint32, n uint64) ([]byte, error) {
	start := uint64(at) + uint64(pos)
	if start < uint64(pageHead+elemSize*p.n) || start+n > uint64(len(p.b)) {
		return nil, damage{p.id, "an element lies outside it"}
	}
	return p.b[start : start+n], nil
}

func (p page) branch(i int) (key []byte, child uint64, err error) {
	at := pageHead + elemSize*i
	e := p.b[at:]
	key, err = p.span(at, order.Uint32(e), uint64(order.Uint32(e[4:])))
	return key, order.Uint64(e[8:]), err
}

func (p page) element(i int) (bucket bool, key, value []byte, err error) {
	at := pageHead + elemSize*i
	e := p.b[at:]
	flags, ksize, vsize := order.Uint32(e), order.Uint32(e[8:]), order.Uint32(e[12:])
	if flags > elemBucket {
		return false, nil, nil, damage{p.id, "an element is of no known kind"}
	}
	both, err := p.span(at, order.Uint32(e[4:]), uint64(ksize)+uint64(vsize))
	if err != nil {
		return false, nil, nil, err
	}
	return flags == elemBucket, both[:ksize], both[ksize:], nil
}

type visit func(bucket bool, key, value []byte) error

// walk visits a tree's leaves in order. Keys must ascend from lo to below hi; nil is no bound.
func (w *walker) walk(id uint64, depth int, lo, hi []byte, each visit) error {
	p, err := w.read(id, depth)
	if err != nil {
		return err
	}
	if p.leaf {
		return p.visit(lo, hi, each)
	}
	key, child, err := p.branch(0)
	for i := 0; i < p.n; i++ {
		if err != nil {
			return err
		}
		next, after := hi, uint64(0)
		if i+1 < p.n {
			next, after, err = p.branch(i + 1)
			if err != nil {
				return err
			}
		}
		if !within(key, lo, hi) || i+1 < p.n && bytes.Compare(key, next) >= 0 {
			return damage{p.id, "its keys are out of order"}
		}
		if err := w.walk(child, depth+1, key, next, each); err != nil {
			return err
		}
		key, child = next, after
	}
	return nil
}

func (p page) visit(lo, hi []byte, each visit) error {
	if !p.leaf {
		return damage{p.id, "it should be a leaf"}
	}
	var last []byte
	for i := range p.n {
		bucket, key, value, err := p.element(i)
		if err != nil {
			return err
		}
		if !within(key, lo, hi) || i > 0 && bytes.Compare(last, key) >= 0 {
			return damage{p.id, "its keys are out of order"}
		}
		if err := each(bucket, key, value); err != nil {
			return err
		}
		last = key
	}
	return nil
}

func within(key, lo, hi []byte) bool {
	return (lo == nil || bytes.Compare(key, lo) >= 0) && (hi == nil || bytes.Compare(key, hi) < 0)
}
