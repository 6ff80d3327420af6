package broker

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Fault is a response that says no. errors.Is finds its errno: errors.Is(err, syscall.ENOENT).
type Fault struct {
	Topic string
	Errno syscall.Errno
	Text  string // what the service says of it; may be empty
}

// End is the errno by which a streaming service says that there is no more.
const End = syscall.ENODATA

func (f *Fault) Error() string {
	if f.Text != "" {
		return fmt.Sprintf("%s: %s (%s)", f.Topic, f.Text, f.Errno)
	}
	return f.Topic + ": " + f.Errno.Error()
}

func (f *Fault) Unwrap() error { return f.Errno }

// maxText bounds what is kept of a service's words, in bytes.
const maxText = 1024

func newFault(m *Message) *Fault {
	text := string(m.Payload[:min(len(m.Payload), maxText)])
	text, _, _ = strings.Cut(text, "\x00")
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "?")
	}
	return &Fault{Topic: m.Topic, Errno: syscall.Errno(m.Errno()), Text: text}
}

// ErrClosed is a connection that is over: closed here, or ended by the broker, which is going down or does not want this client.
var ErrClosed = errors.New("the connection to the broker is over")

// ErrBehind ends a stream whose reader did not keep up: what was not read was too much to keep.
var ErrBehind = errors.New("the stream was not read fast enough")

// Refused is the broker's one-byte answer to a client that it does not want.
type Refused struct{ Errno syscall.Errno }

func (r *Refused) Error() string { return "the broker refuses this user: " + r.Errno.Error() }
func (r *Refused) Unwrap() error { return r.Errno }
