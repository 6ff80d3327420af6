package run

import (
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// A job on several nodes has a process between `weft run` and its commands: the keeper. Whatever they start becomes the keeper's own child when its parent
// ends, and the keeper sees by a socket that `weft run` is gone, however it was killed: so nothing of the job outlives it, with no daemon's help. The commands
// themselves end with the keeper.

// keepSpec is what a keeper is to start. It goes by a socket: environments are no arguments, for everybody to see.
type keepSpec struct {
	Path     string
	Args     []string
	Environs [][]string
	Cred     *syscall.Credential
}

// keepBegun is what came of it. Err is why the command after PIDs could not be started; the others are killed then.
type keepBegun struct {
	PIDs []int
	Err  string
}

// keeper is a keeper as `weft run` sees it.
type keeper struct {
	cmd  *exec.Cmd
	conn io.Closer
	to   *gob.Encoder
	from *gob.Decoder
}

// keeperConn is the keeper's descriptor of its connection to `weft run`.
const keeperConn = 3

func startKeeper() (*keeper, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("run: its keeper's socket: %w", err)
	}
	ours, its := os.NewFile(uintptr(ends[0]), "keeper"), os.NewFile(uintptr(ends[1]), "keeper")
	defer its.Close()
	c := exec.Command("/proc/self/exe", keepVerb)
	c.Args[0], c.Stdin, c.Stdout, c.Stderr, c.ExtraFiles = "weft", os.Stdin, os.Stdout, os.Stderr, []*os.File{its}
	if err := c.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("run: its keeper cannot be started: %w", err)
	}
	return &keeper{cmd: c, conn: ours, to: gob.NewEncoder(ours), from: gob.NewDecoder(ours)}, nil
}

func (k *keeper) begin(spec keepSpec) (begun keepBegun, err error) {
	if err = k.to.Encode(spec); err == nil {
		err = k.from.Decode(&begun)
	}
	if err != nil {
		err = fmt.Errorf("run: its keeper ended: %w", err)
	}
	return begun, err
}

func (k *keeper) wait() (code int, err error) {
	if err := k.from.Decode(&code); err != nil {
		return 0, fmt.Errorf("run: its keeper, pid %d, was killed, and the commands with it", k.cmd.Process.Pid)
	}
	return code, nil
}

// end kills what still runs.
func (k *keeper) end() {
	_ = k.conn.Close()
	_ = k.cmd.Wait()
}
