package flux

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"strings"
	"syscall"
	"unicode"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// facts are what job-info has of a job, its updates applied.
type facts struct {
	R        resources `json:"R"`
	Jobspec  jobspec   `json:"jobspec"`
	Eventlog string    `json:"eventlog"`
}

// jobspec is what of a job's specification (RFC 14) policy decides on.
type jobspec struct {
	Attributes struct {
		System struct {
			Queue string `json:"queue"`
			Bank  string `json:"bank"` // flux-accounting's
			Job   struct {
				Name string `json:"name"`
			} `json:"job"`
			Constraints json.RawMessage `json:"constraints"` // RFC 31; left out: none
			Shell       struct {
				Options map[string]json.RawMessage `json:"options"`
			} `json:"shell"`
		} `json:"system"`
	} `json:"attributes"`
}

// The flags of job-info.lookup.
const (
	lookupDecode  = 1
	lookupCurrent = 2
)

// Describe tells a job's facts as Flux has them; the hook's claim counts for nothing.
func (p *Plugin) Describe(ctx context.Context, key core.Key, _ []byte, from core.Peer) (core.Job, error) {
	if !from.Root() {
		return core.Job{}, core.Errorf(core.NotAllowed, "job %s: uid %d is not Flux's prolog", key.JobID, from.UID)
	}
	id, err := parseID(key.Job)
	if err != nil {
		return core.Job{}, err
	}
	f, err := p.lookup(ctx, key, id)
	if err != nil {
		return core.Job{}, err
	}
	l, err := readEventlog(f.Eventlog)
	if err != nil {
		return core.Job{}, core.Errorf(core.SchedulerAway, "job %s: %w", key.JobID, err)
	}
	s := f.Jobspec.Attributes.System
	job := core.Job{
		Run: l.run(key.Scheduler, id), Queue: s.Queue, Account: s.Bank, Name: printable(s.Job.Name), Gone: l.doomed,
	}
	if job.Gone {
		return job, nil
	}
	for what, name := range map[string]string{"queue": s.Queue, "bank": s.Bank} {
		if len(name) > maxAttribute || !scheduler.Printable(name) {
			return core.Job{}, core.Errorf(core.BadRequest, "job %s: its %s %q is no name", key.JobID, what, core.Clip(name))
		}
	}
	cores, err := f.R.cores()
	if err != nil {
		return core.Job{}, core.Errorf(core.SchedulerAway, "job %s: %w", key.JobID, err)
	}
	job.Told = core.Told{TimeLimit: f.R.limit(), Constraints: compact(s.Constraints)}
	job.Placements = shares(cores, p.cores.About(ctx, maps.Keys(cores), p.askCores))
	if job.Request, err = ParseOptions(s.Shell.Options); err != nil {
		return core.Job{}, err
	}
	who, err := p.people.UID(ctx, l.uid) // Flux tells nothing else of a job's user
	if err != nil {
		return core.Job{}, err
	}
	job.User, job.GID = who.Name, who.GID
	job.Groups, err = p.people.Groups(ctx, who)
	return job, err
}

// compact is JSON in one line; nil where that cannot be told.
func compact(text json.RawMessage) *string {
	var b bytes.Buffer
	if len(text) > 0 && json.Compact(&b, text) != nil {
		return nil
	}
	return scheduler.Told(b.String())
}

// maxAttribute bounds a queue's and a bank's name, in bytes.
const maxAttribute = 256

// lookup asks for a job. Its owner and the instance's may; what has no resources has not begun.
func (p *Plugin) lookup(ctx context.Context, key core.Key, id uint64) (facts, error) {
	var f facts
	err := p.link.call(ctx, "job-info.lookup", broker.AnyNode, object{
		"id": id, "keys": []string{"R", "jobspec", "eventlog"}, "flags": lookupDecode | lookupCurrent,
	}, &f)
	if isFault(err, syscall.ENOENT) {
		return f, core.Errorf(core.JobUnknown, "job %s: Flux does not know it, or has given it no resources: %w", key.JobID, err)
	}
	return f, p.away("job "+key.JobID.String(), err)
}

// printable is a job's name for people.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s[:min(len(s), maxAttribute)])
}
