package core

import (
	"fmt"
	"math"
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

// NoUID is (uid_t)-1, the id of no user. Only a Peer may have it. No Run, Job or Grant has it as uid or gid, and the
// wire refuses it there. An adapter that cannot know a job's user returns an error, since a deny by group could miss
// the job. The kernel refuses NoUID as a member (EBADR from SHS 13).
const NoUID uint32 = 4294967295

// JobID names a job for as long as its scheduler knows the job. Scheduler is the label of the instance in config.hcl.
// Job is the id as the scheduler spells it.
type JobID struct {
	Scheduler string
	Job       string
}

func (j JobID) String() string { return j.Scheduler + "/" + j.Job }

// Key is a job in one of its runs. Generation is Slurm's restart count or PBS's run_count at the prepare; 0 for Flux
// and local.
type Key struct {
	JobID
	Generation uint32
}

// AnyGeneration is the Generation of a prepare whose hook cannot know it. It does not know either whether its job is a
// part of another. The run is whichever the scheduler has under that id. No Run has this Generation.
const AnyGeneration uint32 = math.MaxUint32

// Takes reports whether a prepare of k may get the grant of run. With AnyGeneration that is every run of its scheduler.
func (k Key) Takes(run Key) bool {
	return k == run || k.Generation == AnyGeneration && k.Scheduler == run.Scheduler && run.Generation != AnyGeneration
}

func (k Key) String() string {
	if k.Generation == 0 || k.Generation == AnyGeneration {
		return k.JobID.String()
	}
	return fmt.Sprintf("%s#%d", k.JobID, k.Generation)
}

// Fingerprint tells two jobs with the same Key apart: ids recur after a cluster is rebuilt. Submitted is in Unix
// seconds, from the scheduler.
type Fingerprint struct {
	UID       uint32
	Submitted int64
}

// Run is one generation of one job, without doubt. A reservation belongs to one Run.
type Run struct {
	Key
	Fingerprint
}

// ShortJobID cuts a PBS job's id into the short form, which PBS's commands take too, and the server's name: 1017.pbs1
// into 1017 and pbs1, 43[7].pbs1 into 43[7] and pbs1. The name is empty where id has no such form.
func ShortJobID(id string) (short, server string) {
	short, server, _ = strings.Cut(id, ".")
	number, task, array := strings.Cut(short, "[")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if server == "" || array && !digits(strings.TrimSuffix(task, "]")) || !digits(number) || digits(server[:1]) {
		return id, ""
	}
	return short, server
}

// CheckJobID refuses an id that no scheduler uses: an id becomes part of a path, a log line and a scheduler's command.
// It refuses an empty id, "." and "..", a leading "-", and more than MaxJobID bytes. It also refuses slashes, white
// space, characters that do not print, and text that is not UTF-8. Flux's ids begin with "ƒ". The error is BadCall.
func CheckJobID(id string) error {
	switch {
	case id == "":
		return Errorf(BadCall, "job id: it is empty").WithRemedy("give the job's id as its scheduler spells it")
	case len(id) > MaxJobID:
		return Errorf(BadCall, "job id %q: it is longer than %d bytes", Clip(id), MaxJobID)
	case id == "." || id == ".." || id[0] == '-':
		return Errorf(BadCall, "job id %q: no scheduler uses such an id", id)
	}
	for _, r := range id {
		if r == ' ' || r == '/' || r == '\\' || r == utf8.RuneError || !unicode.IsPrint(r) {
			return Errorf(BadCall, "job id %q: it has the character %q, which no job id can have", Clip(id), r)
		}
	}
	return nil
}

// CheckName refuses a name of a node or scheduler that is not safe in a path or a log line. A name has 1 to limit
// bytes: letters, digits, '.', '_' and '-', the first a letter or a digit. The error is BadCall; the argument what
// says which kind of name it is.
func CheckName(what, name string, limit int) error {
	if name == "" || len(name) > limit {
		return Errorf(BadCall, "%s %q: it must have 1 to %d characters", what, Clip(name), limit)
	}
	for i, r := range name {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("._-", r)) {
			return Errorf(BadCall, "%s %q: it has the character %q, which is not allowed there", what, Clip(name), r)
		}
	}
	return nil
}

// Clip shortens outside text for a message, so a caller cannot fill a log line.
func Clip(s string) string { return Cut(s, 64) }

// Cut shortens a text that is longer than most bytes, and shows that it did.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
