package hook

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// full listens at path with a queue that one caller fills, who is there already. What it returns takes one caller out of the queue.
func full(t *testing.T, path string) (accept func() *os.File) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	first, err := connect(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { first.Close() })
	return func() *os.File {
		c, _, err := syscall.Accept(fd)
		if err != nil {
			t.Fatal(err)
		}
		return os.NewFile(uintptr(c), path)
	}
}

func TestAFullQueueIsWaitedFor(t *testing.T) {
	path := filepath.Join(dir(t), "agent.sock")
	accept := full(t, path)
	if _, err := connect(path); !errors.Is(err, syscall.EAGAIN) {
		t.Fatalf("the queue is not full: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if e := core.AsError(Call(ctx, path, "status", nil, nil)); e == nil || e.Reason != core.Overloaded && e.Reason != core.TimedOut {
		t.Errorf("got %v", e)
	}
	said := make(chan error, 1)
	go func() { said <- Call(t.Context(), path, "status", nil, nil) }()
	accept().Close() // who filled it
	c := accept()
	defer c.Close()
	if _, err := ReadFrame(c, MaxRequest); err != nil {
		t.Fatal(err)
	}
	answer, err := Frame(Reply{Version: Version}, MaxReply)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(answer); err != nil {
		t.Fatal(err)
	}
	if err := <-said; err != nil {
		t.Error(err)
	}
}

// A call ends with its context, in whatever it is: before it connects, while it sends what nobody reads, while it waits for an answer.
func TestACallEndsWithItsContext(t *testing.T) {
	for name, test := range map[string]struct {
		in     any
		before bool
	}{
		"before it began": {nil, true},
		"while it sends":  {make([]byte, MaxRequest/2), false},
		"while it waits":  {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir(t), "agent.sock")
			accept := full(t, path)
			accept().Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.before {
				cancel()
				checkError(t, Call(ctx, path, "status", test.in, nil), core.Cancelled, "gave up")
				return
			}
			said := make(chan error, 1)
			go func() { said <- Call(ctx, path, "status", test.in, nil) }()
			c := accept()
			defer c.Close()
			if _, err := io.ReadFull(c, make([]byte, header)); err != nil {
				t.Fatal(err)
			}
			cancel()
			checkError(t, <-said, core.Cancelled, "gave up")
		})
	}
}
