package listener

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// streaming serves a Stream.
func streaming(t *testing.T, bounds Bounds, s hook.Stream) string {
	return start(t, bounds, func(context.Context, core.Peer, hook.Request) (any, error) { return s, nil })
}

// An answer of any length comes whole, though no frame is large.
func TestStream(t *testing.T) {
	for _, n := range []int{0, 1, partSize, 3*partSize + 7, 5 << 20} {
		want := make([]byte, n)
		_, _ = rand.NewChaCha8([32]byte{}).Read(want)
		path := streaming(t, Bounds{Reply: 128 << 10}, func(_ context.Context, w io.Writer) error {
			_, err := w.Write(want)
			return err
		})
		var got bytes.Buffer
		if err := hook.Receive(t.Context(), path, "read", nil, &got); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%d bytes: got %d, %v", n, got.Len(), err)
		}
	}
}

// An error ends it, whether it is of the one side or of the other.
func TestAStreamThatFails(t *testing.T) {
	broken := streaming(t, Bounds{}, func(_ context.Context, w io.Writer) error {
		_, _ = w.Write(make([]byte, 2*partSize))
		return core.Errorf(core.StoreFailed, "the disk is gone")
	})
	checkError(t, hook.Receive(t.Context(), broken, "read", nil, io.Discard), core.StoreFailed, "the disk is gone")
	checkError(t, hook.Receive(t.Context(), streaming(t, Bounds{}, func(context.Context, io.Writer) error { panic("no") }),
		"read", nil, io.Discard), core.InternalFault, "Weft failed in the middle of it")

	wrote := make(chan error, 1)
	endless := streaming(t, Bounds{Answer: time.Second}, func(_ context.Context, w io.Writer) (err error) {
		for err == nil {
			_, err = w.Write(make([]byte, partSize))
		}
		wrote <- err
		return err
	})
	no := errors.New("no room")
	refuses := writerFunc(func([]byte) (int, error) { return 0, no })
	if err := hook.Receive(t.Context(), endless, "read", nil, refuses); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	if core.ReasonOf(<-wrote) != core.Cancelled {
		t.Error("the daemon does not know that its caller is gone")
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	err := hook.Receive(ctx, endless, "read", nil, gone)
	checkError(t, err, core.Cancelled, "gave up")
	<-wrote
	// A caller who does not read is ended when a part's time is over.
	hold := make(chan struct{})
	go func() {
		_ = hook.Receive(t.Context(), endless, "read", nil, writerFunc(func([]byte) (int, error) { <-hold; return 0, no }))
	}()
	if core.ReasonOf(<-wrote) != core.Cancelled {
		t.Error("the daemon waits for a caller who does not read")
	}
	close(hold)
}

// A listener that stops does not wait for a caller who does not read.
func TestStopBesideAStream(t *testing.T) {
	began, hold := make(chan struct{}, 1), make(chan struct{})
	t.Cleanup(func() { close(hold) })                                  // after the listener has ended
	bounds := Bounds{Stop: 200 * time.Millisecond, Write: time.Second} // the socket is full by then
	path := streaming(t, bounds, func(ctx context.Context, w io.Writer) (err error) {
		for err == nil {
			_, err = w.Write(make([]byte, partSize))
		}
		return err
	})
	go func() {
		_ = hook.Receive(context.WithoutCancel(t.Context()), path, "read", nil, writerFunc(func([]byte) (int, error) {
			began <- struct{}{}
			<-hold
			return 0, io.ErrClosedPipe
		}))
	}()
	<-began
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
