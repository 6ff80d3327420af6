package listener

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(callAs); path != "" {
		callSocket(path)
	}
	goleak.VerifyTestMain(m)
}

// dir is a folder whose path is short enough for a socket.
func dir(t testing.TB) string {
	t.Helper()
	d, err := os.MkdirTemp("", "hook")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(d) })
	return d
}

// start serves handler at a socket of its own until the test ends.
func start(t testing.TB, bounds Bounds, handler Handler) string {
	t.Helper()
	path := filepath.Join(dir(t), "agent.sock")
	ln, err := Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, &Server{Bounds: bounds}, ln, handler)
	return path
}

func serve(t testing.TB, f *Server, ln net.Listener, handler Handler) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Serve(ctx, ln, handler) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func mode(t testing.TB, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func checkError(t *testing.T, err error, want core.Reason, says string) {
	t.Helper()
	e, ok := errors.AsType[*core.Error](err)
	if !ok || e.Reason != want || !strings.Contains(e.What, says) || strings.ContainsRune(e.Line(), '\n') {
		t.Errorf("got %#v, want one line of %s that says %q", err, want, says)
	}
}
