package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
)

// execLater makes the test binary a program that execs cat from a thread that is not its first, as `weft run` may.
const execLater = "LOCAL_TEST_EXEC_LATER"

func TestMain(m *testing.M) {
	if os.Getenv(execLater) != "" {
		execFromAThread()
	}
	goleak.VerifyTestMain(m)
}

func execFromAThread() {
	cat, err := exec.LookPath("cat")
	if err != nil {
		panic(err)
	}
	for range 4 { // more threads, that the exec must end
		go func() { runtime.LockOSThread(); select {} }()
	}
	go func() {
		runtime.LockOSThread()
		for syscall.Gettid() == syscall.Getpid() {
			panic("this is the first thread")
		}
		_, _ = io.ReadFull(os.Stdin, make([]byte, 1))
		panic(syscall.Exec(cat, []string{"cat"}, nil))
	}()
	runtime.LockOSThread()
	select {}
}

// child is a process that lives until it is told to end.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.Reader
	once sync.Once
}

func spawn(t testing.TB, cmd *exec.Cmd) *child {
	t.Helper()
	c := &child{cmd: cmd}
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.end)
	return c
}

// cat is a child of uid; another than our own needs root.
func cat(t testing.TB, uid uint32) *child {
	t.Helper()
	cmd := exec.Command("cat")
	if int(uid) != os.Getuid() {
		if os.Getuid() != 0 {
			t.Skip("only root can start a process of another user")
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{uid, 60001}}}
	}
	return spawn(t, cmd)
}

// end ends the child and waits for it.
func (c *child) end() {
	c.once.Do(func() {
		c.in.Close()
		_ = c.cmd.Wait()
	})
}

func (c *child) peer() core.Peer {
	uid, gid := uint32(os.Getuid()), uint32(os.Getgid())
	if a := c.cmd.SysProcAttr; a != nil {
		uid, gid = a.Credential.Uid, a.Credential.Gid
	}
	return core.Peer{UID: uid, GID: gid, PID: int32(c.cmd.Process.Pid)}
}

func me() uint32 { return uint32(os.Getuid()) }

func checkError(t *testing.T, err error, want core.Reason, says string) {
	t.Helper()
	e, ok := errors.AsType[*core.Error](err)
	if !ok || e.Reason != want || !strings.Contains(e.Line(), says) || strings.ContainsRune(e.Line(), '\n') {
		t.Errorf("got %s, want one line of %s that says %q", describe(err), want, says)
	}
}

func describe(err error) string {
	if e, ok := errors.AsType[*core.Error](err); ok {
		return fmt.Sprintf("%s: %q", e.Reason, e.Line())
	}
	return fmt.Sprintf("%T: %v", err, err)
}
