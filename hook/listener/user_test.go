package listener

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// callAs makes the test binary a caller that says what it was answered.
const callAs = "HOOK_TEST_CALL"

// callSocket is what the test binary does as another user.
func callSocket(path string) {
	var out string
	err := hook.Call(context.Background(), path, "who", map[string]int{"uid": 0, "pid": 1}, &out)
	if err != nil {
		out = string(core.AsError(err).Reason)
	}
	fmt.Print(out)
	os.Exit(0)
}

// TestAnotherUser is who the kernel says, whatever it claims, and is kept out of root's socket.
func TestAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	const nobody = 65534
	d := dir(t)
	if err := os.Chmod(d, 0o755); err != nil {
		t.Fatal(err)
	}
	// The test binary lies in a folder that is root's alone.
	self := filepath.Join(d, "caller")
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(self, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	who := func(_ context.Context, peer core.Peer, _ hook.Request) (any, error) {
		return fmt.Sprintf("uid %d gid %d pid %d", peer.UID, peer.GID, peer.PID), nil
	}
	for name, mode := range map[string]os.FileMode{"users.sock": 0o666, "root.sock": 0o600} {
		ln, err := Listen(filepath.Join(d, name), mode)
		if err != nil {
			t.Fatal(err)
		}
		serve(t, &Server{Bounds: Users()}, ln, who)
	}
	for name, want := range map[string]string{"users.sock": "uid 65534 gid 65534 pid PID", "root.sock": string(core.NotAllowed)} {
		cmd := exec.Command(self)
		cmd.Env = []string{callAs + "=" + filepath.Join(d, name)}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		got, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		if want = strings.Replace(want, "PID", fmt.Sprint(cmd.Process.Pid), 1); string(got) != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
