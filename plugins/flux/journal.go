package flux

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
)

const topicJournal = "job-manager.events-journal"

// entry is one answer of the journal: a job of the backlog with all its events, the backlog's end, or one event. Jobspec and R come with `submit` and `alloc`.
type entry struct {
	ID     int64      `json:"id"`
	Events []event    `json:"events"`
	R      *resources `json:"R"`
}

// endOfBacklog is the id of the answer that stands between backlog and what happens.
const endOfBacklog = -1

// journal is what the answers since the backlog's beginning say.
type journal struct {
	name     string // of the scheduler's instance
	jobs     map[uint64]*followed
	news     map[uint64]bool // changed since they were told
	caughtUp bool
}

// followed is one job.
type followed struct {
	life
	hosts string
}

func newJournal(name string) *journal {
	return &journal{name: name, jobs: map[uint64]*followed{}, news: map[uint64]bool{}}
}

// apply takes the next answer.
func (j *journal) apply(e entry) error {
	if e.ID == endOfBacklog {
		j.caughtUp = true
		return nil
	}
	if e.ID < 0 {
		return fmt.Errorf("journal: id %d is no job's", e.ID)
	}
	id := uint64(e.ID)
	f := j.jobs[id]
	if f == nil {
		f = &followed{}
	}
	before := f.state
	for _, v := range e.Events {
		if err := f.apply(v); err != nil {
			return fmt.Errorf("journal: job %s: %w", formatID(id), err)
		}
	}
	if f.state == 0 {
		return fmt.Errorf("journal: job %s: something happens to it before it was submitted", formatID(id))
	}
	if e.R != nil {
		f.hosts = e.R.hosts()
	}
	j.jobs[id] = f
	if f.state != before {
		j.news[id] = true
	}
	return nil
}

func (j *journal) status(id uint64) core.JobStatus {
	f := j.jobs[id]
	s := core.JobStatus{Run: f.run(j.name, id), State: f.state}
	if f.state == core.JobRunning {
		s.Hosts, s.Started = f.hosts, f.started
	}
	return s
}

// complete is every job, those among them that ended since the last answer.
func (j *journal) complete() core.Jobs {
	return core.Jobs{Complete: true, Jobs: j.tell(maps.Keys(j.jobs))}
}

// changed is what has changed since the last answer.
func (j *journal) changed() core.Jobs { return core.Jobs{Jobs: j.tell(maps.Keys(j.news))} }

// tell makes statuses; of those that ended nothing is kept.
func (j *journal) tell(ids func(func(uint64) bool)) []core.JobStatus {
	out := []core.JobStatus{}
	for _, id := range slices.Sorted(ids) {
		out = append(out, j.status(id))
		if j.jobs[id].state == core.JobFinal {
			delete(j.jobs, id)
		}
	}
	clear(j.news)
	return out
}
