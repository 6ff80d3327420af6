package engine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Recovering reports whether nothing is granted until every node has reported.
func (m *Machine) Recovering() bool { return !m.meta.Recovering.IsZero() }

// compare holds the store against the highest head that somebody has seen of it. A store behind it was rolled back: what it granted since is unknown to it.
func (m *Machine) compare(seen core.Head) {
	head := m.meta.Head
	m.lost = m.lost || m.Recovering() && seen.Store != "" && seen.Store != head.Store
	if seen.Store != head.Store || !head.Before(seen) {
		return
	}
	if seen.Epoch-head.Epoch > maxAhead && seen.Epoch > head.Epoch || seen.Revision > math.MaxUint64-maxAhead {
		m.do(Say{Level: Warn, Text: fmt.Sprintf("store %s: somebody claims to have seen epoch %d revision %d, which cannot be", head.Store, seen.Epoch, seen.Revision)})
		return
	}
	m.do(Say{Level: Alarm, Text: fmt.Sprintf("store %s: it is at epoch %d revision %d, but epoch %d revision %d has been seen: it was rolled back; nothing is granted until every node has reported",
		head.Store, head.Epoch, head.Revision, seen.Epoch, seen.Revision)})
	m.meta.Head.Epoch = max(head.Epoch, seen.Epoch) + 1
	m.meta.Head.Revision = max(head.Revision, seen.Revision)
	m.meta.Without = nil
	m.lost = true
	m.beginRecovery()
}

// beginRecovery stops grants. The Meta record carries it, so that a restart goes on waiting.
func (m *Machine) beginRecovery() {
	m.meta.Recovering = m.now.Wall
	if m.meta.Recovering.IsZero() {
		m.meta.Recovering = m.meta.Recovering.Add(1)
	}
	for _, n := range m.nodes {
		n.told = n.attached
	}
	m.quiet = 0
	m.await()
	m.write(m.meta)
	m.finishRecovery()
}

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
	if m.lost {
		if m.quiet == 0 {
			m.quiet = max(m.now.Uptime, 1)
		}
		if m.now.Uptime-m.quiet < m.longest() {
			return
		}
	}
	said := Say{Text: "every node has reported to the new store: granting"}
	switch {
	case m.lost:
		said = Say{Level: Warn, Text: "every node has reported or was left out since a store was lost: granting again"}
	case len(m.meta.Without) > 0:
		said = Say{Level: Warn, Text: "every node has reported to the new store or was left out: granting"}
	}
	m.lost, m.quiet = false, 0
	m.meta.Recovering, m.meta.Without = time.Time{}, nil
	m.write(m.meta)
	m.do(said)
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
	if !m.Recovering() {
		m.do(Done{Call: in.Call})
		return
	}
	for _, name := range in.Without {
		if !slices.Contains(m.meta.Without, name) {
			m.meta.Without = append(slices.Clone(m.meta.Without), name)
		}
		delete(m.awaited, name)
	}
	m.write(m.meta)
	m.finishRecovery()
	m.do(Done{Call: in.Call, Count: len(in.Without)})
}
