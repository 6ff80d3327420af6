package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Recovering reports whether nothing is granted until every node has reported.
func (m *Machine) Recovering() bool { return !m.meta.Recovering.IsZero() }

// Unwitnessed reports whether nothing is granted only because the store has no witness.
func (m *Machine) Unwitnessed() bool { return m.Recovering() && m.meta.Unwitnessed }

// lost reports whether it recovers from the loss of a store, whose quarantines are unknown.
func (m *Machine) lost() bool { return m.Recovering() && !m.meta.Unwitnessed && !m.meta.New }

// cause says why nothing is granted.
func (m *Machine) cause() string {
	switch {
	case !m.Recovering():
		return ""
	case m.lost():
		return "a store was lost, or another server uses a copy of it"
	case m.Unwitnessed():
		return "the store has no witness that it is the newest"
	default:
		return "the store is new"
	}
}

// Withheld is why nothing is granted to any node: core.Recovering. Nil: grants are made.
func (m *Machine) Withheld() *core.Error {
	if !m.Recovering() {
		return nil
	}
	if len(m.awaited) == 0 {
		return core.Errorf(core.Recovering, "store %s: a store was lost, and what was in quarantine then is unknown: "+
			"every VNI rests for %s first", m.meta.Head.Store, m.longest()).
			WithRemedy("it ends by itself; jobs that ask later are granted")
	}
	return core.Errorf(core.Recovering, "store %s: %s; nodes that have not reported yet: %d",
		m.meta.Head.Store, m.cause(), len(m.awaited))
}

// Awaited are the nodes that must report before anything is granted, sorted.
func (m *Machine) Awaited() []string {
	return slices.DeleteFunc(slices.Clone(m.names), func(n string) bool { return !m.awaited[n] })
}

// LeftOut reports whether the recovery goes on without a node.
func (m *Machine) LeftOut(name string) bool { return slices.Contains(m.meta.Without, name) }

// knows reports whether seen is of this store's own past, or of a lost one that was met before. A number proves nothing
// here: a copy that was put back soon passes every revision that somebody saw.
func (m *Machine) knows(seen core.Head) bool {
	head, past := m.meta.Head, m.meta.Past
	switch {
	case seen.Incarnation == 0: // an agent of an older release has nothing but numbers
		return !head.Before(seen)
	case seen.Incarnation == head.Incarnation && seen.Revision <= head.Revision:
		return true
	}
	older := 0
	for _, p := range past {
		if p.Incarnation == seen.Incarnation {
			return seen.Revision <= p.Revision
		}
		if p.Epoch < seen.Epoch {
			older++
		}
	}
	// It may be one that the bounded list does not keep.
	switch {
	case len(past) < MaxPast || seen.Epoch > head.Epoch:
		return false
	case older == 0:
		return seen.Epoch < past[0].Epoch && seen.Revision <= past[0].Revision
	default:
		return past[older-1].idle(seen.Epoch, seen.Revision)
	}
}

// idle reports whether the incarnations after p, to an epoch, have committed nothing but their starts by a revision.
func (p Past) idle(epoch, revision uint64) bool { return revision <= p.Revision+(epoch-p.Epoch) }

// incarnate begins an incarnation; the one before becomes past.
func (m *Machine) incarnate(incarnation uint64) {
	m.pass(m.meta.Head)
	m.meta.Head.Epoch++
	m.meta.Head.Incarnation = incarnation
	m.write(m.meta)
}

// pass notes in the store's past how far an incarnation is known to have come.
func (m *Machine) pass(h core.Head) {
	if h.Incarnation == 0 {
		return
	}
	past := slices.Clone(m.meta.Past)
	if i := slices.IndexFunc(past, func(p Past) bool { return p.Incarnation == h.Incarnation }); i >= 0 {
		h.Epoch, h.Revision = max(h.Epoch, past[i].Epoch), max(h.Revision, past[i].Revision)
		past = slices.Delete(past, i, i+1)
	}
	past = append(past, Past{h.Incarnation, h.Epoch, h.Revision})
	slices.SortStableFunc(past, func(a, b Past) int { return cmp.Compare(a.Epoch, b.Epoch) })
	if len(past) > MaxPast { // one that committed nothing can go, and a server that starts again and again makes many
		i := 1
		for i < len(past) && !past[i-1].idle(past[i].Epoch, past[i].Revision) {
			i++
		}
		i %= len(past)
		past = slices.Delete(past, i, i+1)
	}
	m.meta.Past = past
}

// vouched waits for the nodes where nothing outside the store says that it is the newest. Its own quarantines are known.
func (m *Machine) vouched(witness core.Head) {
	if witness.Store == m.meta.Head.Store || m.Recovering() {
		return
	}
	m.do(Say{Level: Warn, Text: fmt.Sprintf("store %s: it has no witness that it is the newest: "+
		"nothing is granted until every node has reported", m.meta.Head.Store)})
	m.meta.Unwitnessed, m.meta.Without = true, nil
	m.beginRecovery()
}

// compare holds the store against the newest head that somebody has seen. One of the same store that it does not know
// proves that this store was put back from a copy, or that another server writes to a copy of it.
func (m *Machine) compare(seen core.Head) {
	head := m.meta.Head
	if m.Recovering() && !m.lost() && seen.Store != "" && seen.Store != head.Store {
		m.meta.Unwitnessed, m.meta.New = false, false
		m.write(m.meta)
	}
	if seen.Store != head.Store || m.knows(seen) {
		return
	}
	if seen.Epoch > head.Epoch && seen.Epoch-head.Epoch > maxAhead || seen.Revision > math.MaxUint64-maxAhead {
		m.do(Say{Level: Warn, Text: fmt.Sprintf("store %s: somebody claims to have seen epoch %d revision %d, which cannot be",
			head.Store, seen.Epoch, seen.Revision)})
		return
	}
	m.do(Say{Level: Alarm, Text: fmt.Sprintf("store %s: it is at epoch %d revision %d and does not know incarnation %016x, which has been seen "+
		"at epoch %d revision %d: it is an older copy, or another server uses one; nothing is granted until every node has reported",
		head.Store, head.Epoch, head.Revision, seen.Incarnation, seen.Epoch, seen.Revision)})
	m.pass(seen)
	m.meta.Head.Epoch = max(head.Epoch, seen.Epoch) + 1 // agents obey no lower one
	m.meta.Without, m.meta.Unwitnessed, m.meta.New = nil, false, false
	m.beginRecovery()
}

// met compares what a node has seen. Each session of a node has one such word, and a node that invents incarnations
// would stop the system with each: beyond maxClaims it is out of service instead.
func (m *Machine) met(n *node, seen core.Head) {
	if seen.Store != m.meta.Head.Store || m.knows(seen) {
		m.compare(seen)
		return
	}
	if n.claims++; n.claims <= maxClaims {
		m.compare(seen)
		return
	}
	if why := "it has shown unknown incarnations of the store " + strconv.Itoa(n.claims) + " times: see which other server it reaches"; n.Drained == "" {
		m.drainNode(n, why, "")
	}
}

// beginRecovery stops grants. The Meta record carries it, so that a restart goes on waiting.
func (m *Machine) beginRecovery() {
	m.meta.Recovering = m.now.Wall
	if m.meta.Recovering.IsZero() {
		m.meta.Recovering = m.meta.Recovering.Add(1)
	}
	for _, n := range m.nodes {
		n.told = n.attached && !n.paired()
	}
	m.quiet = 0
	m.await()
	m.write(m.meta)
}

// maxClaims is how often one node may stop the system with what it says that it saw, between two resumes of it.
const maxClaims = 3

// maxAhead is how many epochs a store may have lost without notice; more is a lie, and would make the count overflow.
const maxAhead = 1 << 32

// await lists the nodes that have not reported in full to this process since it recovers.
func (m *Machine) await() {
	clear(m.awaited)
	if !m.Recovering() {
		return
	}
	for _, name := range m.cfg.Nodes {
		if n := m.nodes[name]; (n == nil || !n.told) && !slices.Contains(m.meta.Without, name) {
			m.awaited[name] = true
		}
	}
}

// finishRecovery grants again when nobody is awaited any more. Where a store was lost, what rested in quarantine is known to nobody: all VNIs rest first.
func (m *Machine) finishRecovery() {
	if !m.Recovering() || len(m.awaited) > 0 {
		return
	}
	if m.lost() {
		if m.quiet == 0 {
			m.quiet = max(m.now.Uptime, 1)
		}
		if m.rests() > 0 {
			return
		}
	}
	said := Say{Text: "every node has reported to the new store: granting"}
	switch {
	case m.lost():
		said = Say{Level: Warn, Text: "every node has reported or was left out since a store was lost: granting again"}
	case len(m.meta.Without) > 0:
		said = Say{Level: Warn, Text: "every node has reported to the new store or was left out: granting"}
	}
	m.quiet = 0
	m.meta.Recovering, m.meta.Without, m.meta.Unwitnessed, m.meta.New = time.Time{}, nil, false, false
	m.write(m.meta)
	m.do(said)
}

// rests is how long every VNI still rests after the loss of a store.
func (m *Machine) rests() time.Duration {
	if m.quiet == 0 {
		return 0
	}
	return max(0, m.longest()-(m.now.Uptime-m.quiet))
}

// longest is the longest quarantine of all.
func (m *Machine) longest() time.Duration {
	q := m.rules.Quarantine
	if len(m.cfg.Pools) > 0 {
		q = 0
	}
	for i := range m.cfg.Pools {
		q = max(q, m.cfg.Pools[i].Quarantine)
	}
	return q
}

// goOn leaves nodes out of what is waited for.
func (m *Machine) goOn(in Recover) {
	for _, name := range in.Without {
		if !slices.Contains(m.cfg.Nodes, name) {
			m.do(Done{Call: in.Call, Err: core.Errorf(core.NotThere, "node %q: config.hcl declares none of that name", core.Clip(name))})
			return
		}
	}
	if !m.Recovering() || in.Unwitnessed && !m.Unwitnessed() {
		m.do(Done{Call: in.Call})
		return
	}
	awaited := len(m.awaited)
	for _, name := range in.Without {
		if !m.LeftOut(name) {
			m.meta.Without = append(slices.Clone(m.meta.Without), name)
		}
		delete(m.awaited, name)
	}
	count := awaited - len(m.awaited)
	m.write(m.meta)
	m.finishRecovery()
	m.do(Done{Call: in.Call, Count: count})
}
