package history

import (
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// teller is the session of the node where the scheduler plugin runs; nil: it runs in the server. It also reports
// whether the plugin has a way to the server.
func (w *world) teller() (*session, bool) {
	if w.half == "" {
		return nil, true
	}
	for _, l := range w.srv.sessions {
		if l.b.name == w.half && l.agentUp && l.serverUp && !l.b.deaf {
			return l, true
		}
	}
	return nil, false
}

// truthful reports whether the true scheduler has a way to the server.
func (w *world) truthful() bool {
	l, ok := w.teller()
	return ok && (l == nil || l.b.of == nil)
}

// alien gives the jobs of the scheduler on a copied host: others under the same ids, or none. It goes on from the
// copied state.
func (w *world) alien(jobs []core.JobStatus) core.Jobs {
	if w.odds(500) {
		return core.Jobs{Complete: true}
	}
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].Submitted++
	}
	return core.Jobs{Complete: true, Jobs: jobs}
}

// doubtful reports whether no word of the scheduler plugin counts.
func (w *world) doubtful() bool { return w.half != "" && w.knows(w.half) }

// tell notes whether only a plugin on a node says that a reservation's job is gone.
func (l *law) tell(in engine.Input, rec engine.Transition) {
	if rec.State == engine.Active {
		delete(l.hearsay, rec.Serial)
		return
	}
	switch in := in.(type) {
	case engine.Answer:
		l.hearsay[rec.Serial] = in.From != ""
	case engine.Reserve:
		l.hearsay[rec.Serial] = l.w.half != ""
	}
}

// untold judges that all is taken back that only the half on a node of two hosts said.
func (l *law) untold(n engine.Node) {
	if n.Name != l.w.half || n.Twin.Since.IsZero() {
		return
	}
	for _, serial := range slices.Sorted(maps.Keys(l.live)) {
		r := l.live[serial]
		if l.hearsay[serial] && r.state != engine.Active && len(r.holding) > 0 {
			l.w.fail("R8: %v stays over, and only %s said so, whose certificate two hosts have", r.run, n.Name)
		}
	}
}

// revive forgets what was known against a run whose end was taken back.
func (l *law) revive(r *live) {
	r.prepared, r.lacks, r.alarmed, r.hooked = l.w.srv.moment().Uptime, 0, 0, false
}
