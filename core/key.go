package core

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of names that come from outside, in bytes.
const (
	MaxJobID     = 256
	MaxScheduler = 64
	MaxNodeName  = 255 // DNS
)

// NoUID is (uid_t)-1: nobody. Only a Peer may be nobody. No Run, Job or Grant has it as uid or gid, and the wire refuses
// it there: an adapter that cannot know a job's user answers an error, or a deny by group would miss the job. The kernel
// refuses it as a member (EBADR from SHS 13).
const NoUID uint32 = 4294967295

// JobID names a job for as long as its scheduler knows it: the scheduler's instance (its label in config.hcl) and the id in the scheduler's own spelling.
type JobID struct {
	Scheduler string
	Job       string
}

func (j JobID) String() string { return j.Scheduler + "/" + j.Job }

// Key is a job in one of its runs. Generation is Slurm's restart count or PBS's run_count as the prepare saw it; 0 for Flux and local.
type Key struct {
	JobID
	Generation uint32
}

func (k Key) String() string {
	if k.Generation == 0 {
		return k.JobID.String()
	}
	return fmt.Sprintf("%s#%d", k.JobID, k.Generation)
}

// Fingerprint tells apart two jobs with one Key: ids recur when a cluster is rebuilt. Submitted is in Unix seconds as the scheduler gives it.
type Fingerprint struct {
	UID       uint32
	Submitted int64
}

// Run is one generation of one job, beyond doubt: what a reservation is for.
type Run struct {
	Key
	Fingerprint
}

// CheckJobID refuses ids that no scheduler gives: empty, longer than MaxJobID, not UTF-8, with a slash, white space or anything that does not print, "."
// and "..", or with a leading "-": an id becomes part of a path, of a line of a log and of a scheduler's command. Flux's ids begin with "ƒ".
func CheckJobID(id string) error {
	switch {
	case id == "":
		return Errorf(BadCall, "job id: it is empty").WithRemedy("give the job's id as its scheduler spells it")
	case len(id) > MaxJobID:
		return Errorf(BadCall, "job id %q: it is longer than %d bytes", Clip(id), MaxJobID)
	case id == "." || id == ".." || id[0] == '-':
		return Errorf(BadCall, "job id %q: it is no job's id", id)
	}
	for _, r := range id {
		if r == ' ' || r == '/' || r == '\\' || r == utf8.RuneError || !unicode.IsPrint(r) {
			return Errorf(BadCall, "job id %q: the character %q cannot be in a job's id", Clip(id), r)
		}
	}
	return nil
}

// CheckName refuses names of nodes and schedulers that could not stand in a path or a log line: letters, digits, '.', '_' and '-', at most limit bytes,
// beginning with a letter or a digit.
func CheckName(what, name string, limit int) error {
	if name == "" || len(name) > limit {
		return Errorf(BadCall, "%s %q: it must have 1 to %d characters", what, Clip(name), limit)
	}
	for i, r := range name {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("._-", r)) {
			return Errorf(BadCall, "%s %q: the character %q cannot stand there", what, Clip(name), r)
		}
	}
	return nil
}

// Clip shortens outside text for a message, so that no caller can fill a log line.
func Clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
