package engine

import (
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// answer takes what a scheduler's Watch told. A job is gone when an answer that was asked for after its newest prepare says so, or when two such complete
// answers lack it. Silence and errors free nothing.
func (m *Machine) answer(in Answer) {
	if !slices.Contains(m.cfg.Schedulers, in.Scheduler) {
		return
	}
	w := m.watch(in.Scheduler)
	if n := m.twins[in.From]; n != nil {
		if in.Node != "" { // one host's list of its own jobs lacks the other's
			return
		}
		in.Jobs = core.Jobs{Blind: n.tells(in.Scheduler) + "; " + core.TwinRemedy}
	}
	switch {
	case in.Jobs.Asking:
	case in.Jobs.Blind != "":
		m.blinded(w, in)
	case in.Jobs.Complete:
		m.complete(w, in)
	default:
		m.change(w, in)
	}
}

// blinded takes that the asker may not see every job. Earlier answers may have lacked what it may not see, so they count
// no longer.
func (m *Machine) blinded(w *watch, in Answer) {
	if w.blind != in.Jobs.Blind {
		w.blind = in.Jobs.Blind
		m.do(Say{Level: Alarm, Text: "nothing of a scheduler is freed: " + w.blind})
	}
	for _, r := range w.active {
		r.missing, r.vanished = 0, 0
	}
}

// change takes single changes. Only a final one counts: what else they say may be older than the newest prepare, but a run that is over stays over.
func (m *Machine) change(w *watch, in Answer) {
	for _, s := range in.Jobs.Jobs {
		if r := m.run(s.Run); r != nil && s.State == core.JobFinal && w.active[r.Serial] == r && (in.Node == "" || in.Node == r.First.Node) {
			m.drain(r, "the scheduler says that it ended", in.From)
		}
	}
}

func (m *Machine) complete(w *watch, in Answer) {
	m.answers++
	if w.blind != "" {
		w.blind = ""
		m.do(Say{Text: "scheduler " + in.Scheduler + ": Weft sees every job again"})
	}
	for i := range in.Jobs.Jobs {
		s := &in.Jobs.Jobs[i]
		for r := m.jobs[s.JobID]; r != nil; r = r.next {
			r.hear(s, m.answers)
		}
	}
	var over, lacking, lost []*reservation
	total := 0
	for _, r := range w.active {
		if in.Node != "" && in.Node != r.First.Node {
			continue
		}
		total++
		if r.answer != m.answers {
			r.verdict = unheard
		}
		switch {
		case r.verdict == there:
			if !r.known || in.Began > r.shown {
				r.known, r.shown = true, in.Began
			}
			r.missing, r.vanished, r.kept = 0, 0, false
		case in.Began <= r.prepared:
		case r.verdict >= requeued:
			over = append(over, r)
		case r.verdict == unheard && in.Began > r.missed:
			r.missed, r.missing = in.Began, min(r.missing+1, 2)
			lacking = append(lacking, r)
			if r.missing == 2 {
				lost = append(lost, r)
			}
		}
	}
	slices.SortFunc(over, bySerial)
	for _, r := range over {
		m.drain(r, verdicts[r.verdict], in.From)
	}
	slices.SortFunc(lost, bySerial)
	m.vanish(in, lost, total)
	m.question(lacking)
}

// verdict is what an answer says of a run.
type verdict uint8

const (
	unheard verdict = iota // its id is not in the answer
	unclear                // the answer shows an earlier generation of it, and says neither
	there
	requeued
	ended
	foreign
	overtaken
)

var verdicts = [...]string{
	requeued: "the scheduler has it back in the queue", ended: "the scheduler says that it ended",
	foreign: "the scheduler has its id for another job", overtaken: "the scheduler has a later run of it",
}

// hear takes what an answer, numbered in this process, says of r's id. That r is there outweighs all else that the same answer has of the id.
func (r *reservation) hear(s *core.JobStatus, answer uint32) {
	v := unclear
	switch run := r.Job.Run; {
	case s.Run == run && s.State == core.JobRunning:
		v = there
	case s.Run == run && s.State == core.JobQueued:
		v = requeued
	case s.Run == run && s.State == core.JobFinal:
		v = ended
	case s.Fingerprint != run.Fingerprint:
		v = foreign
	case s.Generation > run.Generation:
		v = overtaken
	}
	if r.answer != answer || v == there || r.verdict != there && v > r.verdict {
		r.answer, r.verdict = answer, v
	}
}

// left is why a run that its scheduler does not list is believed to be over: a node saw its end, or no node holds anything of it any more. The latter is
// durable, and all that a server knows of runs which ended just before it was started anew.
func (r *reservation) left() string {
	switch {
	case r.hooked:
		return "its nodes saw its end"
	case len(r.joins.list) > 0 && r.unclean == 0:
		return "no node holds anything of it"
	}
	return ""
}

// vanish frees what two answers lacked, unless a node vouches for it, or so much of it vanished at once that it is rather the scheduler's state that was lost.
func (m *Machine) vanish(in Answer, lost []*reservation, total int) {
	silent := 0
	for _, r := range lost {
		if r.left() == "" {
			silent++
		}
	}
	mass := silent > m.rules.VanishCount && silent*m.rules.VanishShare > total
	alarm := false
	for _, r := range lost {
		left := r.left()
		vouched, open := m.living(r)
		switch {
		case left != "":
			m.drain(r, "the scheduler no longer knows it, and "+left, in.From)
		case vouched:
			m.vouch(r)
		case r.vanished > 0 && in.Began-r.vanished < m.rules.VanishWait, r.vanished == 0 && mass:
			if r.vanished == 0 {
				r.vanished, alarm = max(m.now.Uptime, 1), true
			}
		case !open:
			m.drain(r, "the scheduler no longer knows it", in.From)
		}
	}
	if alarm {
		m.do(Say{Level: Alarm, Text: fmt.Sprintf("%d of %d jobs vanished at once from the scheduler's answers; nothing of them is freed for %s unless `weft forget --vanished` says so",
			silent, total, m.rules.VanishWait)})
	}
}
