// Package rundir is the agent's run directory as hooks see it: the sockets, what each phase of each scheduler needs, the jobs' environments, and root's
// way around a broken Weft.
//
// The agent writes it, weft-hook reads it, often as the job's user. Nothing in it is believed that somebody else than root or the reader could have put
// there: every folder on the way and every file must belong to one of them, be writable by its owner alone and be no symbolic link.
//
//	hooks.json             how each scheduler's hooks call; for all to read
//	root.sock, users.sock  the agent's two sockets; `weft dev` has one, agent.sock
//	env/SCHEDULER/JOB      a job's environment; only its owner can read it
//	exempt/SCHEDULER/JOB   tasks of the job run without a record: it went by (an empty file), or ran before Weft did (its run)
//	boot                   the boot in which the agent has started, and start.json while schedulers have still to tell what ran then
//	bypass                 until when hooks go by without Weft
//	bypass.log             what went by, and bypass.count: how often
//	unanswered.log         which hooks failed because the agent did not answer
package rundir

import (
	"os"
	"path/filepath"

	"github.com/weft-hpc/weft/core"
)

// Default is the run directory of an agent whose configuration names none.
const Default = "/run/weft/agent"

// Dir is the path of a run directory.
type Dir string

// Names in a run directory.
const (
	hooksName  = "hooks.json"
	bypassName = "bypass"
	logName    = "bypass.log"
	countName  = "bypass.count"
	bootName   = "boot"
	startName  = "start.json"
	environs   = "env"
	exempts    = "exempt"
)

func (d Dir) path(name ...string) string {
	return filepath.Join(append([]string{string(d)}, name...)...)
}

// RootSocket is for hooks that run as root.
func (d Dir) RootSocket() string { return d.path("root.sock") }

// UsersSocket is for everybody.
func (d Dir) UsersSocket() string { return d.path("users.sock") }

// DevSocket is the one socket of a simulated node.
func (d Dir) DevSocket() string { return d.path("agent.sock") }

// Socket is where a hook calls. Where the agent has neither of its two sockets but a simulated node's, it is that.
func (d Dir) Socket(root bool) string {
	want := d.UsersSocket()
	if root {
		want = d.RootSocket()
	}
	if _, err := os.Lstat(want); err != nil {
		if _, err := os.Lstat(d.DevSocket()); err == nil {
			return d.DevSocket()
		}
	}
	return want
}

// Environs is the folder of the jobs' environments.
func (d Dir) Environs() string { return d.path(environs) }

// ofJob is a path of a job under a folder of the run directory. Both names come from outside and must not lead elsewhere.
func (d Dir) ofJob(folder string, job core.JobID) (string, error) {
	if err := core.CheckName("scheduler", job.Scheduler, core.MaxScheduler); err != nil {
		return "", err
	}
	if err := core.CheckJobID(job.Job); err != nil {
		return "", err
	}
	return d.path(folder, job.Scheduler, job.Job), nil
}
