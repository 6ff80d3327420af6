package listener

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

func TestListenSetsModeAndReplacesADeadSocket(t *testing.T) {
	path := filepath.Join(dir(t), "agent.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	for _, want := range []fs.FileMode{0o600, 0o666} {
		ln, err := Listen(path, want)
		if err != nil {
			t.Fatal(err)
		}
		if got := mode(t, path); got.Perm() != want || got.Type() != fs.ModeSocket {
			t.Errorf("mode is %v, want a socket of %v", got, want)
		}
		if ln.Addr().String() != path {
			t.Errorf("address is %s", ln.Addr())
		}
		ln.Close()
		ln.Close()
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("the socket is still there: %v", err)
		}
	}
}

func TestListenRefuses(t *testing.T) {
	d := dir(t)
	at := func(name string) string { return filepath.Join(d, name) }
	ours, err := Listen(at("ours"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	theirs, err := net.Listen("unix", at("theirs"))
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if err := os.WriteFile(at("file"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("nowhere"), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(d, at(".trap.new")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path string
		want core.Reason
		says string
	}{
		"ours":   {at("ours"), core.BadConfig, "another daemon"},
		"theirs": {at("theirs"), core.BadConfig, "another daemon"},
		"file":   {at("file"), core.BadConfig, "no socket"},
		"link":   {at("link"), core.BadConfig, "no socket"},
		"trap":   {at("trap"), core.BadConfig, "socket"},
		"nodir":  {at("none/sock"), core.BadConfig, "folder"},
		"long":   {at(strings.Repeat("x", hook.MaxPath)), core.BadCall, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := Listen(test.path, 0o600)
			if err == nil {
				ln.Close()
			}
			checkError(t, err, test.want, test.says)
		})
	}
	if b, err := os.ReadFile(at("file")); err != nil || string(b) != "precious" {
		t.Errorf("the file was touched: %q, %v", b, err)
	}
	if conn, err := net.Dial("unix", at("theirs")); err != nil {
		t.Errorf("the other's socket was touched: %v", err)
	} else {
		conn.Close()
	}
}

func TestListenLeavesASuccessorsSocketAlone(t *testing.T) {
	path := filepath.Join(dir(t), "agent.sock")
	ln, err := Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	next, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	ln.Close()
	if mode(t, path).Type() != fs.ModeSocket {
		t.Error("the other's socket is gone")
	}
}

// A daemon keeps its place when its socket file is removed, since it still serves its callers.
func TestOneListensWithoutItsSocket(t *testing.T) {
	path := filepath.Join(dir(t), "agent.sock")
	ln, err := Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	next, err := Listen(path, 0o600)
	if err == nil {
		next.Close()
	}
	checkError(t, err, core.BadConfig, "another daemon")
}

// No other user can reach the folder in which the socket is made, even if another made that folder.
func TestTheFolderInWhichASocketIsMade(t *testing.T) {
	path := filepath.Join(dir(t), "agent.sock")
	workshop := filepath.Join(filepath.Dir(path), ".agent.sock.new")
	if err := errors.Join(os.Mkdir(workshop, 0o700), os.Chmod(workshop, 0o777)); err != nil {
		t.Fatal(err)
	}
	ln, err := Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if got := mode(t, workshop).Perm(); got != 0o700 {
		t.Errorf("its mode is %v", got)
	}
	ln.Close()
	if os.Getuid() != 0 {
		t.Skip("only root can give the folder to another user")
	}
	if err := os.Chown(workshop, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if ln, err = Listen(path, 0o600); err == nil {
		ln.Close()
	}
	checkError(t, err, core.BadConfig, "another user")
}

func TestOfManyListenersOneWins(t *testing.T) {
	path := filepath.Join(dir(t), "agent.sock")
	var wg sync.WaitGroup
	won := make(chan net.Listener, 16)
	for range 16 {
		wg.Go(func() {
			if ln, err := Listen(path, 0o600); err == nil {
				won <- ln
			}
		})
	}
	wg.Wait()
	close(won)
	n := 0
	for ln := range won {
		n++
		t.Cleanup(func() { ln.Close() })
	}
	if n != 1 {
		t.Errorf("%d listen", n)
	}
}
