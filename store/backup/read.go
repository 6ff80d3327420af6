package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/store/record"
)

const another = "use another backup: `weft store check FILE` tells whether one is whole"

// Begins is how many bytes Is needs.
const Begins = len(greeting)

// Is reports whether a file with this beginning is a backup, of any version.
func Is(begin []byte) bool { return bytes.HasPrefix(begin, []byte(greeting)) }

// Read tells every record of a backup, and its bytes, which the caller may not keep. They count only when the error is
// nil, since the checksum comes last. name is that of the backup in errors, which are core.StoreCorrupt,
// core.StoreNewer and core.StoreFailed.
func Read(name string, r io.Reader, tell func(rec engine.Record, raw []byte) error) error {
	in := stream{"backup " + core.Clip(name), bufio.NewReaderSize(r, 1<<16), sha256.New()}
	if err := in.greeting(); err != nil {
		return err
	}
	count, err := in.records(tell)
	if err != nil {
		return err
	}
	said, err := in.number()
	if err != nil {
		return err
	}
	got := in.sum.Sum(nil)
	var want [sha256.Size]byte
	if _, err := io.ReadFull(in.from, want[:]); err != nil {
		return in.cut(err)
	}
	if said != count || !bytes.Equal(want[:], got) {
		return in.corrupt("it does not match its checksum")
	}
	switch _, err := in.from.ReadByte(); {
	case err == nil:
		return in.corrupt("it goes on after its end")
	case !errors.Is(err, io.EOF):
		return in.cut(err)
	}
	return nil
}

// stream reads a backup and sums it up.
type stream struct {
	name string
	from *bufio.Reader
	sum  hash.Hash
}

func (s stream) greeting() error {
	line, err := s.from.ReadSlice('\n')
	switch {
	case err == nil, errors.Is(err, bufio.ErrBufferFull):
	case !errors.Is(err, io.EOF), Is(line), strings.HasPrefix(greeting, string(line)):
		return s.cut(err)
	}
	_, _ = s.sum.Write(line)
	var version int
	if _, err := fmt.Sscanf(string(line), greeting+"%d\n", &version); err != nil || version < 1 {
		return core.Errorf(core.StoreCorrupt, "%s: it is not a backup of a store", s.name).
			WithRemedy("name a file that `weft store backup` wrote")
	}
	if version > Version {
		return core.Errorf(core.StoreNewer, "%s: it is of version %d, and this release reads version %d",
			s.name, version, Version).WithRemedy("use the release that wrote it, or a later one")
	}
	return nil
}

func (s stream) records(tell func(rec engine.Record, raw []byte) error) (count uint64, err error) {
	var d record.Decoder
	buf := make([]byte, 0, 1<<12)
	for {
		size, err := s.number()
		if err != nil || size == 0 {
			return count, err
		}
		count++
		if size > record.MaxSize {
			return 0, s.corrupt(fmt.Sprintf("record %d is said to have %d bytes", count, size))
		}
		// It is read as it comes, so that a false length takes no memory.
		b := bytes.NewBuffer(buf[:0])
		if _, err := io.CopyN(io.MultiWriter(b, s.sum), s.from, int64(size)); err != nil {
			return 0, s.cut(err)
		}
		buf = b.Bytes()
		rec, err := d.Decode(buf)
		if e := core.AsError(err); e != nil {
			return 0, core.Errorf(e.Reason, "%s: record %d: %s", s.name, count, strings.TrimPrefix(e.What, "store: ")).
				WithRemedy(another)
		}
		if err := tell(rec, buf); err != nil {
			return 0, err
		}
	}
}

func (s stream) number() (uint64, error) {
	b, err := s.from.Peek(binary.MaxVarintLen64)
	v, n := binary.Uvarint(b)
	switch {
	case n > 0:
		_, _ = s.sum.Write(b[:n])
		_, err = s.from.Discard(n)
		return v, err
	case err != nil:
		return 0, s.cut(err)
	}
	return 0, s.corrupt("a number in it is too large")
}

func (s stream) corrupt(why string) error {
	return core.Errorf(core.StoreCorrupt, "%s: %s", s.name, why).WithRemedy(another)
}

func (s stream) cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.corrupt("it ends too early")
	}
	if _, ours := errors.AsType[*core.Error](err); ours { // of the server that sends it
		return err
	}
	return core.Errorf(core.StoreFailed, "%s: %w", s.name, file.Bare(err))
}
