package bolt

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// exportVersion numbers the stream's form: a line with it, then each record behind its length (varint), in the order of Load; a length of 0; the number of
// records (varint); and the SHA-256 of all that.
const exportVersion = 1

const exportMagic = "weft store export "

const exportAgain = "export again, or use another export"

// Export writes the store's content at one moment, for Import by this release or the next. It gathers all first, so that a slow w holds up no commit.
func (s *Store) Export(ctx context.Context, w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s%d\n", exportMagic, exportVersion)
	var count uint64
	var length []byte
	s.mu.Lock()
	err := s.usable()
	if err == nil {
		err = s.view(func(tx *bbolt.Tx) error {
			return walk(ctx, tx, func(rec []byte) error {
				count++
				length = binary.AppendUvarint(length[:0], uint64(len(rec)))
				out.Write(length)
				out.Write(rec)
				return nil
			})
		})
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	out.WriteByte(0)
	out.Write(binary.AppendUvarint(nil, count))
	check := sha256.Sum256(out.Bytes())
	out.Write(check[:])
	if _, err := out.WriteTo(w); err != nil {
		return core.Errorf(core.StoreFailed, "store: export of %s: %w", s.path, err)
	}
	return nil
}

// stream reads an export and sums it up.
type stream struct {
	from *bufio.Reader
	sum  io.Writer
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
		return 0, cut(err)
	}
	return 0, core.Errorf(core.StoreCorrupt, "store: import: a number in the stream is too large").WithRemedy(exportAgain)
}

// readExport tells every record of an export, and its bytes, which are not to be kept. What was told counts only when the error is nil: the checksum comes last.
func readExport(r io.Reader, tell func(rec engine.Record, raw []byte) error) error {
	hash := sha256.New()
	in := stream{bufio.NewReaderSize(r, 1<<16), hash}
	if err := in.greeting(); err != nil {
		return err
	}
	var d record.Decoder
	var count uint64
	buf := make([]byte, 0, 1<<12)
	for {
		size, err := in.number()
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		if size > record.MaxSize {
			return core.Errorf(core.StoreCorrupt, "store: import: record %d is said to have %d bytes", count+1, size)
		}
		// Read as it comes, so that a false length takes no memory.
		b := bytes.NewBuffer(buf[:0])
		if _, err := io.CopyN(io.MultiWriter(b, in.sum), in.from, int64(size)); err != nil {
			return cut(err)
		}
		buf = b.Bytes()
		rec, err := d.Decode(buf)
		if err != nil {
			return err
		}
		count++
		if err := tell(rec, buf); err != nil {
			return err
		}
	}
	said, err := in.number()
	if err != nil {
		return err
	}
	var want [sha256.Size]byte
	if _, err := io.ReadFull(in.from, want[:]); err != nil {
		return cut(err)
	}
	if said != count || !bytes.Equal(want[:], hash.Sum(nil)) {
		return core.Errorf(core.StoreCorrupt, "store: import: the stream does not match its checksum").WithRemedy(exportAgain)
	}
	if _, err := in.from.ReadByte(); !errors.Is(err, io.EOF) {
		return core.Errorf(core.StoreCorrupt, "store: import: the stream goes on after its end").WithRemedy(exportAgain)
	}
	return nil
}

func (s stream) greeting() error {
	line, err := s.from.ReadSlice('\n')
	if err != nil && len(line) < len(exportMagic)+8 {
		return cut(err)
	}
	_, _ = s.sum.Write(line)
	var version int
	if _, err := fmt.Sscanf(string(line), exportMagic+"%d\n", &version); err != nil || version < 1 {
		return core.Errorf(core.StoreCorrupt, "store: import: this is no export of a store").WithRemedy("give it what `weft store export` wrote")
	}
	if version > exportVersion {
		return core.Errorf(core.StoreNewer, "store: import: the export is of version %d, this release knows %d", version, exportVersion).WithRemedy("import it with the release that wrote it")
	}
	return nil
}

func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return core.Errorf(core.StoreCorrupt, "store: import: the stream ends too early").WithRemedy(exportAgain)
	}
	return core.Errorf(core.StoreFailed, "store: import: %w", err)
}
