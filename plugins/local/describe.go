package local

import (
	"context"

	"github.com/weft-hpc/weft/core"
)

// Describe returns the facts of a job that its Table has. A server without Tables reads the job's note instead.
// Only root and the job's owner may ask.
func (p *Plugin) Describe(_ context.Context, key core.Key, note []byte, from core.Peer) (core.Job, error) {
	n, err := p.note(key, note, from)
	if err != nil {
		return core.Job{}, err
	}
	if !from.Root() && from.UID != n.UID {
		return core.Job{}, core.Errorf(core.NotAllowed, "job %s: it is not uid %d's", key.JobID, from.UID)
	}
	key.Generation = 0
	return n.job(key)
}

func (p *Plugin) note(key core.Key, note []byte, from core.Peer) (Note, error) {
	if len(p.tables) == 0 {
		return readNote(key, note, from)
	}
	e, ok := p.find(key.Job)
	if !ok {
		return Note{}, unknown(key.Job)
	}
	return e.Note, nil
}

func unknown(job string) error {
	return core.Errorf(core.JobUnknown, "job %s: no process of it lives", core.Clip(job))
}

// find is a job by any of its nodes.
func (p *Plugin) find(id string) (Entry, bool) {
	for _, t := range p.tables {
		if e, ok := t.Get(id); ok {
			return e, true
		}
	}
	return Entry{}, false
}

func (p *Plugin) run(e Entry) core.Run {
	return core.Run{
		Key:         core.Key{JobID: core.JobID{Scheduler: p.name, Job: e.Job}},
		Fingerprint: core.Fingerprint{UID: e.UID, Submitted: e.Submitted},
	}
}
