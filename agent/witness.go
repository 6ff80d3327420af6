package agent

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/file"
)

// maxEnviron bounds what is read of a process' environment.
const maxEnviron = 4 << 20

// witness reads what shows that jobs live on this node.
func (a *Agent) witness(ctx context.Context, act node.Witness) node.Input {
	ctx, cancel := context.WithTimeout(ctx, a.limits.Driver)
	defer cancel()
	services, err := a.needs.Driver.Services(ctx)
	found, unread := processes("/proc", act.UIDs)
	err = errors.Join(err, unread)
	return node.Witnessed{Attempt: act.Attempt, Processes: found, Services: services, Err: a.driverError(err)}
}

// processes finds the processes of these users that have a job's VNIs in their environment. The kernel says who owns a
// process. The owner chooses the environment, and so can keep its own jobs, and no others.
func processes(proc string, uids []uint32) (found []node.Process, err error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if c := e.Name()[0]; c < '1' || c > '9' {
			continue
		}
		info, err := os.Stat(filepath.Join(proc, e.Name()))
		if err != nil { // it has ended
			continue
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !slices.Contains(uids, stat.Uid) {
			continue
		}
		text, err := file.Read(filepath.Join(proc, e.Name(), "environ"), maxEnviron)
		if err != nil && !gone(err) {
			return found, err
		}
		for _, v := range bytes.Split(text, []byte{0}) {
			if vnis, ok := bytes.CutPrefix(v, []byte(node.EnvVNIs+"=")); ok {
				found = append(found, node.Process{UID: stat.Uid, VNIs: string(vnis)})
			}
		}
	}
	return found, nil
}

// gone reports whether a process has ended meanwhile.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }
