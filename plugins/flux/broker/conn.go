package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/poll"
)

// Time limits of a connection. A call's own is its context's.
const (
	writeLimit = 10 * time.Second
	dialTries  = 5 // as libflux has it: 16 ms, doubling to at most 2 s
	firstPause = 16 * time.Millisecond
	mostPause  = 2 * time.Second
)

// MaxWaiting bounds what of a stream waits to be read, in bytes; beyond it the stream ends with ErrBehind.
const MaxWaiting = 256 << 20

// Conn is one connection to a broker. It is safe for concurrent use.
type Conn struct {
	net  net.Conn
	done chan struct{} // closed when the reader has ended
	most int           // bytes of a stream that may wait to be read

	writing sync.Mutex

	mu    sync.Mutex
	calls map[uint32]*Stream
	last  uint32 // the newest tag
	err   error  // why it is over
}

// Dialer opens the socket at path; nil is the plain one.
type Dialer func(ctx context.Context, path string) (net.Conn, error)

// Dial connects to the broker of a local URI: a socket that is not there, or not listened at, is tried a few times, as libflux does.
func Dial(ctx context.Context, uri string, dial Dialer) (*Conn, error) {
	path, err := Path(uri)
	if err != nil {
		return nil, err
	}
	if dial == nil {
		dial = Plain
	}
	for try, wait := 1, firstPause; ; try, wait = try+1, min(2*wait, mostPause) {
		c, err := dial(ctx, path)
		if err == nil {
			return Open(ctx, c)
		}
		if try == dialTries || !poll.Pause(ctx, wait) {
			return nil, err
		}
	}
}

// Plain opens a unix socket with the credentials of this process.
func Plain(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// Open waits for the broker's byte on a fresh connection, which it closes where that is no welcome.
func Open(ctx context.Context, c net.Conn) (*Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	var word [1]byte
	_, err := io.ReadFull(c, word[:])
	if !stop() && err != nil {
		err = ctx.Err()
	}
	if err == nil && word[0] != 0 {
		err = &Refused{syscall.Errno(word[0])}
	}
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("broker: %w", err)
	}
	_ = c.SetReadDeadline(time.Time{})
	b := &Conn{net: c, done: make(chan struct{}), most: MaxWaiting, calls: map[uint32]*Stream{}}
	go b.read()
	return b, nil
}

// read hands responses to those who wait for them, until the connection ends.
func (c *Conn) read() {
	defer close(c.done)
	r := bufio.NewReaderSize(c.net, 64<<10)
	for {
		m, err := ReadFrame(r)
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) {
				err = ErrClosed
			}
			c.end(err)
			return
		}
		if m.Kind != Response {
			continue // nothing was subscribed to, and no service is offered
		}
		c.mu.Lock()
		s := c.calls[m.Tag()]
		if s != nil && (m.Errno() != 0 || !s.streaming) {
			delete(c.calls, m.Tag())
		}
		c.mu.Unlock()
		if s != nil && !s.put(m) {
			c.forget(s)
			_ = c.send(s.cancel())
		}
	}
}

// end fails all who wait.
func (c *Conn) end(err error) {
	_ = c.net.Close()
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	err = c.err
	calls := c.calls
	c.calls = map[uint32]*Stream{}
	c.mu.Unlock()
	for _, s := range calls {
		s.fail(err)
	}
}

// Close ends the connection. The broker tells the services that were used.
func (c *Conn) Close() {
	c.end(ErrClosed)
	<-c.done
}

// Err is why the connection is over; nil while it is not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Conn) send(m *Message) error {
	b, err := AppendFrame(nil, m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.net.SetWriteDeadline(time.Now().Add(writeLimit))
	if _, err := c.net.Write(b); err != nil {
		c.end(fmt.Errorf("%w: %w", ErrClosed, err)) // half a frame spoils what would follow
		return c.Err()
	}
	return nil
}

// Call asks topic's service at rank node (AnyNode: the nearest) and decodes its answer into out, unless that is nil.
func (c *Conn) Call(ctx context.Context, topic string, node uint32, in, out any) error {
	s, err := c.begin(topic, node, in, false)
	if err != nil {
		return err
	}
	defer c.forget(s)
	payload, err := s.Next(ctx)
	if err != nil || out == nil {
		return err
	}
	return unmarshal(topic, payload, out)
}

// Stream begins a streaming call.
func (c *Conn) Stream(topic string, node uint32, in any) (*Stream, error) {
	return c.begin(topic, node, in, true)
}

func (c *Conn) begin(topic string, node uint32, in any, streaming bool) (*Stream, error) {
	m, err := NewRequest(topic, node, in)
	if err != nil {
		return nil, err
	}
	s := &Stream{conn: c, topic: topic, node: node, streaming: streaming, wake: make(chan struct{}, 1)}
	if streaming {
		m.Flags |= FlagStreaming
	}
	c.mu.Lock()
	if c.err != nil {
		err := c.err
		c.mu.Unlock()
		return nil, err
	}
	for {
		if c.last++; c.last != 0 && c.calls[c.last] == nil { // tag 0 is of requests without a response
			break
		}
	}
	s.tag = c.last
	c.calls[s.tag] = s
	c.mu.Unlock()
	m.Second = s.tag
	if err := c.send(m); err != nil {
		c.forget(s)
		return nil, err
	}
	return s, nil
}

// forget gives a response that still comes to nobody.
func (c *Conn) forget(s *Stream) {
	c.mu.Lock()
	if c.calls[s.tag] == s {
		delete(c.calls, s.tag)
	}
	c.mu.Unlock()
}

// NewRequest is a request of a client: JSON in, or no payload for nil, with an empty list of routes, which the broker would add.
func NewRequest(topic string, node uint32, in any) (*Message, error) {
	m := &Message{Kind: Request, Flags: FlagTopic | FlagRoute, User: UnknownUser, First: node, Topic: topic}
	if in == nil {
		return m, nil
	}
	text, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", topic, err)
	}
	m.Flags |= FlagPayload
	m.Payload = append(text, 0) // without its NUL the broker answers EPROTO
	return m, nil
}

func unmarshal(topic string, payload []byte, out any) error {
	n := len(payload)
	if n == 0 || payload[n-1] != 0 {
		return fmt.Errorf("%s: its answer is no JSON that ends in NUL", topic)
	}
	if err := json.Unmarshal(payload[:n-1], out); err != nil {
		return fmt.Errorf("%s: its answer: %w", topic, err)
	}
	return nil
}
