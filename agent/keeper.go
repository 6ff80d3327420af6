package agent

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/poll"
)

// Process is a living process of the node.
type Process struct {
	node.Keeper
	Parent int32
	Root   bool // its real user is root
}

// maxProc bounds, in bytes, what is read of a file in /proc.
const maxProc = 1 << 20

// readProcess reads /proc/PID/stat and status, see proc_pid_stat(5). The second field of stat is the command's name in
// parentheses, which may have blanks and parentheses itself. A zombie is dead.
func readProcess(pid int32) (Process, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	text, err := file.Read(dir+"stat", maxProc)
	if err != nil {
		return Process{}, err
	}
	status, err := file.Read(dir+"status", maxProc)
	if err != nil {
		return Process{}, err
	}
	const state, parent, start = 0, 1, 19 // fields 3, 4 and 22
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= start || bytes.Contains([]byte("ZX"), fields[state]) {
		return Process{}, fmt.Errorf("process %d: it has ended", pid)
	}
	p := Process{Keeper: node.Keeper{PID: pid}}
	p.Root = bytes.Contains(status, []byte("\nUid:\t0\t"))
	ppid, err := strconv.ParseInt(string(fields[parent]), 10, 32)
	if err == nil {
		p.Parent = int32(ppid)
		p.Start, err = strconv.ParseUint(string(fields[start]), 10, 64)
	}
	return p, err
}

// keeper is the process that lives as long as the step of a call: root's that calls, or that started weft-hook. The
// zero value: there is none, or it has ended.
func (a *Agent) keeper(call core.HookCall, ask core.Intent) node.Keeper {
	if ask.Step == "" || ask.Action != core.Prepare && ask.Action != core.StepEnd || !call.Peer.Root() {
		return node.Keeper{}
	}
	p, err := a.needs.Process(call.Peer.PID)
	if err == nil && call.Parent {
		p, err = a.needs.Process(p.Parent)
	}
	if err != nil || !p.Root {
		return node.Keeper{}
	}
	return p.Keeper
}

// works reports whether a prepare failed of a job that has its services here: its step fails, and nothing comes of it
// for the job.
func (a *Agent) works(ctx context.Context, ask core.Intent, err *core.Error) (works bool) {
	if err == nil || !ask.Tells {
		return false
	}
	_ = a.Look(ctx, func(m *node.Machine) {
		works = slices.ContainsFunc(m.Entries(), func(e node.Entry) bool {
			return e.Key.JobID == ask.Key.JobID && e.State == node.Ready
		})
	})
	return works
}

// keep has the keepers of steps looked after, where there are any. It runs in the writer's turn.
func (a *Agent) keep() {
	if !a.watching && a.machine != nil && len(a.machine.Keepers()) > 0 {
		a.watching = true
		a.beside.Go(a.watchKeepers)
	}
}

// watchKeepers tells the machine which keepers have ended, until there are none: a plugin that is killed tells nothing.
func (a *Agent) watchKeepers() {
	for poll.Pause(a.ctx, time.Second) {
		var keepers []node.Keeper
		err := a.Look(a.ctx, func(m *node.Machine) {
			keepers = m.Keepers()
			a.watching = len(keepers) > 0
		})
		if err == nil && len(keepers) == 0 {
			return
		}
		for _, k := range keepers {
			if p, err := a.needs.Process(k.PID); err == nil && p.Keeper == k {
				a.hold(k) // since a start of the agent nothing has
				continue
			}
			if a.insist(a.ctx, work{in: node.KeeperGone{Keeper: k}}) != nil {
				return
			}
		}
	}
}
