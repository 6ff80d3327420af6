package hook

import (
	"context"
	"encoding/json"
	"io"

	"github.com/weft-hpc/weft/core"
)

// Request is what a caller sends. All of it comes from outside and proves nothing.
type Request struct {
	Version int             `json:"version"`
	ID      string          `json:"id,omitempty"` // one id from caller to driver, for logs; made by Call
	Verb    string          `json:"verb"`
	Body    json.RawMessage `json:"body,omitempty"`
	Began   int64           `json:"began,omitempty"`  // CLOCK_BOOTTIME in ns when the caller began; the listener never lets it lie in the future
	Until   int64           `json:"until,omitempty"`  // CLOCK_BOOTTIME in ns after which the caller is gone; 0: not known
	Cursor  string          `json:"cursor,omitempty"` // Pages: where the page before ended
	Lines   bool            `json:"lines,omitempty"`  // the caller reads no JSON: see Text

	Right string `json:"-"` // why the daemon let the caller in, for its audit; set by the daemon
	Room  int    `json:"-"` // bytes that the reply's body may have, of which no caller decides; set by the listener; 0: listener.DefaultReply
}

// ParseRequest reads a request's frame. One that is not understood is core.BadCall; one of a version that this release does not speak core.BadVersion.
func ParseRequest(frame []byte) (Request, error) {
	var r Request
	if err := decode(frame, &r); err != nil {
		return Request{}, core.Errorf(core.BadCall, "call: the request is %w", err)
	}
	if err := checkVersion("caller", r.Version); err != nil {
		return Request{}, err
	}
	return r, nil
}

// Text is a reply to a request with Lines: its frame holds the text itself. It never begins with a brace, so that a
// caller can tell it from a Reply, which refuses the call or comes from an older daemon.
type Text []byte

// Stream is a reply of any length: it writes to the caller, who reads it with Receive. Its error reaches the caller.
// ctx ends when the daemon stops. A write that takes longer than an answer may fails.
type Stream func(ctx context.Context, w io.Writer) error

// Decode reads the request's body into v. A caller's mistake is a bad call.
func (r Request) Decode(v any) error {
	if err := decode(r.Body, v); err != nil {
		return core.Errorf(core.BadCall, "call of %s: its body: %w", core.Clip(r.Verb), err)
	}
	return nil
}

// Reply is what a listener answers: an Error, or a Body.
type Reply struct {
	Version int             `json:"version"`
	Error   *Fault          `json:"error,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Next    string          `json:"next,omitempty"`  // a further page begins here
	Note    string          `json:"note,omitempty"`  // what the caller must know of the answer: see WithNotes
	Again   bool            `json:"again,omitempty"` // refused before anything began: the same call may come again
	More    bool            `json:"more,omitempty"`  // of a Stream: Body is a part of it in base64, and a reply follows

	Text   Text   `json:"-"` // not nil: sent instead
	Stream Stream `json:"-"` // likewise
}
