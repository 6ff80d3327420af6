package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Drained tells which nodes a scheduler shows as drained.
type Drained struct {
	Scheduler string
	Asked     time.Duration         // when the question left, by this process's running time
	Shown     map[string]core.Drain // by node; nil: the scheduler did not answer
	Hooks     map[string]bool       // of Shown, those that the scheduler itself drained since a hook failed
}

// mirror compares a scheduler's drains with Weft's.
type mirror struct {
	shown map[string]core.Drain // by the newest list; nil: the scheduler does not answer
	asked time.Duration         // when the question of that list left
}

// drainNode sets Weft's own flag, which goes to the node and to every scheduler that lists it. By is a person.
func (m *Machine) drainNode(n *node, reason, by string) {
	if reason != "" && by == "" && m.spares(n.Name) {
		if n.spared != reason {
			n.spared = reason
			m.do(Say{Node: n.Name, Text: "not drained, since its jobs are only observed: " + reason})
			m.do(Spare{Node: n.Name, Reason: reason})
		}
		if reason = ""; n.Drained == "" {
			return
		}
	} else {
		n.spared = ""
	}
	n.Drained, n.DrainedBy, n.DrainedAt = reason, by, m.now.Wall
	if reason == "" {
		n.DrainedAt = time.Time{}
	}
	m.noteKept(n)
	n.Words++
	n.Agreed = nil
	n.changed = m.now.Uptime
	m.write(n.Node)
	m.tellDrain(n)
	if reason == "" {
		m.do(Say{Node: n.Name, Text: "resumed"})
		m.do(Resume{Node: n.Name})
		return
	}
	m.do(Say{Level: Warn, Node: n.Name, Text: "drained: " + reason})
	m.do(Drain{Node: n.Name, Reason: reason})
}

func (m *Machine) tellDrain(n *node) {
	if n.attached {
		drain := n.Drain()
		m.do(Order{n.Name, n.session, core.Orders{Drain: &drain}})
	}
}

// drained compares a scheduler's list with Weft's own flags. Where they differ after they agreed, a person or a hook
// has changed the scheduler's, and Weft follows. Where they have not agreed yet, the scheduler missed Weft's word.
func (m *Machine) drained(in Drained) {
	w := &m.watch(in.Scheduler).drains
	if in.Asked < w.asked {
		return
	}
	w.shown = in.Shown
	if w.shown == nil {
		return
	}
	w.asked = in.Asked
	for _, name := range m.names {
		n := m.nodes[name]
		if n == nil || in.Asked <= n.changed {
			continue
		}
		d, is := in.Shown[name]
		if why := n.explains(in.Scheduler, d); in.Hooks[name] && why != "" {
			m.do(Say{Level: Warn, Node: name, Text: "scheduler " + in.Scheduler + " has drained it: " + why})
			m.do(Drain{Node: name, Reason: why, Scheduler: in.Scheduler})
		}
		if (n.Drained != "") == d.Ours() {
			m.agree(n, in.Scheduler, n.Words > 0)
			continue
		}
		agreed := slices.Contains(n.Agreed, in.Scheduler)
		switch {
		case n.Drained != "" && is: // for another's reason, which stays; Weft's comes back when that has ended
			m.agree(n, in.Scheduler, false)
		case n.Drained != "" && agreed:
			m.do(Say{Node: name, Text: "scheduler " + in.Scheduler + " has it in service again"})
			n.claims = 0
			m.drainNode(n, n.trouble(), "")
		case n.Drained != "":
			m.do(Drain{Node: name, Reason: n.Drained, Scheduler: in.Scheduler})
		case (agreed || n.Words == 0) && !n.over(d.Reason):
			m.drainNode(n, strings.TrimPrefix(d.Reason, core.DrainPrefix), "")
			m.agree(n, in.Scheduler, true)
		default:
			m.do(Resume{Node: name, Scheduler: in.Scheduler})
		}
	}
}

// drainSlack is how far a scheduler's time of a drain may lie from the node's time of the hooks that failed.
const drainSlack = int64(2 * time.Minute / time.Second)

// explains is why a scheduler itself drained n, where n's agent was away at that time; empty: it was not.
func (n *node) explains(scheduler string, d core.Drain) string {
	for _, u := range n.missed {
		if u.Scheduler == scheduler && d.Since >= u.From-drainSlack && d.Since <= u.Until+drainSlack {
			return core.AwayPrefix + u.Why
		}
	}
	return ""
}

// agree notes whether a scheduler has shown the newest word about n.
func (m *Machine) agree(n *node, scheduler string, has bool) {
	at, had := slices.BinarySearch(n.Agreed, scheduler)
	switch {
	case had == has:
		return
	case has:
		n.Agreed = slices.Insert(slices.Clone(n.Agreed), at, scheduler)
	default:
		n.Agreed = slices.Delete(slices.Clone(n.Agreed), at, at+1)
	}
	m.write(n.Node)
}

// over reports whether a scheduler's reason is one of those that end by themselves, and has ended.
func (n *node) over(reason string) bool {
	return n.attached && endsItself(strings.TrimPrefix(reason, core.DrainPrefix))
}

// endsItself reports whether a drain for reason, if any, ends without a person.
func endsItself(reason string) bool {
	return reason == "" || strings.HasPrefix(reason, core.UnreadPrefix) ||
		strings.HasPrefix(reason, core.TwinPrefix) || strings.HasPrefix(reason, crowdPrefix)
}

// redrain drains n for why, or ends a drain that ends by itself. A drain for another reason needs a person.
func (m *Machine) redrain(n *node, why string) {
	if n.Drained != why && n.resumes() {
		m.drainNode(n, why, "")
	}
}

// resumes reports whether n's drain, if any, ends by itself.
func (n *node) resumes() bool { return n.DrainedBy == "" && endsItself(n.Drained) }

// noteKept keeps n where a tick finds it, while it is drained since its NICs kept a job's services.
func (m *Machine) noteKept(n *node) {
	if strings.HasPrefix(n.Drained, core.StuckPrefix) && n.DrainedBy == "" {
		m.keepers[n.Name] = n
	} else {
		delete(m.keepers, n.Name)
	}
}

// loosened ends the drain of a node whose NICs kept a job's services, once it cleans no job any more. A person may
// resume such a node before: other jobs can use its NICs.
func (m *Machine) loosened(n *node) {
	if !n.attached {
		return
	}
	for _, j := range n.open {
		if !j.of.Unknown && (j.why != "" || j.of.state != Active) {
			return
		}
	}
	m.drainNode(n, n.trouble(), "")
}

func (m *Machine) setDrain(in SetDrain) {
	if !m.Named(in.Node) {
		err := core.Errorf(core.NotThere, "node %q: there is none of that name", core.Clip(in.Node))
		m.do(Done{Call: in.Call, Err: err.WithRemedy("`weft nodes` lists them")})
		return
	}
	n := m.node(in.Node)
	resume := in.Reason == ""
	if resume {
		n.claims = 0
		if n.paired() && m.alone(n) {
			m.part(n)
		}
		in.Reason, in.By = n.trouble(), ""
	}
	if n.Drained != in.Reason || in.Reason == "" { // a scheduler may have missed it, or had it drained by the node's hook
		m.drainNode(n, in.Reason, in.By)
	}
	if resume && in.Reason != "" {
		m.do(Done{Call: in.Call, Err: n.refuses("it stays drained", in.Reason)})
		return
	}
	m.do(Done{Call: in.Call, Count: 1})
}
