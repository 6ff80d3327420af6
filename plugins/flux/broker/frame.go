package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxMessage bounds a message, in bytes. The journal tells the jobs one by one; a list of 100,000 jobs has some 50 MiB.
const MaxMessage = 128 << 20

const (
	headerSize = 8
	magic      = 0xffee0012 // in the host's byte order, which RFC 3 has otherwise
)

// ErrMagic is a stream that is not Flux's, or of a host of the other byte order.
var ErrMagic = errors.New("frame: it does not begin as Flux's do")

// AppendFrame writes a message with its header behind b.
func AppendFrame(b []byte, m *Message) ([]byte, error) {
	at := len(b)
	b = append(b, make([]byte, headerSize)...)
	binary.NativeEndian.PutUint32(b[at:], magic)
	b = m.Append(b)
	n := len(b) - at - headerSize
	if n > MaxMessage {
		return b[:at], fmt.Errorf("frame: a message of %d bytes is larger than %d", n, MaxMessage)
	}
	binary.BigEndian.PutUint32(b[at+4:], uint32(n)) //nolint:gosec // n is at most MaxMessage
	return b, nil
}

// ReadFrame reads one message. Memory grows with what arrives, never with what a length claims.
func ReadFrame(r io.Reader) (*Message, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if binary.NativeEndian.Uint32(head[:]) != magic {
		return nil, ErrMagic
	}
	n := int64(binary.BigEndian.Uint32(head[4:]))
	if n > MaxMessage {
		return nil, fmt.Errorf("frame: it claims %d bytes, and %d are the most", n, MaxMessage)
	}
	var b bytes.Buffer
	if got, err := io.CopyN(&b, r, n); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("frame: %d of %d bytes: %w", got, n, err)
	}
	return Decode(b.Bytes())
}
