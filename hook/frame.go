package hook

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weft-hpc/weft/core"
)

// Version of the frames. It is raised when a frame of the release before could no longer be understood; fields alone may be added without that, since
// both sides pass over fields that they do not know.
const Version = 1

// oldest is the lowest version that this release understands.
const oldest = 1

// header is how many bytes hold a frame's length.
const header = 4

// exact is the length up to which a frame's buffer is made at once; a longer frame's grows with what really comes.
const exact = 64 << 10

// ErrOversized says that a frame's length is above the bound.
var ErrOversized = errors.New("frame is too long")

// ReadFrame reads one frame and returns its JSON, of at most limit bytes; of a longer one, which is ErrOversized, only the length is read. io.EOF: nothing
// came; io.ErrUnexpectedEOF: half a frame did.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var head [header]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if uint64(n) > uint64(limit) {
		return nil, fmt.Errorf("%w: it announces %d bytes and at most %d are taken", ErrOversized, n, limit)
	}
	if n <= exact {
		body := make([]byte, n)
		_, err := io.ReadFull(r, body)
		return body, half(err)
	}
	var body bytes.Buffer
	_, err := io.CopyN(&body, r, int64(n))
	return body.Bytes(), half(err)
}

// half makes an end within a frame what it is.
func half(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Frame is v as JSON in a frame of at most limit bytes, the length not counted; a longer one is ErrOversized.
func Frame(v any, limit int) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(body) > limit {
		return nil, fmt.Errorf("%w: it has %d bytes and at most %d are taken", ErrOversized, len(body), limit)
	}
	return framed(body), nil
}

// Frame is the text in a frame.
func (t Text) Frame() []byte { return framed(t) }

func framed(body []byte) []byte {
	out := make([]byte, header, header+len(body))
	binary.BigEndian.PutUint32(out, uint32(len(body)))
	return append(out, body...)
}

// decode reads a frame's JSON: one value and nothing after it. encoding/json bounds how deep it may nest.
func decode(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("not the JSON that was expected: %w", err)
	}
	return nil
}

// checkVersion refuses a frame that this release does not understand.
func checkVersion(who string, version int) error {
	if version >= oldest && version <= Version {
		return nil
	}
	return core.Errorf(core.BadVersion, "%s: it speaks version %d of the hook's frames and this release speaks %d", who, version, Version)
}
