package local

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
)

// Plugin is the adapter: core.Hooks and core.Scheduler, with the Tables of the nodes that it is on. On an agent that is one; in `weft dev` one a node; a
// server elsewhere has none, and goes by the notes that agents make.
type Plugin struct {
	request.Dialect
	name   string
	tables []*Table
}

var (
	_ core.Hooks         = (*Plugin)(nil)
	_ core.Scheduler     = (*Plugin)(nil)
	_ core.Configurable  = (*Plugin)(nil)
	_ core.RequestParser = (*Plugin)(nil)
)

// New makes the adapter of the scheduler instance name, as config.hcl labels it.
func New(name string, tables ...*Table) *Plugin {
	return &Plugin{Dialect: dialect, name: name, tables: tables}
}

// jobsPerUser is the one field of the adapter's block.
const jobsPerUser = "jobs_per_user"

// Schema of a block `scheduler "local" "NAME"`.
func (p *Plugin) Schema() core.Schema {
	return core.Schema{Fields: []core.Field{{
		Name: jobsPerUser, Kind: core.KindInt, Default: int64(PerUser),
		Doc: "How many jobs one user may have on a node at a time, 1 to 4096; root has no bound.",
	}}}
}

// Configure sets jobs_per_user; jobs that run already stay.
func (p *Plugin) Configure(_ context.Context, values core.Values) error {
	n := int64(PerUser)
	if v, ok := values[jobsPerUser]; ok && v != nil {
		if n, ok = v.(int64); !ok || n < 1 || n > MaxJobs {
			return &core.PathError{Path: []string{jobsPerUser}, Err: core.Errorf(core.BadConfig, "jobs_per_user: %v: it is not a number from 1 to %d", v, MaxJobs)}
		}
	}
	for _, t := range p.tables {
		t.SetPerUser(int(n))
	}
	return nil
}

// Describe tells the facts of a job: by the Tables, where there are any, and whatever its note says; else by its note. Only root and the job's owner may
// ask.
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

// Fail is not supported: `weft run` waits for its answer and shows it to the user itself.
func (p *Plugin) Fail(_ context.Context, key core.Key, _ string) error {
	return core.Errorf(core.NotSupported, "job %s: a local job is told by `weft run` itself that it cannot be", key)
}

// Drain is not supported: there is no scheduler; Weft's own flag keeps jobs off the node.
func (p *Plugin) Drain(_ context.Context, node, _ string) error {
	return core.Errorf(core.NotSupported, "node %s: no scheduler runs local jobs; Weft's own drain keeps them off", core.Clip(node))
}
