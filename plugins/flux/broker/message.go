package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Kind is what a message is.
type Kind uint8

// The kinds of RFC 3.
const (
	Request  Kind = 1
	Response Kind = 2
	Event    Kind = 4
	Control  Kind = 8
)

// Flags of a message.
type Flags uint8

// The flags of RFC 3 that are met here.
const (
	FlagTopic      Flags = 0x01
	FlagPayload    Flags = 0x02
	FlagNoResponse Flags = 0x04
	FlagRoute      Flags = 0x08
	FlagStreaming  Flags = 0x40
)

// Roles of who sent a message, as the broker says.
type Roles uint32

// The roles of RFC 12 that are met here.
const (
	RoleOwner Roles = 1
	RoleUser  Roles = 2
	RoleLocal Roles = 4
)

// AnyNode lets the broker choose who serves a request: itself or the nearest upstream that can.
const AnyNode = math.MaxUint32

// UnknownUser is what a client puts where the broker puts who the client is.
const UnknownUser = math.MaxUint32

// Message is one message of RFC 3.
type Message struct {
	Kind    Kind
	Flags   Flags
	User    uint32 // set by the broker; a client sends UnknownUser
	Roles   Roles  // set by the broker; a client sends none
	First   uint32 // Request: the rank; Response: errno, 0 where it went well; Event: the sequence
	Second  uint32 // Request, Response: the tag
	Routes  []string
	Topic   string
	Payload []byte
}

// Errno is the error that a response carries, 0 for none.
func (m *Message) Errno() uint32 { return m.First }

// Tag is the number that ties a response to its request.
func (m *Message) Tag() uint32 { return m.Second }

const (
	protoSize    = 20
	protoMagic   = 0x8e
	protoVersion = 1
	longPart     = 0xff
	maxRoutes    = 64 // of a message; a tree-based network of a million brokers is less deep
	maxTopic     = 1024
)

var errShort = errors.New("message: it ends in the middle of a part")

// Append writes the message behind b, without the frame's header.
func (m *Message) Append(b []byte) []byte {
	if m.Flags&FlagRoute != 0 {
		for _, r := range m.Routes {
			b = appendPart(b, []byte(r))
		}
		b = appendPart(b, nil)
	}
	if m.Flags&FlagTopic != 0 {
		b = appendPart(b, []byte(m.Topic))
	}
	if m.Flags&FlagPayload != 0 {
		b = appendPart(b, m.Payload)
	}
	p := [protoSize]byte{protoMagic, protoVersion, byte(m.Kind), byte(m.Flags)}
	for i, v := range [4]uint32{m.User, uint32(m.Roles), m.First, m.Second} {
		binary.BigEndian.PutUint32(p[4+4*i:], v)
	}
	return appendPart(b, p[:])
}

func appendPart(b, part []byte) []byte {
	if len(part) < longPart {
		b = append(b, byte(len(part)))
	} else {
		b = append(b, longPart)
		b = binary.BigEndian.AppendUint32(b, uint32(len(part))) //nolint:gosec // a frame is bounded below 4 GiB
	}
	return append(b, part...)
}

// cutPart takes the first part off b. A length is believed only as far as there are bytes.
func cutPart(b []byte) (part, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, errShort
	}
	n, b := uint64(b[0]), b[1:]
	if n == longPart {
		if len(b) < 4 {
			return nil, nil, errShort
		}
		n, b = uint64(binary.BigEndian.Uint32(b)), b[4:]
		if n < longPart {
			return nil, nil, fmt.Errorf("message: a part of %d bytes is written in the long form", n)
		}
	}
	if n > uint64(len(b)) {
		return nil, nil, errShort
	}
	return b[:n], b[n:], nil
}

// Decode reads a message as it stands behind a frame's header. The message keeps b's bytes.
func Decode(b []byte) (*Message, error) {
	var parts [][]byte
	for len(b) > 0 {
		part, rest, err := cutPart(b)
		if err != nil {
			return nil, err
		}
		if parts = append(parts, part); len(parts) > maxRoutes+4 {
			return nil, fmt.Errorf("message: it has more than %d routes", maxRoutes)
		}
		b = rest
	}
	if len(parts) == 0 {
		return nil, errors.New("message: it is empty")
	}
	m := &Message{}
	if err := m.proto(parts[len(parts)-1]); err != nil {
		return nil, err
	}
	return m, m.fill(parts[:len(parts)-1])
}

func (m *Message) proto(p []byte) error {
	if len(p) != protoSize || p[0] != protoMagic || p[1] != protoVersion {
		return fmt.Errorf("message: its last part of %d bytes is no protocol header of version %d", len(p), protoVersion)
	}
	m.Kind, m.Flags = Kind(p[2]), Flags(p[3])
	switch m.Kind {
	case Request, Response, Event, Control:
	default:
		return fmt.Errorf("message: there is no kind %d", p[2])
	}
	m.User, m.Roles = binary.BigEndian.Uint32(p[4:]), Roles(binary.BigEndian.Uint32(p[8:]))
	m.First, m.Second = binary.BigEndian.Uint32(p[12:]), binary.BigEndian.Uint32(p[16:])
	return nil
}

// fill takes what stands before the protocol header.
func (m *Message) fill(parts [][]byte) error {
	if m.Flags&FlagRoute != 0 {
		n := 0
		for n < len(parts) && len(parts[n]) > 0 {
			m.Routes = append(m.Routes, string(parts[n]))
			n++
		}
		if n == len(parts) {
			return errors.New("message: its routes have no end")
		}
		parts = parts[n+1:]
	}
	want := 0
	for _, f := range [2]Flags{FlagTopic, FlagPayload} {
		if m.Flags&f != 0 {
			want++
		}
	}
	if len(parts) != want {
		return fmt.Errorf("message: it has %d parts beside its routes and header, where its flags promise %d", len(parts), want)
	}
	if m.Flags&FlagTopic != 0 {
		if len(parts[0]) > maxTopic {
			return fmt.Errorf("message: its topic has %d bytes", len(parts[0]))
		}
		m.Topic, parts = string(parts[0]), parts[1:]
		if n := len(m.Topic); n > 0 && m.Topic[n-1] == 0 {
			m.Topic = m.Topic[:n-1] // as RFC 3 has it
		}
		if strings.IndexByte(m.Topic, 0) >= 0 {
			return fmt.Errorf("message: its topic %.80q has a NUL in it", m.Topic)
		}
	}
	if m.Flags&FlagPayload != 0 {
		m.Payload = parts[0]
	}
	return nil
}
