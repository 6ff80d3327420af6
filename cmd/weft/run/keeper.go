package run

import (
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// A job on several nodes has a process between `weft run` and its commands: the keeper. Whatever they start becomes the keeper's own child when its parent
// ends, and the keeper sees by a pipe that `weft run` is gone, however it was killed: so nothing of the job outlives it, with no daemon's help. The commands
// themselves end with the keeper.

// keepSpec is what a keeper is to start. It goes by a pipe: environments are no arguments, for everybody to see.
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
	pipe io.Closer
	to   *gob.Encoder
	back *os.File
	from *gob.Decoder
}

// The keeper's descriptors.
const (
	keeperIn  = 3
	keeperOut = 4
)

func startKeeper() (*keeper, error) {
	in, to, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	defer in.Close()
	back, out, err := os.Pipe()
	if err != nil {
		to.Close()
		return nil, fmt.Errorf("run: %w", err)
	}
	defer out.Close()
	c := exec.Command("/proc/self/exe", keepVerb)
	c.Args[0], c.Stdin, c.Stdout, c.Stderr, c.ExtraFiles = "weft", os.Stdin, os.Stdout, os.Stderr, []*os.File{in, out}
	if err := c.Start(); err != nil {
		to.Close()
		back.Close()
		return nil, fmt.Errorf("run: its keeper cannot be started: %w", err)
	}
	return &keeper{cmd: c, pipe: to, to: gob.NewEncoder(to), back: back, from: gob.NewDecoder(back)}, nil
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

// wait gives the commands' exit code.
func (k *keeper) wait() (code int, err error) {
	if err := k.from.Decode(&code); err != nil {
		return 0, fmt.Errorf("run: its keeper, pid %d, was killed, and the commands with it", k.cmd.Process.Pid)
	}
	return code, nil
}

// end kills what still runs.
func (k *keeper) end() {
	_ = k.pipe.Close()
	_ = k.back.Close()
	_ = k.cmd.Wait()
}
