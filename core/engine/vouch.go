package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// word is a node's answer to whether a run lives there.
type word uint8

const (
	unasked word = iota // the server did not ask, or the node's agent is too old to answer
	asked
	dead
	alive
	askedAgain // its last answer was alive
)

// living weighs the nodes of r, which complete answers lack. A node vouches when its newest answer is that it sees r
// live. One that has not answered yet may still do so for a while; so may one that has just lost its session.
func (m *Machine) living(r *reservation) (vouched, open bool) {
	for _, j := range r.joins.list {
		switch {
		case j.clean:
		case !j.node.attached:
			open = open || m.now.Uptime-j.node.lost < m.rules.Vouch
		case j.word == alive:
			vouched = true
		case j.node.canVouch() && j.word != unasked && j.word != dead:
			open = open || m.now.Uptime-r.asked < m.rules.Vouch
		}
	}
	return vouched, open
}

// vouch keeps r, for which a node vouches against its scheduler's answers.
func (m *Machine) vouch(r *reservation) {
	r.vanished = 0
	if r.kept {
		return
	}
	r.kept = true
	m.do(Say{Level: Alarm, Run: r.Job.Run, VNIs: r.vnis(), Text: "kept: the scheduler's complete answers lack it, " +
		"and a node sees it live; see whether Weft may see every job; `weft forget` ends it"})
}

// question asks the nodes of runs that an answer lacks, and that go on, whether they see them live. Each node gets one
// order.
func (m *Machine) question(lacking []*reservation) {
	slices.SortFunc(lacking, bySerial)
	runs := map[*node][]core.Run{}
	for _, r := range lacking {
		for _, j := range r.joins.list {
			open := j.word == asked || j.word == askedAgain
			if r.state == Active && !open && !j.clean && j.node.attached && m.ask(j) {
				runs[j.node] = append(runs[j.node], r.Job.Run)
			}
		}
	}
	byName := func(a, b *node) int { return cmp.Compare(a.Name, b.Name) }
	for _, n := range slices.SortedFunc(maps.Keys(runs), byName) {
		m.do(Order{n.Name, n.session, core.Orders{Vouch: runs[n]}})
	}
}

// ask notes the question to j's node, if its agent can answer.
func (m *Machine) ask(j *join) bool {
	if !j.node.canVouch() {
		return false
	}
	j.of.asked = m.now.Uptime
	switch j.word {
	case alive, askedAgain:
		j.word = askedAgain
	default:
		j.word = asked
	}
	return true
}

// unanswered are the questions to n, whose session begins. The old session may have lost them.
func (m *Machine) unanswered(n *node) (runs []core.Run) {
	for _, serial := range sortedOpen(n) {
		if j := n.open[serial]; j.of.state == Active && j.of.missing > 0 && m.ask(j) {
			runs = append(runs, j.of.Job.Run)
		}
	}
	return runs
}

// answers takes n's word on r. It counts only where n has joined this very run, of this user, and holds no VNI that the
// run was not given. So a node can keep only the VNIs of jobs that it has.
func (n *node) answers(r *reservation, h core.Held) {
	j := r.joins.of(n)
	if j == nil || j.clean || h.State != core.HeldPreparing && h.State != core.HeldReady {
		return
	}
	given := r.vnis()
	if slices.ContainsFunc(h.VNIs, func(v core.VNI) bool { return !slices.Contains(given, v) }) {
		return
	}
	switch {
	case h.Life == core.LifeSeen:
		j.word = alive
	case !n.paired(): // the other host may see it
		j.word = dead
	}
}

// isKept reports whether r stays by its nodes' word alone.
func (r *reservation) isKept() bool { return r.state == Active && r.kept && r.missing == 2 }

// vouches reports whether j's node keeps its run.
func (j *join) vouches() bool {
	return j.of.isKept() && !j.clean && (j.word == alive || j.word == askedAgain)
}

// canVouch reports whether n's agent answers Orders.Vouch: agents have an id since the same release.
func (n *node) canVouch() bool { return n.agent != "" }
