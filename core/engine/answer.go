package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// answer takes what a scheduler's Watch told. A job is gone when an answer that was asked for after its newest prepare says so, or when two such complete
// answers lack it. Silence and errors free nothing.
func (m *Machine) answer(in Answer) {
	if !slices.Contains(m.cfg.Schedulers, in.Scheduler) {
		return
	}
	w := m.watch(in.Scheduler)
	switch {
	case in.Jobs.Asking:
	case in.Jobs.Complete:
		m.complete(w, in)
	default:
		m.change(w, in.Jobs.Jobs)
	}
}

// change takes single changes. Only a final one counts: what else they say may be older than the newest prepare, but a run that is over stays over.
func (m *Machine) change(w *watch, jobs []core.JobStatus) {
	for _, s := range jobs {
		if r := m.runs[s.Run]; r != nil && s.State == core.JobFinal && w.active[r.Serial] == r {
			m.drain(r, "the scheduler says that it ended")
		}
	}
}

func (m *Machine) complete(w *watch, in Answer) {
	byJob := make(map[core.JobID][]core.JobStatus, len(in.Jobs.Jobs))
	for _, s := range in.Jobs.Jobs {
		byJob[s.JobID] = append(byJob[s.JobID], s)
	}
	var lost []*reservation
	total := 0
	for _, serial := range slices.Sorted(maps.Keys(w.active)) {
		r := w.active[serial]
		if in.Node != "" && in.Node != r.First.Node {
			continue
		}
		total++
		if r.prepared >= in.Began && r.prepared > 0 {
			continue
		}
		said := byJob[r.Job.JobID]
		switch gone, there := verdict(r.Job.Run, said); {
		case there:
			r.known, r.shown = true, max(r.shown, in.Began)
			r.missing, r.vanished = 0, 0
		case gone != "":
			m.drain(r, gone)
		case len(said) == 0:
			if r.missing++; r.missing >= 2 {
				lost = append(lost, r)
			}
		}
	}
	m.vanish(in.Began, lost, total)
}

// verdict says why run is gone by what an answer has of its id, or that it is there. An answer that shows an earlier generation says neither.
func verdict(run core.Run, said []core.JobStatus) (gone string, there bool) {
	for _, s := range said {
		switch {
		case s.Run == run && s.State == core.JobRunning:
			return "", true
		case s.Run == run && s.State == core.JobQueued:
			gone = "the scheduler has it back in the queue"
		case s.Run == run && s.State == core.JobFinal:
			gone = "the scheduler says that it ended"
		case s.Fingerprint != run.Fingerprint:
			gone = "the scheduler has its id for another job"
		case s.Generation > run.Generation:
			gone = "the scheduler has a later run of it"
		}
	}
	return gone, false
}

// vanish frees what two answers lacked, unless so much of it vanished at once that it is rather the scheduler's state that was lost.
func (m *Machine) vanish(began time.Duration, lost []*reservation, total int) {
	silent := 0
	for _, r := range lost {
		if !r.hooked {
			silent++
		}
	}
	mass := silent > m.rules.VanishCount && silent*m.rules.VanishShare > total
	alarm := false
	for _, r := range lost {
		switch {
		case r.hooked:
			m.drain(r, "the scheduler no longer knows it, and its nodes saw its end")
		case r.vanished > 0 && began-r.vanished < m.rules.VanishWait, r.vanished == 0 && mass:
			if r.vanished == 0 {
				r.vanished, alarm = max(m.now.Run, 1), true
			}
		default:
			m.drain(r, "the scheduler no longer knows it")
		}
	}
	if alarm {
		m.do(Say{Level: Alarm, Text: fmt.Sprintf("%d of %d jobs vanished at once from the scheduler's answers; nothing of them is freed for %s unless `weft forget --vanished` says so",
			silent, total, m.rules.VanishWait)})
	}
}
