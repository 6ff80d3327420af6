package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/plugins/flux/broker"
	"github.com/weft-hpc/weft/plugins/flux/broker/brokertest"
)

// stranger is nobody's uid.
const stranger = 64321

const journal = "job-manager.events-journal"

func start(t *testing.T) *brokertest.Broker {
	t.Helper()
	b, err := brokertest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Crash)
	return b
}

func dial(t *testing.T, b *brokertest.Broker) *broker.Conn {
	t.Helper()
	c, err := b.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

type entry struct {
	ID     int64
	Events []struct{ Name string }
}

func next(t *testing.T, s *broker.Stream) entry {
	t.Helper()
	var e entry
	if err := s.Decode(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAJournalFromItsBacklogToItsEnd(t *testing.T) {
	b := start(t)
	b.Submit(1, 1000, nil)
	c := dial(t, b)
	s, err := c.Stream(journal, broker.AnyNode, map[string]bool{"full": false})
	if err != nil {
		t.Fatal(err)
	}
	if e := next(t, s); e.ID != 1 || len(e.Events) != 4 {
		t.Errorf("backlog: %+v", e)
	}
	if e := next(t, s); e.ID != -1 || len(e.Events) != 0 {
		t.Errorf("the backlog's end: %+v", e)
	}
	b.Post(1, "memo", nil)
	if e := next(t, s); e.ID != 1 || e.Events[0].Name != "memo" {
		t.Errorf("live: %+v", e)
	}
	// Other calls go on beside it.
	var attr struct{ Value string }
	if err := c.Call(t.Context(), "attr.get", broker.AnyNode, map[string]string{"name": "rank"}, &attr); err != nil || attr.Value != "0" {
		t.Errorf("attr.get: %+v, %v", attr, err)
	}
	if err := s.Cancel(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, broker.End) {
		t.Errorf("after the cancel: %v", err)
	}
}

func TestFaults(t *testing.T) {
	b := start(t)
	c := dial(t, b)
	for topic, want := range map[string]syscall.Errno{"nobody.there": syscall.ENOSYS, "job-manager.raise": syscall.EPROTO, journal: syscall.EPROTO, "resource.drain": syscall.ENOSYS} {
		err := c.Call(t.Context(), topic, broker.AnyNode, map[string]int{"id": 1}, nil)
		var f *broker.Fault
		if !errors.As(err, &f) || f.Errno != want || f.Topic != topic || !strings.HasPrefix(err.Error(), topic+": ") {
			t.Errorf("%s: %v", topic, err)
		}
	}
	var wrong struct{ Value int }
	if err := c.Call(t.Context(), "attr.get", broker.AnyNode, map[string]string{"name": "rank"}, &wrong); err == nil {
		t.Error("an answer of another form is taken")
	}
	if err := c.Err(); err != nil {
		t.Errorf("a fault ended the connection: %v", err)
	}
}

func TestAGuest(t *testing.T) {
	b, err := brokertest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Crash)
	b.OwnedBy(stranger)
	c := dial(t, b)
	s, err := c.Stream(journal, broker.AnyNode, map[string]bool{"full": false})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, syscall.EPERM) {
		t.Errorf("a guest's journal: %v", err)
	}
}

func TestABrokerThatStarts(t *testing.T) {
	b := start(t)
	b.Starting(true)
	c := dial(t, b)
	s, err := c.Stream(journal, broker.AnyNode, map[string]bool{"full": false})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, syscall.ENOSYS) {
		t.Errorf("got %v", err)
	}
}

// TestABrokerThatStops ends a journal with ENODATA, then everything; a new one at the same place is found again.
func TestABrokerThatStops(t *testing.T) {
	b := start(t)
	c := dial(t, b)
	s, err := c.Stream(journal, broker.AnyNode, map[string]bool{"full": false})
	if err != nil {
		t.Fatal(err)
	}
	next(t, s)
	b.Stop()
	if _, err := s.Next(t.Context()); !errors.Is(err, broker.End) {
		t.Errorf("the journal's end: %v", err)
	}
	if err := c.Call(t.Context(), "attr.get", broker.AnyNode, nil, nil); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("a call after it: %v", err)
	}
	if _, err := b.Dial(t.Context()); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("dialled without a socket: %v", err)
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	dial(t, b)
}

func TestABrokerThatCrashesEndsEveryCall(t *testing.T) {
	b := start(t)
	hold := make(chan struct{})
	reached := make(chan struct{}, 10)
	b.Before(func(string) { reached <- struct{}{}; <-hold })
	c := dial(t, b)
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if err := c.Call(t.Context(), "attr.get", broker.AnyNode, nil, nil); !errors.Is(err, broker.ErrClosed) {
				t.Errorf("got %v", err)
			}
		})
	}
	<-reached
	go b.Crash()
	group.Wait()
	close(hold)
}

func TestACallGivenUp(t *testing.T) {
	b := start(t)
	hold := make(chan struct{})
	b.Before(func(topic string) {
		if topic == "resource.status" {
			<-hold
		}
	})
	c := dial(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Call(ctx, "resource.status", broker.AnyNode, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(hold) // its answer comes late and is nobody's
	if err := c.Call(t.Context(), "attr.get", broker.AnyNode, map[string]string{"name": "rank"}, nil); err != nil {
		t.Error(err)
	}
}

// TestSilence: a socket where nobody says a word costs the caller's own limit, and no more.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := broker.Open(ctx, here); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestARefusal(t *testing.T) {
	here, there := net.Pipe()
	go func() {
		_, _ = there.Write([]byte{byte(syscall.EPERM)})
		_ = there.Close()
	}()
	_, err := broker.Open(t.Context(), here)
	var r *broker.Refused
	if !errors.As(err, &r) || !errors.Is(err, syscall.EPERM) {
		t.Errorf("got %v", err)
	}
}

// TestAStreamOfRubbish ends the connection and all who wait on it.
func TestAStreamOfRubbish(t *testing.T) {
	here, there := net.Pipe()
	go func() {
		_, _ = there.Write([]byte("\x00HTTP/1.1 400 Bad Request\r\n"))
		_, _ = io.Copy(io.Discard, there)
	}()
	c, err := broker.Open(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.Stream(journal, broker.AnyNode, nil)
	if err == nil {
		_, err = s.Next(t.Context())
	}
	if !errors.Is(err, broker.ErrMagic) {
		t.Errorf("got %v", err)
	}
}

// TestAReaderThatDoesNotKeepUp loses its stream, and the connection goes on.
func TestAReaderThatDoesNotKeepUp(t *testing.T) {
	here, there := net.Pipe()
	cancelled := make(chan *broker.Message, 1)
	answer := func(m *broker.Message, payload []byte) {
		b, err := broker.AppendFrame(nil, &broker.Message{Kind: broker.Response, Flags: broker.FlagTopic | broker.FlagPayload | broker.FlagRoute, Second: m.Tag(), Topic: m.Topic, Payload: payload})
		if err == nil {
			_, _ = there.Write(b)
		}
	}
	go func() {
		defer there.Close()
		_, _ = there.Write([]byte{0})
		first, err := broker.ReadFrame(there)
		if err != nil {
			return
		}
		go func() {
			big := make([]byte, 6<<10)
			for range 5 {
				answer(first, big)
			}
		}()
		m, err := broker.ReadFrame(there)
		if err != nil {
			return
		}
		cancelled <- m
		if m, err = broker.ReadFrame(there); err == nil {
			answer(m, []byte("{}\x00"))
		}
	}()
	c, err := broker.Open(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Bound(20 << 10)
	s, err := c.Stream(journal, broker.AnyNode, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := <-cancelled; m.Topic != journal+"-cancel" || m.Flags&broker.FlagNoResponse == 0 {
		t.Errorf("the broker is told %+v", m)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, broker.ErrBehind) {
		t.Errorf("got %v", err)
	}
	var out json.RawMessage
	if err := c.Call(t.Context(), "attr.get", broker.AnyNode, nil, &out); err != nil {
		t.Error(err)
	}
}

// TestNobodyIsThere: libflux's few tries, then the reason.
func TestNobodyIsThere(t *testing.T) {
	tries := 0
	_, err := broker.Dial(t.Context(), "local://"+filepath.Join(t.TempDir(), "local-0"), func(ctx context.Context, path string) (net.Conn, error) {
		tries++
		return broker.Plain(ctx, path)
	})
	if !errors.Is(err, syscall.ENOENT) || tries != 5 {
		t.Errorf("%d tries, %v", tries, err)
	}
	if _, err := broker.Dial(t.Context(), "ssh://elsewhere", nil); err == nil {
		t.Error("another connector is taken")
	}
}
