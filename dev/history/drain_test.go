package history

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// question asks the scheduler which nodes it has drained.
type question struct {
	proc  int // of the server
	asked time.Duration
	early map[string]core.Drain // the answer, where it is known already
	away  bool                  // the scheduler does not answer
}

// mirror answers the question that is under way and asks the next.
func (w *world) mirror() {
	if q := w.question; q != nil && w.srv.up && w.srv.proc == q.proc {
		in := engine.Drained{Scheduler: label, Asked: q.asked}
		if !q.away {
			in.Shown = q.early
			if in.Shown == nil {
				in.Shown = maps.Clone(w.shown)
			}
		}
		w.srv.input(in)
	}
	w.question = nil
	if !w.srv.up {
		return
	}
	w.question = &question{proc: w.srv.proc, asked: w.srv.moment().Uptime, away: w.chance(100)}
	if w.odds(500) {
		w.question.early = maps.Clone(w.shown)
	}
}

// told changes the scheduler's own drains as Weft wants it, where the scheduler does not miss the call. A reason of
// another stays, as in every adapter.
func (w *world) told(node, reason string) {
	d, is := w.shown[node]
	switch {
	case w.chance(150):
		w.say("the scheduler misses the drain or resume of %s", node)
	case is && !(core.Drained{Drain: d}).Ours():
	case reason != "":
		w.shown[node] = core.Drain{Reason: core.DrainPrefix + reason}
	default:
		delete(w.shown, node)
	}
}

// inScheduler is a person, or a hook that cannot reach its agent, who changes the scheduler's drain of a node.
func (w *world) inScheduler(node string) {
	switch w.rng.IntN(5) {
	case 0:
		w.shown[node] = core.Drain{Reason: "memory is tested", By: "ann"}
	case 4:
		w.shown[node] = core.Drain{} // by a person who gave no reason
	case 1:
		w.shown[node] = core.Drain{Reason: core.DrainPrefix + "weft-hook did not answer"}
	default:
		delete(w.shown, node)
	}
	w.say("the scheduler's own drain of %s is changed: %v", node, w.shown[node])
}

// agree looks whether Weft, the scheduler and the node itself say the same of each drain.
func (w *world) agree() string {
	for n := range w.srv.m.Nodes("") {
		d, is := w.shown[n.Name]
		ours := (core.Drained{Drain: d}).Ours()
		if n.Drained != "" && !is || n.Drained == "" && ours {
			return n.Name + " is drained in Weft for " + n.Drained + ", and the scheduler shows " + d.Reason
		}
		if strings.HasPrefix(n.Drained, core.StuckPrefix) && n.Jobs == 0 {
			return n.Name + " is drained though no job holds its NICs: " + n.Drained
		}
		b := w.boxes[slices.IndexFunc(w.boxes, func(b *box) bool { return b.name == n.Name })]
		if got := b.agent.m.Drain().Reason; n.Attached && got != n.Drained {
			return n.Name + " says that it is drained for " + got + ", and the server for " + n.Drained
		}
	}
	return ""
}

// resumeOne has a person resume a node in the scheduler, which counts as a resume in Weft.
func (w *world) resumeOne() {
	b := w.boxes[w.rng.IntN(numNodes)]
	w.again()
	was := core.Drained{Drain: w.shown[b.name]}
	if !was.Ours() {
		return
	}
	w.say("a person resumes %s in the scheduler", b.name)
	delete(w.shown, b.name)
	w.again()
	for n := range w.srv.m.Nodes("") {
		if n.Name == b.name && core.DrainPrefix+n.Drained == was.Reason && n.Drained != n.Trouble &&
			!strings.HasPrefix(n.Drained, core.StuckPrefix) { // which lasts
			w.fail("liveness: %s was resumed in the scheduler, and is drained: %q", n.Name, n.Drained)
		}
	}
}

// again lets Weft and the scheduler come to one state.
func (w *world) again() {
	for range 4 {
		w.settle()
		w.pass(5 * time.Second)
	}
	w.settle()
}
