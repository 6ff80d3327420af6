package engine

import (
	"slices"

	"github.com/weft-hpc/weft/core"
)

// steps are those of a reservation that live and have drawn a VNI, or must share the job's on each of their nodes.
type steps struct {
	live   []Draw             // in the order they began
	over   map[string][]*node // nodes that say that it is over there, by step; each says so until it is over everywhere
	last   core.VNI           // drawn last: the next step draws another, if it can
	warned bool               // this process has warned a user that a step shares
}

// restore takes the durable draws in.
func (r *reservation) restore(live []Draw) {
	r.steps = nil
	if len(live) > 0 {
		r.drawing().live = slices.Clone(live)
	}
}

// drawing is r.steps, made where it is not there.
func (r *reservation) drawing() *steps {
	if r.steps == nil {
		r.steps = &steps{over: map[string][]*node{}}
	}
	return r.steps
}

// transition is where r stands.
func (r *reservation) transition() Transition {
	t := Transition{Serial: r.Serial, State: r.state, Since: r.since, Why: r.why, By: r.by}
	if r.steps != nil {
		t.Steps = slices.Clone(r.steps.live)
	}
	return t
}

// of is the index of a step in live, or -1.
func (s *steps) of(step string) int {
	if s == nil {
		return -1
	}
	return slices.IndexFunc(s.live, func(d Draw) bool { return d.Step == step })
}

// spare is a VNI that no live step of r uses; 0: there is none. It is used again as late as it can be.
func (r *reservation) spare() core.VNI {
	all := r.drawable()
	begin := slices.Index(all, r.steps.last) + 1
	for i := range all {
		v := all[(begin+i)%len(all)]
		if !slices.ContainsFunc(r.steps.live, func(d Draw) bool { return d.VNI == v }) {
			return v
		}
	}
	return 0
}

// grantStep ends a Reserve with g, and with the VNI of the step that asks.
func (m *Machine) grantStep(in Reserve, n *node, r *reservation, g Granted) {
	drawn, err := m.draw(in, n, r)
	if err != nil {
		m.do(Say{Run: r.Job.Run, Node: n.Name, Text: "refused: " + err.What})
		m.do(Refused{in.Call, err})
		return
	}
	g.Grant.Drawn = drawn
	m.do(g)
}

// draw gives a step its VNI, the same on all its nodes. A step that shares the job's on several nodes is remembered
// too: a VNI that becomes free must not part its nodes.
func (m *Machine) draw(in Reserve, n *node, r *reservation) (*core.Drawn, *core.Error) {
	ask := &in.Ask
	switch {
	case ask.Step == "" || len(r.drawable()) == 0:
		return nil, nil
	case ask.StepNodes <= 0:
		return &core.Drawn{Warning: r.shares(ask, "the scheduler's plugin does not say how many nodes the step has")}, nil
	}
	s := r.drawing()
	at := s.of(ask.Step)
	if at < 0 {
		d := Draw{Step: ask.Step, VNI: r.spare(), Nodes: ask.StepNodes, Jobs: []string{ask.Key.Job}}
		d.Refused = d.VNI == 0 && r.Grant.Beyond == BeyondRefuse
		if d.VNI == 0 && d.Nodes == 1 { // no other node asks
			return m.drawn(in, n, r, d)
		}
		if d.VNI != 0 {
			s.last = d.VNI
		}
		s.live = append(s.live, d)
		m.write(r.transition())
		return m.drawn(in, n, r, d)
	}
	d := &s.live[at]
	if k, had := slices.BinarySearch(d.Jobs, ask.Key.Job); !had {
		d.Jobs = slices.Insert(slices.Clone(d.Jobs), k, ask.Key.Job)
		d.Nodes += ask.StepNodes
		m.write(r.transition())
	}
	if !d.Refused && slices.Contains(s.over[d.Step], n) {
		return nil, core.Errorf(core.JobEnded, "job %s: node %s: step %s of it is over there", ask.Key, n.Name, d.Step)
	}
	return m.drawn(in, n, r, *d)
}

// drawn is the answer to n, whose step is d.
func (m *Machine) drawn(in Reserve, n *node, r *reservation, d Draw) (*core.Drawn, *core.Error) {
	switch {
	case d.VNI != 0:
		return &core.Drawn{VNI: d.VNI}, nil
	case d.Refused:
		err := core.Errorf(core.PolicyDenied, "job %s: step %s: other steps use all %d VNIs that steps of the job have, and "+
			"the site's policy lets none share the job's", in.Ask.Key, d.Step, len(r.drawable()))
		return nil, err.WithRemedy("wait for another step of the job to end")
	}
	return &core.Drawn{Warning: r.shares(&in.Ask, "other steps use all VNIs that steps of the job have")}, nil
}

// shares is the warning that a step shares the job's VNI: one a job, to the node whose step shows it to its user.
func (r *reservation) shares(ask *core.Intent, why string) string {
	if !ask.Speaks || r.steps != nil && r.steps.warned {
		return ""
	}
	r.drawing().warned = true
	return "step " + ask.Step + " shares the job's VNI: " + why +
		"; further steps of the job may share it without a warning"
}

// stepOver takes n's word that a step is over there, and reports whether it is over on all its nodes. Its VNI is then
// the job's again: the next step that draws it is of the same owner, so it does not rest.
func (m *Machine) stepOver(n *node, r *reservation, id core.StepID) bool {
	s := r.steps
	at := s.of(id.Step)
	switch {
	case at < 0:
		return true
	case r.joins.of(n) == nil:
		return false
	case !slices.Contains(s.over[id.Step], n):
		s.over[id.Step] = append(s.over[id.Step], n)
	}
	if len(s.over[id.Step]) < s.live[at].Nodes {
		return false
	}
	for _, o := range s.over[id.Step] {
		if o != n && o.attached {
			m.do(Order{o.Name, o.session, core.Orders{Over: []core.StepID{id}}})
		}
	}
	s.live = slices.Delete(s.live, at, at+1)
	delete(s.over, id.Step)
	m.write(r.transition())
	return true
}

// stepsOf takes what n says of steps. It gives those that are over on all their nodes.
func (m *Machine) stepsOf(n *node, said []core.StepHeld) (over []core.StepID) {
	if n.paired() {
		return nil
	}
	for _, h := range said {
		r := m.run(h.Run)
		switch {
		case h.Over && (r == nil || m.stepOver(n, r, h.StepID)):
			over = append(over, h.StepID)
		case h.Over:
		case r != nil && r.joins.of(n) != nil:
			m.stepLives(n, r, h)
		}
	}
	return over
}

// stepLives takes over a draw that the store does not know: it was lost, or rolled back.
func (m *Machine) stepLives(n *node, r *reservation, h core.StepHeld) {
	at := r.steps.of(h.Step)
	if at >= 0 && r.steps.live[at].VNI == h.VNI || h.VNI == 0 && (h.Nodes <= 1 || at >= 0) {
		return
	}
	other := ""
	if r.steps != nil {
		for _, d := range r.steps.live {
			if d.VNI == h.VNI && h.VNI != 0 {
				other = d.Step
			}
		}
	}
	switch {
	case at >= 0:
		other = h.Step + " as the store has it"
	case other == "" && h.VNI != 0 && !slices.Contains(r.drawable(), h.VNI):
		other = "the job itself"
	}
	if other != "" {
		text := "step " + h.Step + " uses a VNI of " + other
		m.do(Say{Level: Alarm, Run: r.Job.Run, Node: n.Name, VNIs: []core.VNI{h.VNI}, Text: text})
		return
	}
	r.drawing().live = append(r.drawing().live, Draw{Step: h.Step, VNI: h.VNI, Nodes: h.Nodes, Jobs: []string{r.Job.Job}})
	m.write(r.transition())
}

// works reports whether the job of in has its services on the asking node already. Then a failure of its step must not
// put the job back into its queue.
func (m *Machine) works(in Reserve) bool {
	n := m.nodes[in.Node]
	for r := m.jobs[in.Ask.Key.JobID]; r != nil && n != nil && in.Ask.Tells; r = r.next {
		if j := r.joins.of(n); j != nil && !j.clean && j.boot == n.Boot && r.state == Active {
			return true
		}
	}
	return false
}
