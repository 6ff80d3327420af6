package engine

import (
	"maps"
	"slices"
	"time"
)

// Holding is why VNIs stay out of their pools although no job of the scheduler's has them.
type Holding string

// The holdings. A reservation counts under one of them: under the first that applies.
const (
	HeldAway     Holding = "away"      // a node is out of contact
	HeldBusy     Holding = "busy"      // a NIC says that an application still uses them
	HeldTwin     Holding = "two-hosts" // two hosts have a node's certificate
	HeldUnknown  Holding = "unknown"   // services that Weft did not make
	HeldVanished Holding = "vanished"  // active, but missing from the scheduler's answers together with many others
	HeldVouched  Holding = "vouched"   // active and missing from the scheduler's answers; a node sees it live
)

// Holdings lists them.
func Holdings() []Holding {
	return []Holding{HeldAway, HeldBusy, HeldTwin, HeldUnknown, HeldVanished, HeldVouched}
}

// Figures are the machine in numbers, for metrics.
type Figures struct {
	Reservations map[State]int
	Held         map[Holding]int // VNIs
	Draining     time.Duration   // since the oldest of those that drain does; 0: none does
	Used         map[string]int  // VNIs by pool
	Nodes        int             // that config.hcl declares or that ever reported
	Attached     int             // with a session
	Drained      int             // out of service by Weft's own flag
	Twins        []string        // nodes whose certificate two hosts have
	Awaited      int             // that must report before anything is granted
	Recovering   bool
	Cause        string        // of Recovering, for people
	Rests        time.Duration // until grants begin again, where no node is awaited any more
	Policy       string        // hash
	Vanished     int           // reservations of the alarm
	Kept         int           // reservations for which nodes vouch against their scheduler's answers

	Blind map[string]string // by scheduler, why its answers are not complete; empty: they are

	node   string // the last one that is counted
	serial uint64 // likewise, of reservations
	shares map[tally]share
}

// Figures are the machine in numbers.
func (m *Machine) Figures() (f Figures) {
	for m.Count(&f) {
	}
	return f
}

// maxCounted bounds the nodes and reservations that Count looks at, with the quotas of these, and the nodes of those
// that are held.
const maxCounted = 512

// Count adds some nodes and reservations to f, which is empty at first, and reports whether there may be more. So a
// caller who counts for a person does not keep the writer for all of them.
func (m *Machine) Count(f *Figures) (more bool) {
	if f.Reservations == nil {
		*f = m.outline()
	}
	looks := 0
	for n := range m.Nodes(f.node) {
		if looks++; looks > maxCounted {
			return true
		}
		f.node = n.Name
		if n.Attached {
			f.Attached++
		}
		if n.Drained != "" {
			f.Drained++
		}
	}
	for r := range m.above(f.serial) {
		if looks++; looks > maxCounted {
			return true
		}
		f.serial = r.Serial
		f.Reservations[r.state]++
		looks += len(r.counted)
		for _, c := range r.counted {
			u := m.quotas[c.in]
			f.shares[c.in] = share{u.sum, u.most(c.in)}
		}
		switch {
		case r.state == Active && r.vanished > 0:
			f.Vanished++
			f.Held[HeldVanished] += len(r.VNIs)
		case r.isKept():
			f.Kept++
			f.Held[HeldVouched] += len(r.VNIs)
		case r.state == Draining:
			f.Draining = max(f.Draining, m.now.Uptime-r.entered)
		case r.state == Held:
			looks += len(r.joins.list)
			f.Held[r.holding()] += len(r.VNIs)
		}
	}
	return false
}

// outline is Figures without those of nodes and reservations.
func (m *Machine) outline() Figures {
	f := Figures{
		Reservations: map[State]int{}, Held: map[Holding]int{}, Used: maps.Clone(m.alloc.Use()), Nodes: len(m.names),
		Awaited: len(m.awaited), Recovering: m.Recovering(), Cause: m.cause(), Rests: m.rests(), Policy: m.Policy(),
		Blind: map[string]string{}, Twins: slices.Sorted(maps.Keys(m.twins)), shares: map[tally]share{},
	}
	for _, s := range m.cfg.Schedulers {
		f.Blind[s] = m.watch(s).blind
	}
	return f
}

// holding is why r, which is held, is.
func (r *reservation) holding() Holding {
	if r.Unknown {
		return HeldUnknown
	}
	why := HeldAway
	for _, j := range r.joins.list {
		switch j.stuck {
		case stuckAway, stuckBefore:
			return HeldAway
		case stuckBusy:
			why = HeldBusy
		case stuckTwin:
			if why != HeldBusy {
				why = HeldTwin
			}
		case notStuck:
		}
	}
	return why
}
