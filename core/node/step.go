package node

import (
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// MaxSteps bounds the steps of one run that the machine knows at a time.
const MaxSteps = 4096

// step is a Step and the state that need not outlive the process.
type step struct {
	Step
	of       *holding
	waiters  []waiter
	flight   Attempt // of the question to the server
	hook     Hook    // on whose behalf
	link     uint64  // in which session
	warnings []string
}

// stepOf is h where it is the prepare of a step.
func stepOf(h Hook) *Hook {
	if h.Ask.Step == "" {
		return nil
	}
	return &h
}

// loadSteps takes the steps of loaded runs in; those of others are over.
func (m *Machine) loadSteps(steps []Step) {
	for _, s := range steps {
		i, found := slices.BinarySearchFunc(m.runs, s.Entry, func(r *holding, id uint64) int { return int(r.ID) - int(id) })
		if !found || m.runs[i].State != Ready && m.runs[i].State != Making {
			m.write(Delete{s.Name()})
			continue
		}
		m.addStep(m.runs[i], s)
	}
}

func (m *Machine) addStep(r *holding, of Step) *step {
	s := &step{Step: of, of: r}
	if r.steps == nil {
		r.steps = map[string]*step{}
	}
	r.steps[of.ID.Step] = s
	return s
}

// newStep begins to know the step of a prepare.
func (m *Machine) newStep(r *holding, h Hook) *step {
	id := core.StepID{Run: r.Grant.Run, Step: h.Ask.Step}
	return m.addStep(r, Step{Entry: r.ID, ID: id, Nodes: h.Ask.StepNodes})
}

// keep takes the process of h among those of its step. It reports whether the record has changed.
func (s *step) keep(h Hook) bool {
	if h.Keeper == (Keeper{}) || s.Over || slices.Contains(s.Keepers, h.Keeper) {
		return false
	}
	s.Keepers = append(slices.Clip(s.Keepers), h.Keeper)
	return true
}

// learn takes what the server said of the step of h, which asked for the run.
func (m *Machine) learn(r *holding, h Hook, drawn *core.Drawn) {
	if drawn == nil || h.Ask.Step == "" || r.State == Cleaning || r.State == Clean {
		return
	}
	s := r.steps[h.Ask.Step]
	if s == nil {
		s = m.newStep(r, h)
	}
	s.keep(h)
	m.tellStep(s, *drawn)
	m.told(s, nil) // the step needs no answer to its question any more
}

// tellStep gives a step its VNI.
func (m *Machine) tellStep(s *step, drawn core.Drawn) {
	s.Known, s.VNI = true, drawn.VNI
	if drawn.Warning != "" {
		s.warnings = []string{drawn.Warning}
	}
	m.write(s.Step)
}

// prepareStep answers the prepare of a step, whose job's services stand. A step that is new here asks the server.
func (m *Machine) prepareStep(r *holding, h Hook) {
	s := r.steps[h.Ask.Step]
	switch {
	case h.Keeper == (Keeper{}) || s != nil && s.Over:
		m.refuse(h, core.Errorf(core.JobEnded, "prepare of %v: its step %s is over on this node", h.Ask.Key, h.Ask.Step))
		return
	case s != nil && s.Known:
		if s.keep(h) {
			m.write(s.Step)
		}
		m.answerStep(s, h)
		return
	case h.Until <= m.now:
		m.refuse(h, late(h.Ask.Key))
		return
	case s == nil && len(r.steps) >= MaxSteps:
		m.refuse(h, core.Errorf(core.Overloaded, "prepare of %v: this node knows %d steps of it, "+
			"those too of which the server has not confirmed the end", h.Ask.Key, len(r.steps)))
		return
	case s == nil:
		s = m.newStep(r, h)
	}
	if s.keep(h) {
		m.write(s.Step)
	}
	s.waiters = append(s.waiters, waiter{h.Call, h.Ask.Key, h.Until, &h})
	m.due = min(m.due, h.Until)
	if s.flight == 0 {
		m.askStep(s, h)
	}
}

func (m *Machine) askStep(s *step, h Hook) {
	ask := h.Ask
	ask.Boot = m.cfg.Boot
	m.attempt++
	s.flight, s.hook, s.link = m.attempt, h, m.links
	m.asks[s.flight] = s
	m.act(Reserve{Attempt: s.flight, Ask: ask, Peer: h.Peer, Until: h.Until})
}

// reservedStep takes the server's answer to askStep.
func (m *Machine) reservedStep(s *step, in Reserved) {
	delete(m.asks, in.Attempt)
	s.flight = 0
	r, err := s.of, in.Err
	switch {
	case err != nil:
	case s.link < m.fullLink: // as in overlooked
		if s.hook.Until > m.now {
			m.askStep(s, s.hook)
			return
		}
		err = core.Errorf(core.ServerAway, "prepare of %v: the session in which its step was given a VNI has ended", r.Key)
	default:
		err = m.checkStep(r, in.Grant)
	}
	if err == nil {
		m.see(in.Grant.Head)
		m.tellStep(s, *in.Grant.Drawn)
	} else if err.Reason == core.TimedOut || err.Reason == core.ServerAway {
		later := slices.IndexFunc(s.waiters, func(w waiter) bool { return w.until > max(s.hook.Until, m.now) })
		if later >= 0 {
			m.askStep(s, *s.waiters[later].step)
			return
		}
	}
	m.told(s, err)
}

// told ends the question about a step. Its processes may have ended meanwhile.
func (m *Machine) told(s *step, err *core.Error) {
	delete(m.asks, s.flight)
	s.flight = 0
	for _, w := range s.waiters {
		if err != nil {
			m.refuse(*w.step, err)
		} else {
			m.answerStep(s, *w.step)
		}
	}
	s.waiters = nil
	if len(s.Keepers) == 0 && !s.Over {
		m.stepOver(s)
	}
}

// checkStep refuses an answer that no step of r may use.
func (m *Machine) checkStep(r *holding, g core.Grant) *core.Error {
	if err := m.checkGrant(r, g); err != nil {
		return err
	}
	switch {
	case g.Run != r.Grant.Run:
		return ended(r.Grant.Run, "the scheduler has started the job again")
	case g.Drawn == nil:
		return core.Errorf(core.InternalFault, "prepare of %v: the server did not say which VNI the step has", r.Key)
	case g.Drawn.VNI != 0 && !slices.Contains(r.Grant.Drawable(), g.Drawn.VNI):
		return core.Errorf(core.InternalFault,
			"prepare of %v: the server gave its step VNI %d, and the job's services lack it", r.Key, g.Drawn.VNI)
	}
	return nil
}

func (m *Machine) answerStep(s *step, h Hook) {
	r := s.of
	m.reply(h.Call, core.Outcome{
		Action: core.Prepare, Key: r.Key, Environment: r.environment(h.Ask.Step, r.Grant),
		Warnings: r.allWarnings(), StepWarnings: s.warnings,
	})
}

// environment is that of a step's tasks with g of the job's grant: its own VNI first and the job's second.
func (r *holding) environment(id string, g core.Grant) []core.Variable {
	e := r.Entry
	if s := r.steps[id]; s != nil && s.VNI != 0 && len(g.VNIs) > 0 {
		g.Steps, g.VNIs = 0, withStep(g.Own(), s.VNI)
	}
	e.Grant = g
	return StepEnvironment(e, id)
}

// withStep are the VNIs of a step: its own stands for the application's, or before the job's only one.
func withStep(own []core.VNI, v core.VNI) []core.VNI {
	if len(own) > 1 {
		own = own[1:]
	}
	return append([]core.VNI{v}, own...)
}

// shows reports whether a SLINGSHOT_VNIS is the job's or that of one of its steps.
func (r *holding) shows(vnis string) bool {
	own := r.Grant.Own()
	return vnis == core.FormatVNIs(own) || slices.ContainsFunc(r.Grant.Drawable(), func(v core.VNI) bool {
		return vnis == core.FormatVNIs(withStep(own, v))
	})
}

// unplugged says once that steps do not ask for the VNIs that policy has for them.
func (m *Machine) unplugged(r *holding, h Hook) {
	if m.hinted || r.Grant.Steps == 0 || h.Ask.Step == "" || h.Peer.Root() || r.steps[h.Ask.Step] != nil {
		return
	}
	m.hinted = true
	m.say(true, r.Grant.Run, "policy has VNIs for the job's steps, and no plugin of the scheduler asks for them: "+
		"all steps share the job's VNI")
}

// stepEnd is the scheduler's word that a step is over here. Only root's counts.
func (m *Machine) stepEnd(h Hook) {
	if h.Peer.Root() {
		for _, r := range m.jobs[h.Ask.Key.JobID] {
			if s := r.steps[h.Ask.Step]; s != nil {
				m.leave(s, h.Keeper)
			}
		}
	}
	m.reply(h.Call, core.Outcome{Action: h.Ask.Action, Key: h.Ask.Key})
}

func (m *Machine) keeperGone(k Keeper) {
	for _, r := range m.runs {
		for _, id := range slices.Sorted(maps.Keys(r.steps)) {
			m.leave(r.steps[id], k)
		}
	}
}

// leave takes a process from a step. The last one ends it, once the server has answered.
func (m *Machine) leave(s *step, k Keeper) {
	at := slices.Index(s.Keepers, k)
	if at < 0 || s.Over {
		return
	}
	s.Keepers = slices.Delete(slices.Clone(s.Keepers), at, at+1)
	if len(s.Keepers) == 0 && s.flight == 0 {
		m.stepOver(s)
	}
}

func (m *Machine) stepOver(s *step) {
	s.Over = true
	m.write(s.Step)
	if m.session.full {
		m.session.over = append(m.session.over, s.held())
	}
}

func (s *step) held() core.StepHeld {
	return core.StepHeld{StepID: s.ID, VNI: s.VNI, Nodes: s.Nodes, Over: s.Over}
}

// heldSteps are those that a full report has. The server knows nothing yet of one that still asks.
func (m *Machine) heldSteps() (out []core.StepHeld) {
	for _, r := range m.runs {
		for _, id := range slices.Sorted(maps.Keys(r.steps)) {
			if s := r.steps[id]; s.Known || s.Over {
				out = append(out, s.held())
			}
		}
	}
	return out
}

// forgetStep drops a step that is over on all its nodes.
func (m *Machine) forgetStep(id core.StepID) {
	if r := m.find(id.Run); r != nil && r.steps[id.Step] != nil && r.steps[id.Step].Over {
		m.write(Delete{r.steps[id.Step].Name()})
		delete(r.steps, id.Step)
	}
}

// dropSteps ends the steps of a run that is over here.
func (m *Machine) dropSteps(r *holding, why string) {
	for _, id := range slices.Sorted(maps.Keys(r.steps)) {
		s := r.steps[id]
		delete(m.asks, s.flight)
		for _, w := range s.waiters {
			m.refuse(*w.step, core.Errorf(core.Cancelled, "prepare of %v: %s", r.Key, why))
		}
		m.write(Delete{s.Name()})
	}
	r.steps = nil
}

// expireSteps answers the prepares of steps whose scheduler waits no longer.
func (m *Machine) expireSteps() {
	for _, attempt := range slices.Sorted(maps.Keys(m.asks)) {
		s := m.asks[attempt]
		s.waiters = slices.DeleteFunc(s.waiters, func(w waiter) bool {
			if w.until > m.now {
				return false
			}
			m.reply(w.call, core.Outcome{Action: core.Prepare, Key: w.key, Err: late(w.key)})
			return true
		})
		if len(s.waiters) > 0 {
			continue
		}
		m.told(s, nil) // a later answer finds no caller; the server learns of the step's end
	}
}

// Keepers are the processes by whose end the machine knows that a step is over.
func (m *Machine) Keepers() (out []Keeper) {
	for _, r := range m.runs {
		for _, id := range slices.Sorted(maps.Keys(r.steps)) {
			out = append(out, r.steps[id].Keepers...)
		}
	}
	return out
}
