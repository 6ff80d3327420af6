package server

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Refused is why a job got nothing. `weft job` shows it for a day.
type Refused struct {
	core.JobID
	UID  uint32 // by the hook's word
	Node string
	Why  string
	At   time.Time

	run uint32      // Key.Generation
	err *core.Error // nil: of a history
}

// RefusalHistory is a History that keeps refusals, too. Its call returns at once.
type RefusalHistory interface {
	Refused(job core.JobID, uid uint32, node, why string, at time.Time)
}

// Bounds of the refusals that the server knows.
const (
	MaxRefused  = 4096
	KeepRefused = 24 * time.Hour
)

// refusals has the newest refusal of each job. The zero value has none.
type refusals struct {
	mu    sync.Mutex
	of    map[core.JobID]Refused
	order []core.JobID // from the oldest on
}

func (l *refusals) put(r Refused) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[core.JobID]Refused{}
	}
	if _, known := l.of[r.JobID]; !known {
		if len(l.order) == MaxRefused {
			delete(l.of, l.order[0])
			l.order = slices.Delete(l.order, 0, 1)
		}
		l.order = append(l.order, r.JobID)
	}
	l.of[r.JobID] = r
}

// find lists the refusals of a job of any of the schedulers, as the caller may see them, that are younger than a day.
func (l *refusals) find(job string, schedulers []string, may func(uid uint32) bool, now time.Time) (found []Refused) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.order {
		short, _ := core.ShortJobID(id.Job)
		if (id.Job != job && short != job) || !slices.Contains(schedulers, id.Scheduler) {
			continue
		}
		if r := l.of[id]; may(r.UID) && now.Sub(r.At) < KeepRefused {
			found = append(found, r)
		}
	}
	return found
}

// noteRefusal keeps why a job got nothing. A job that is refused on many nodes is one line of the history.
func (s *Server) noteRefusal(in engine.Input, err *core.Error) {
	r, ok := in.(engine.Reserve)
	if !ok || err.Reason == core.Cancelled || err.Reason == core.JobEnded {
		return
	}
	job := r.Ask.Key.JobID
	now := Refused{
		JobID: job, UID: r.Ask.UID, Node: r.Node, Why: core.Cut(err.Line(), maxWhy), At: s.now().Wall,
		run: r.Ask.Key.Generation, err: err,
	}
	s.refusals.mu.Lock()
	before := s.refusals.of[job]
	s.refusals.mu.Unlock()
	s.refusals.put(now)
	if h, ok := s.needs.History.(RefusalHistory); ok && (before.Why != now.Why || now.At.Sub(before.At) > time.Minute) {
		h.Refused(job, now.UID, now.Node, now.Why, now.At)
	}
}

// refusalOf shows the refusal of a job that holds nothing.
func (d *Verbs) refusalOf(args JobArgs, may func(uid uint32) bool) (rows []jobPart) {
	schedulers := slices.Sorted(maps.Keys(d.Server.schedulers))
	job := args.Job
	if scheduler, id, ok := strings.Cut(args.Job, "/"); ok {
		schedulers, job = []string{scheduler}, id
	}
	for _, r := range d.Server.refusals.find(job, schedulers, may, d.Server.now().Wall) {
		row := JobRow{Job: r.Job, Scheduler: r.Scheduler, UID: r.UID, State: "refused", Since: r.At}
		rows = append(rows, parts(JobDetail{JobRow: row, Where: []JobNode{{r.Node, "refused", r.Why}}})...)
	}
	return rows
}
