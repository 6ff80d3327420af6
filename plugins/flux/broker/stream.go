package broker

import (
	"context"
	"sync"
)

// Stream is a call that is under way. One goroutine reads it.
type Stream struct {
	conn      *Conn
	topic     string
	node      uint32
	tag       uint32
	streaming bool
	wake      chan struct{}

	mu      sync.Mutex
	queue   []*Message
	waiting int // bytes in queue
	err     error
}

// put keeps a response until it is read; false where that would be too much.
func (s *Stream) put(m *Message) bool {
	s.mu.Lock()
	fits := s.waiting+len(m.Payload) <= s.conn.most
	if fits {
		s.queue, s.waiting = append(s.queue, m), s.waiting+len(m.Payload)
	} else {
		s.queue, s.waiting, s.err = nil, 0, ErrBehind
	}
	s.mu.Unlock()
	s.notify()
	return fits
}

func (s *Stream) fail(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	s.notify()
}

func (s *Stream) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take is the next response, if there is one. What came before the end is read before the end is told.
func (s *Stream) take() (*Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil, s.err
	}
	m := s.queue[0]
	s.queue[0] = nil
	if s.queue, s.waiting = s.queue[1:], s.waiting-len(m.Payload); len(s.queue) == 0 {
		s.queue = nil
	}
	return m, nil
}

// Next waits for the next response and gives its payload. An error that the service sent is a *Fault; of one whose errno is End there is no more.
func (s *Stream) Next(ctx context.Context) ([]byte, error) {
	for {
		m, err := s.take()
		switch {
		case m != nil && m.Errno() != 0:
			return nil, newFault(m)
		case m != nil:
			return m.Payload, nil
		case err != nil:
			return nil, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Decode waits for the next response and decodes it into out.
func (s *Stream) Decode(ctx context.Context, out any) error {
	payload, err := s.Next(ctx)
	if err != nil {
		return err
	}
	return unmarshal(s.topic, payload, out)
}

// cancel asks the service to end the stream, which it does with End.
func (s *Stream) cancel() *Message {
	m, _ := NewRequest(s.topic+"-cancel", s.node, map[string]uint32{"matchtag": s.tag}) // this always encodes
	m.Flags |= FlagNoResponse
	return m
}

// Poll decodes the next response into out if one has come already.
func (s *Stream) Poll(out any) (bool, error) {
	m, err := s.take()
	switch {
	case m == nil:
		return false, err
	case m.Errno() != 0:
		return false, newFault(m)
	}
	return true, unmarshal(s.topic, m.Payload, out)
}
