package engine

import (
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// steps are those of a reservation that live and have drawn a VNI, or must share the job's on each of their nodes.
type steps struct {
	live   []Draw            // in the order they began
	parts  map[string][]part // by step, as far as this process knows them
	last   core.VNI          // drawn last: the next step draws another, if it can
	warned bool              // this process has warned a user that a step shares
}

// part is one node of a step. Over: the node says so, and goes on until the step is over everywhere. It is also
// over on a node that has rebooted, or holds nothing of the job for another reason.
type part struct {
	node *node
	over bool
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
		r.steps = &steps{parts: map[string][]part{}}
	}
	return r.steps
}

// transition is where r stands.
func (r *reservation) transition() Transition {
	t := Transition{Serial: r.Serial, State: r.state, Since: time.Unix(0, r.since).UTC(), Why: r.why, By: r.by}
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

// part is that of n in a step, made where it is not there.
func (s *steps) part(step string, n *node) *part {
	at := slices.IndexFunc(s.parts[step], func(p part) bool { return p.node == n })
	if at < 0 {
		at = len(s.parts[step])
		s.parts[step] = append(s.parts[step], part{node: n})
	}
	return &s.parts[step][at]
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
		m.begin(n, r, d)
		m.unbegun(n, r, d)
		return m.drawn(in, n, r, d)
	}
	d := &s.live[at]
	if over := s.part(d.Step, n).over; over && !d.Refused {
		return nil, core.Errorf(core.JobEnded, "job %s: node %s: step %s of it is over there", ask.Key, n.Name, d.Step)
	}
	if k, had := slices.BinarySearch(d.Jobs, ask.Key.Job); !had {
		d.Jobs = slices.Insert(slices.Clone(d.Jobs), k, ask.Key.Job)
		d.Nodes += ask.StepNodes
		m.write(r.transition())
	}
	said := *d
	m.unbegun(n, r, said)
	return m.drawn(in, n, r, said)
}

// unbegun ends the part of a refused step on n, which need not say so: it may hold nothing of the job.
func (m *Machine) unbegun(n *node, r *reservation, d Draw) {
	if d.Refused {
		r.steps.part(d.Step, n).over = true
		m.endStep(n, r, d.Step)
	}
}

// drawn is the answer to n, whose step is d.
func (m *Machine) drawn(in Reserve, n *node, r *reservation, d Draw) (*core.Drawn, *core.Error) {
	switch {
	case d.VNI != 0:
		return &core.Drawn{VNI: d.VNI}, nil
	case d.Refused:
		err := core.Errorf(core.PolicyDenied, "job %s: step %s: other steps use all VNIs that steps of the job have, and "+
			"the site's policy lets none share the job's", in.Ask.Key, d.Step)
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

// stepOver takes n's word that a step is over there, and reports whether it is over on all its nodes.
func (m *Machine) stepOver(n *node, r *reservation, id core.StepID) bool {
	switch {
	case r.steps.of(id.Step) < 0:
		return true
	case r.joins.of(n) == nil:
		return false
	}
	r.steps.part(id.Step, n).over = true
	return m.endStep(n, r, id.Step)
}

// endStep ends a step that lives on no node. Its VNI is then the job's again. The next step that draws it has the same
// owner, so it does not rest. All its nodes may forget it; the answer to its report says so to n.
func (m *Machine) endStep(n *node, r *reservation, step string) bool {
	s := r.steps
	at := s.of(step)
	if !r.ended(s.live[at]) {
		return false
	}
	for _, p := range s.parts[step] {
		if p.node != n && p.node.attached {
			over := []core.StepID{{Run: r.Job.Run, Step: step}}
			m.do(Order{p.node.Name, p.node.session, core.Orders{Over: over}})
		}
	}
	m.drew(n, r, s.live[at], true)
	s.live = slices.Delete(s.live, at, at+1)
	delete(s.parts, step)
	m.write(r.transition())
	return true
}

// ended reports whether d lives on no node. A node that is clean may have had a part of it that this process does not
// know, if every other node has told which parts it has.
func (r *reservation) ended(d Draw) bool {
	over, parts := 0, r.steps.parts[d.Step]
	for _, p := range parts {
		if !p.over {
			return false
		}
		over++
	}
	clean := len(r.joins.list) - int(r.unclean)
	if over >= d.Nodes || over+clean < d.Nodes {
		return over >= d.Nodes
	}
	for _, j := range r.joins.list {
		switch {
		case slices.ContainsFunc(parts, func(p part) bool { return p.node == j.node }):
		case j.clean:
			over++
		case !j.node.told:
			return false
		}
	}
	return over >= d.Nodes
}

// leftSteps looks which steps of r have ended since n holds nothing of r any more, or since it told all its steps.
func (m *Machine) leftSteps(n *node, r *reservation, clean bool) {
	if r.steps == nil || r.state != Active { // they end with their job
		return
	}
	for _, d := range slices.Clone(r.steps.live) {
		parts := r.steps.parts[d.Step]
		at := slices.IndexFunc(parts, func(p part) bool { return p.node == n })
		if clean && at >= 0 {
			parts[at].over = true
		}
		m.endStep(n, r, d.Step)
	}
}

// stepsOf takes what n says of steps. It gives those that are over on all their nodes.
func (m *Machine) stepsOf(n *node, said []core.StepHeld, full bool) (over []core.StepID) {
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
	if full {
		for _, serial := range sortedOpen(n) {
			m.leftSteps(n, n.open[serial].of, false)
		}
	}
	return over
}

// stepLives takes over a draw that the store does not know: it was lost, or rolled back.
func (m *Machine) stepLives(n *node, r *reservation, h core.StepHeld) {
	at := r.steps.of(h.Step)
	if at >= 0 {
		r.steps.part(h.Step, n)
	}
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
	m.begin(n, r, Draw{Step: h.Step, VNI: h.VNI, Nodes: h.Nodes, Jobs: []string{r.Job.Job}})
}

// begin takes in a step that n asked for, or has.
func (m *Machine) begin(n *node, r *reservation, d Draw) {
	s := r.drawing()
	s.live = append(s.live, d)
	s.part(d.Step, n)
	m.write(r.transition())
	m.drew(n, r, d, false)
}

// drew writes a step's VNI into the audit.
func (m *Machine) drew(n *node, r *reservation, d Draw, over bool) {
	if d.VNI != 0 {
		m.do(Drew{core.StepID{Run: r.Job.Run, Step: d.Step}, n.Name, d.VNI, over})
	}
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
