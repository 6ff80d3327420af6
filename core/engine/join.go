package engine

import (
	"time"

	"github.com/weft-hpc/weft/core"
)

// join is one node of a reservation.
type join struct {
	node  *node
	of    *reservation
	boot  string
	why   string
	busy  time.Duration // since when the node says busy; 0: it does not
	clean bool
	stuck stuck
	word  word // on whether the run lives there
	fit   *Fit // nil: the node has not said that it is ready
}

// stuck is why a node keeps a reservation from being clean for too long.
type stuck uint8

const (
	notStuck stuck = iota
	stuckAway
	stuckBusy
	stuckBefore // the reservation was held when the machine was loaded, and the node has not reported since
	stuckTwin   // two hosts have its node's certificate; or had it, and the join is of the one that is gone
)

// joins are the nodes of a reservation in the order they joined. Most have one; a few have thousands.
type joins struct {
	list []*join
	by   map[*node]*join // of more than manyJoins
}

const manyJoins = 16

func (s *joins) of(n *node) *join {
	if s.by != nil {
		return s.by[n]
	}
	for _, j := range s.list {
		if j.node == n {
			return j
		}
	}
	return nil
}

func (s *joins) add(j *join) {
	s.list = append(s.list, j)
	switch {
	case s.by != nil:
		s.by[j.node] = j
	case len(s.list) > manyJoins:
		s.by = make(map[*node]*join, 2*len(s.list))
		for _, j := range s.list {
			s.by[j.node] = j
		}
	}
}

// join adds or replaces a node of r in memory.
func (m *Machine) join(r *reservation, rec Join) *join {
	if rec.Node == "" {
		return nil
	}
	n := m.node(rec.Node)
	j := r.joins.of(n)
	if j == nil {
		j = &join{node: n, of: r}
		r.joins.add(j)
	} else if !j.clean {
		r.unclean--
	}
	if j.boot = rec.Boot; rec.Boot == n.Boot {
		j.boot = n.Boot
	}
	j.clean = rec.Clean
	if !j.clean {
		r.unclean++
		n.open[r.Serial] = j
	} else {
		m.mark(j, notStuck)
		delete(n.open, r.Serial)
	}
	return j
}

// enlist joins n, as it is now, to r: durably.
func (m *Machine) enlist(r *reservation, n *node) *join {
	rec := Join{Serial: r.Serial, Node: n.Name, Boot: n.Boot}
	m.write(rec)
	return m.join(r, rec)
}

// confirm marks a node of a reservation clean.
func (m *Machine) confirm(j *join) {
	if j.clean {
		return
	}
	j.clean, j.busy, j.why = true, 0, ""
	m.mark(j, notStuck)
	j.of.unclean--
	j.of.cleaned = m.now.Uptime
	delete(j.node.open, j.of.Serial)
	m.write(Join{j.of.Serial, j.node.Name, j.boot, true})
	m.leftSteps(j.node, j.of, true)
	m.settle(j.of)
}

// judge says what j is by now. Busy lasts until its node says otherwise, through a loss of contact too.
func (m *Machine) judge(j *join) stuck {
	n := j.node
	switch {
	case j.clean:
		return notStuck
	case n.paired() || j.boot != n.Boot:
		return stuckTwin
	case !n.attached && m.now.Uptime-n.lost >= m.rules.Away:
		return stuckAway
	case !n.attached:
		return j.stuck
	case j.busy > 0 && (m.now.Uptime-j.busy >= m.rules.Busy || j.stuck == stuckBusy || j.stuck == stuckBefore):
		return stuckBusy
	}
	return notStuck
}

// mark notes what j is.
func (m *Machine) mark(j *join, s stuck) {
	if j.stuck == s {
		return
	}
	if j.stuck == notStuck {
		j.of.stuck++
		j.node.stuck++
	}
	if s == notStuck {
		j.of.stuck--
		j.node.stuck--
	}
	j.stuck, j.of.stale = s, true
}

// order is that nothing of r be left.
func (r *reservation) order() core.Orders {
	return core.Orders{Clean: []core.Clean{{Run: r.Job.Run, VNIs: r.vnis()}}}
}
