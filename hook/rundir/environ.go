package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/core"
)

// Environ is what the file of a job's environment holds. Only the job's owner can read it: it may carry a session token.
type Environ struct {
	Generation uint32              `json:"generation"`
	UID        uint32              `json:"uid"`
	Submitted  int64               `json:"submitted"`
	Variables  []core.Variable     `json:"variables"`
	Signs      []core.Sign         `json:"signs,omitempty"`   // of the NICs
	Replies    map[string]Rendered `json:"replies,omitempty"` // by phase
	First      map[string]Rendered `json:"first,omitempty"`   // by phase: to the job's first task, where there are warnings
}

// Warned is a variable of the job's first task once its owner has been told of warnings: the job's id. What the task
// starts inherits it.
const Warned = "WEFT_WARNED"

// Told is what is said to a task in a phase; first says whether it is the job's first.
func (e Environ) Told(phase string, first bool) (Rendered, bool) {
	if r, ok := e.First[phase]; ok && first {
		return r, true
	}
	r, ok := e.Replies[phase]
	return r, ok
}

// Rendered is what the adapter says to a task of the job: Reply, or for a task of a step the Step's pieces of standard output with the step's id between
// each two of them, where that makes a difference.
type Rendered struct {
	Reply
	Step [][]byte `json:"step,omitempty"`
}

// MaxEnviron bounds the file, in bytes.
const MaxEnviron = 1 << 20

// For is the reply to a task of step, which may be empty; false where only the agent can tell, since a step of that name might be quoted.
func (r Rendered) For(step string) (core.HookReply, bool) {
	reply := core.HookReply(r.Reply)
	if step == "" || len(r.Step) == 0 {
		return reply, true
	}
	if strings.ContainsFunc(step, func(c rune) bool {
		return c != '.' && c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	}) || len(step) > core.MaxJobID {
		return core.HookReply{}, false
	}
	reply.Stdout = bytes.Join(r.Step, []byte(step))
	return reply, true
}

// Is reports whether the environment is that of run.
func (e Environ) Is(run core.Run) bool {
	return e.Generation == run.Generation && e.UID == run.UID && e.Submitted == run.Submitted
}

// EnvironPath is where the environment of a job lies below folder, which is a Dir's Environs.
func EnvironPath(folder string, job core.JobID) string {
	return filepath.Join(folder, job.Scheduler, job.Job)
}

// Environ reads the environment of a job for its owner or for root. It is fs.ErrNotExist where there is none. A file of another owner, or one that others
// can read, is refused.
func (d Dir) Environ(job core.JobID) (Environ, error) {
	path, err := d.ofJob(environs, job)
	if err != nil {
		return Environ{}, err
	}
	text, err := d.read(path, MaxEnviron, checkPrivate)
	if err != nil {
		return Environ{}, err
	}
	var e Environ
	if err := json.Unmarshal(text, &e); err != nil {
		return Environ{}, core.Errorf(core.NotAllowed, "%s: it is not the JSON that was expected: %w", path, err)
	}
	for _, replies := range []map[string]Rendered{e.Replies, e.First} {
		for phase, r := range replies {
			if r.Exit < 0 || r.Exit > 255 {
				return Environ{}, core.Errorf(core.NotAllowed, "%s: its reply to %s has exit code %d", path, core.Clip(phase), r.Exit)
			}
		}
	}
	return e, nil
}

// checkPrivate wants a file that is the caller's own and nobody else's to read. Root may read a file of any user.
func checkPrivate(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch uid := os.Geteuid(); {
	case !ok || uid != 0 && int(st.Uid) != uid:
		return distrust(path, fmt.Sprintf("it does not belong to uid %d", uid))
	case info.Mode().Perm()&0o077 != 0:
		return distrust(path, fmt.Sprintf("others than its owner can use it (mode %#o)", info.Mode().Perm()))
	case st.Nlink != 1:
		return distrust(path, "it has another name beside this one")
	}
	return nil
}

// Exposed is an error for each environment that another user than its job's owner could read, and for each folder on the
// way that another user than root and the caller could change.
func (d Dir) Exposed() (found []error) {
	_ = filepath.WalkDir(d.Environs(), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is not there, or not any more
		}
		info, err := e.Info()
		switch {
		case err != nil:
		case e.IsDir():
			err = checkOwner(path, info)
		default:
			err = checkPrivate(path, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			found = append(found, err)
		}
		return nil
	})
	return found
}

// WriteEnviron leaves an environment at path, of which EnvironPath gave it, for its owner alone. An agent that is not root (a demo of one user) keeps it.
func WriteEnviron(path string, e Environ, gid uint32) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(text) > MaxEnviron {
		return core.Errorf(core.NotSupported, "%s: it would have %d bytes and there may be %d", path, len(text), MaxEnviron)
	}
	if err := makeFolders(filepath.Dir(path)); err != nil {
		return err
	}
	return place(path, text, 0o400, e.UID, gid)
}

// ReadEnviron is what the agent left at path, whoever owns it now.
func ReadEnviron(path string) (Environ, error) {
	anyone := func(string, fs.FileInfo) error { return nil }
	d := Dir(filepath.Dir(path))
	text, err := d.read(path, MaxEnviron, anyone)
	if err != nil {
		return Environ{}, err
	}
	var e Environ
	return e, json.Unmarshal(text, &e)
}

// ReadEnvirons reads all environments below folder, which is a Dir's Environs. It leaves out what it cannot read: a job's
// owner may have written that.
func ReadEnvirons(folder string) map[core.JobID]Environ {
	all := map[core.JobID]Environ{}
	paths, _ := filepath.Glob(filepath.Join(folder, "*", "*"))
	for _, path := range paths {
		if e, err := ReadEnviron(path); err == nil {
			all[core.JobID{Scheduler: filepath.Base(filepath.Dir(path)), Job: filepath.Base(path)}] = e
		}
	}
	return all
}

// RemoveEnviron takes the environment of a job away, whichever run's it is. Root's weft-hook does it for a job that it lets go by.
func (d Dir) RemoveEnviron(job core.JobID) error {
	path, err := d.ofJob(environs, job)
	if err != nil {
		return err
	}
	return remove(path)
}

// Split makes a Rendered of a reply and of the standard output that it would have in the step whose id is mark.
func Split(plain core.HookReply, stepped []byte, mark string) Rendered {
	r := Rendered{Reply: Reply(plain)}
	if pieces := bytes.Split(stepped, []byte(mark)); len(pieces) > 1 {
		r.Step = slices.Clip(pieces)
	}
	return r
}
