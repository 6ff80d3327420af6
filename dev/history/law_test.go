package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/memory"
)

// law holds what happens against the rules of the design. It knows the truth: what stands on every NIC, what the store has taken, and what each process
// was told. It keeps no opinion of its own about what should happen next.
type law struct {
	w *world

	// The NICs.
	on map[core.VNI][]*owned

	// The store.
	held       map[uint64]*held
	holders    map[core.VNI][]*held
	over       map[core.Run]bool // ended, by a tombstone or a phase
	freed      map[core.Run]bool // freed in this store's line
	recovering bool

	// What cannot be asked any more. See lost, forget and without.
	excused map[core.VNI]bool
	gone    map[core.Run][]core.VNI // granted in a past that was lost without anybody knowing
	zombies map[core.Run]bool       // live again by an older store, though they were over

	// The server's process.
	live  map[uint64]*live
	asked time.Duration // Began of the answer at hand
	may   []uint64      // reservations that the present input allows to drain

	// Nodes whose certificate two hosts have.
	twins  map[string]time.Duration // when the second host came last
	paired map[string]bool          // the store says so

	hearsay map[uint64]bool // reservations whose end only the scheduler's half on a node told
}

// held is a reservation as the store has it.
type held struct {
	engine.Reservation
	state engine.State
	joins map[string]engine.Join
}

// live is a reservation as the server's process has it, with the evidence that it was given.
type live struct {
	run      core.Run
	vnis     []core.VNI
	state    engine.State
	unknown  bool
	prepared time.Duration // newest grant, or when the process began
	lacks    int           // complete answers begun since, in a row, that lack it
	missed   time.Duration // when the newest of them was asked for
	alarmed  time.Duration
	hooked   bool
	holding  map[string]bool  // nodes that have not shown themselves clean
	vouches  map[string]vouch // by node, of those that said last that it lives there
	shown    time.Duration    // when the newest answer that shows it was asked for; -1: none
	rested   time.Duration
	shares   []core.Placement
}

// vouch is a node's word that a run lives there.
type vouch struct {
	at  time.Duration
	old bool // the node was asked again, or its session ended
}

func newLaw(w *world) *law {
	l := &law{w: w, on: map[core.VNI][]*owned{}, excused: map[core.VNI]bool{}, zombies: map[core.Run]bool{}, twins: map[string]time.Duration{}, hearsay: map[uint64]bool{}}
	l.empty()
	return l
}

func (l *law) empty() {
	l.held, l.holders, l.over, l.freed = map[uint64]*held{}, map[core.VNI][]*held{}, map[core.Run]bool{}, map[core.Run]bool{}
	l.gone, l.recovering, l.paired = map[core.Run][]core.VNI{}, false, map[string]bool{}
}

// --- the NICs ---

// making is asked before a service of Weft's stands on a NIC.
func (l *law) making(b *box, n *nic, o *owned) {
	w := l.w
	e, ok := b.entry(o.run)
	if !ok || !slices.ContainsFunc(e.Specs, func(s core.ServiceSpec) bool { return s.Device == n.name && slices.Equal(s.VNIs, o.vnis) }) {
		w.fail("R5: %s: a service of %v is made on %s that no record of the node names", b.name, o.run, n.name)
	}
	if b.ended[o.run] {
		w.fail("R6: %s: a service is made for %v, which was cleaned on this node", b.name, o.run)
	}
	for _, v := range o.vnis {
		for _, other := range l.on[v] {
			if !other.foreign && other.run != o.run && !l.excused[v] {
				w.fail("R1: VNI %d is on services of %v and, now on %s, of %v", v, other.run, b.name, o.run)
			}
		}
		if l.freed[o.run] && !l.excused[v] {
			w.fail("R2: %s: a service is made for %v, whose VNI %d was returned to its pool", b.name, o.run, v)
		}
		l.on[v] = append(l.on[v], o)
	}
}

func (l *law) planted(_ *box, o *owned) {
	for _, v := range o.vnis {
		l.on[v] = append(l.on[v], o)
	}
}

func (l *law) removed(o *owned) {
	for _, v := range o.vnis {
		list := l.on[v]
		if i := slices.Index(list, o); i >= 0 {
			l.on[v] = slices.Delete(list, i, i+1)
		}
	}
}

// --- the store ---

// committed takes in what became durable.
func (l *law) committed(batch []engine.Record) {
	for _, rec := range batch {
		switch rec := rec.(type) {
		case engine.Meta:
			if l.recovering = !rec.Recovering.IsZero(); l.recovering {
				clear(l.gone) // it is known now: from here on the rule can be asked again
			}
		case engine.Node:
			l.recordTwin(rec)
		case engine.Reservation:
			if h := l.held[rec.Serial]; h == nil || h.Job.Run != rec.Job.Run { // else an import brings in what lost has read
				l.reserved(rec)
			}
		case engine.Transition:
			if h := l.held[rec.Serial]; h != nil {
				l.phase(h, rec)
			}
		case engine.Join:
			if h := l.held[rec.Serial]; h != nil {
				if rec.Clean && !h.joins[rec.Node].Clean {
					l.clean(h, rec)
				}
				h.joins[rec.Node] = rec
			}
		case engine.Tombstone:
			l.over[rec.Run] = true
		case engine.Delete:
			if rec.At.Table == engine.TableReservation {
				l.free(rec.At.Serial)
			}
		}
	}
}

func (l *law) reserved(rec engine.Reservation) {
	h := &held{Reservation: rec, state: engine.Active, joins: map[string]engine.Join{rec.First.Node: rec.First}}
	if rec.Adopted {
		delete(l.gone, rec.Job.Run)
	}
	if rec.Unknown && rec.First.Node == dataServer && allServed(taken(rec.VNIs)) {
		l.w.fail("R7: the data service's own %v on %s is held as unknown", taken(rec.VNIs), dataServer)
	}
	for _, t := range rec.VNIs {
		v := t.VNI
		if !rec.Adopted && !rec.Unknown {
			if !l.w.inPool(v) || v.IsDefault() {
				l.w.fail("R1: VNI %d of %v is not of the pool", v, rec.Job.Run)
			}
			for run, vnis := range l.gone {
				if slices.Contains(vnis, v) {
					l.excused[v] = true // nobody could know of run
					_ = run
				}
			}
		}
		for _, other := range l.holders[v] {
			switch {
			case l.excused[v] || l.zombies[other.Job.Run] || l.zombies[rec.Job.Run]:
			case rec.Unknown, other.Unknown && rec.Adopted:
			default:
				l.w.fail("R1: VNI %d is in two live reservations: %v and now %v (adopted %v)", v, other.Job.Run, rec.Job.Run, rec.Adopted)
			}
		}
	}
	l.insert(h)
}

func (l *law) insert(h *held) {
	l.held[h.Serial] = h
	for _, t := range h.VNIs {
		l.holders[t.VNI] = append(l.holders[t.VNI], h)
	}
}

func (l *law) phase(h *held, rec engine.Transition) {
	h.state = rec.State
	if !h.Unknown {
		l.over[h.Job.Run] = rec.State != engine.Active
	}
	if rec.State != engine.Quarantined {
		return
	}
	for _, j := range h.joins {
		if !j.Clean {
			l.w.fail("R2: %v rests although node %s has not confirmed", h.Job.Run, j.Node)
		}
	}
}

// clean is a node's confirmation, held against its NICs.
func (l *law) clean(h *held, j engine.Join) {
	if l.excusedRun(&h.Reservation) {
		return
	}
	if l.paired[j.Node] {
		l.w.fail("R2: node %s counts as clean of %v while two hosts have its certificate", j.Node, h.Job.Run)
	}
	if h.Unknown {
		return
	}
	for _, b := range l.w.boxes {
		if b.name != j.Node || b.boot != j.Boot || !b.powered {
			continue
		}
		if why := b.stands(h.Job.Run); why != "" {
			l.w.fail("R2: node %s counts as clean of %v, and %s", b.name, h.Job.Run, why)
		}
	}
}

func (l *law) free(serial uint64) {
	h := l.held[serial]
	if h == nil {
		return
	}
	if h.state != engine.Quarantined {
		l.w.fail("R2: %v is freed while it is %v", h.Job.Run, h.state)
	}
	for _, b := range l.w.boxes {
		switch {
		case h.Unknown && h.First.Node == b.name && h.First.Boot == b.boot:
			l.stray(b, h)
		case !h.Unknown && !l.excusedRun(&h.Reservation):
			if why := b.stands(h.Job.Run); why != "" {
				l.w.fail("R2: %v is freed, and on %s %s", h.Job.Run, b.name, why)
			}
		}
	}
	delete(l.held, serial)
	for _, t := range h.VNIs {
		l.holders[t.VNI] = slices.DeleteFunc(l.holders[t.VNI], func(o *held) bool { return o == h })
	}
	if !h.Unknown {
		l.freed[h.Job.Run] = true
	}
}

// stray looks whether the services that an unknown reservation was made for are still there. One that is made anew is another.
func (l *law) stray(b *box, h *held) {
	for i := range b.nics {
		for _, o := range b.nics[i].owned {
			if o.foreign && o.reported && len(o.vnis) == len(h.VNIs) && o.vnis[0] == h.VNIs[0].VNI && o.service.Owner.ID == h.Job.UID {
				l.w.fail("R2: the VNIs of unknown services on %s are freed, and %s/%d stands", b.name, o.service.Device, o.id)
			}
		}
	}
}

func (l *law) excusedRun(r *engine.Reservation) bool {
	for _, t := range r.VNIs {
		if l.excused[t.VNI] {
			return true
		}
	}
	return false
}

// lost is told what is left of the store's past. What was granted in the past that is gone is not in the store, and what was over may be live again.
//
// When it is known, by the server's witness or by the store being new, nothing is granted until every node has told what it holds, and every rule can be
// asked as before. When it is not known and no node has shown it yet, the server cannot know that a VNI is held by a run of the lost past: until the
// node of that run has reported, a grant of that VNI is excused, and so is what comes of that VNI later. All else is asked all the same.
func (l *law) lost(store *memory.Store, known bool) {
	was := l.held
	l.empty()
	l.excuseSteps(known)
	clear(l.hearsay)
	if store != nil {
		for _, r := range loadAll(store) {
			l.restore(r)
		}
	}
	now := map[core.Run]bool{}
	for _, h := range l.held {
		now[h.Job.Run] = true
		if w := was[h.Serial]; !known && w != nil && w.Job.Run == h.Job.Run && len(w.joins) > len(h.joins) {
			for _, t := range h.VNIs { // nobody knows that another node has it too
				l.excused[t.VNI] = true
			}
		}
	}
	had := map[core.Run]bool{}
	for _, h := range was {
		had[h.Job.Run] = true
		if !now[h.Job.Run] && !known {
			for _, t := range h.VNIs {
				l.gone[h.Job.Run] = append(l.gone[h.Job.Run], t.VNI)
			}
		}
	}
	for run := range now {
		if !had[run] {
			l.zombies[run] = true
		}
	}
}

// shown is asked after a node has reported the newest head that it saw: one of a lost past stops the store.
func (l *law) shown(s *server, seen core.Head) {
	if seen.Store != s.m.Head().Store || seen.Revision <= s.line[seen.Incarnation] {
		return
	}
	if !s.m.Recovering() {
		l.w.fail("R9: a node has seen %v, which is not of the store's past, and the store at %v goes on granting", seen, s.m.Head())
	}
	s.line[seen.Incarnation] = seen.Revision
}

func loadAll(store *memory.Store) []engine.Record {
	var out []engine.Record
	if err := store.Load(ctx, func(r engine.Record) error { out = append(out, r); return nil }); err != nil {
		panic(err)
	}
	return out
}

// restore takes in a record of a store without judging it.
func (l *law) restore(rec engine.Record) {
	switch rec := rec.(type) {
	case engine.Meta:
		l.recovering = !rec.Recovering.IsZero()
	case engine.Node:
		l.paired[rec.Name] = !rec.Twin.Since.IsZero()
	case engine.Reservation:
		l.insert(&held{Reservation: rec, state: engine.Active, joins: map[string]engine.Join{rec.First.Node: rec.First}})
	case engine.Transition:
		if h := l.held[rec.Serial]; h != nil {
			h.state = rec.State
			if !h.Unknown && rec.State != engine.Active {
				l.over[h.Job.Run] = true
			}
		}
	case engine.Join:
		if h := l.held[rec.Serial]; h != nil {
			h.joins[rec.Node] = rec
		}
	case engine.Tombstone:
		l.over[rec.Run] = true
	}
}

// without is an administrator's word that nothing more comes of b: what it holds and nobody else reports cannot be known.
func (l *law) without(b *box) {
	l.excuseSteps(false)
	for i := range b.nics {
		for _, o := range b.nics[i].owned {
			for _, v := range o.vnis {
				l.excused[v] = true
			}
		}
	}
	for _, o := range b.agent.ops {
		for _, s := range o.specs {
			for _, v := range s.VNIs {
				l.excused[v] = true
			}
		}
	}
	for _, r := range b.records {
		for _, v := range entryVNIs(r) {
			l.excused[v] = true
		}
	}
}

// pool compares what the allocator counts with what the store's reservations hold.
func (l *law) pool(m *engine.Machine) {
	want := 0
	for v, hs := range l.holders {
		if len(hs) > 0 && l.w.inPool(v) {
			want++
		}
	}
	if got := m.Figures().Used[poolName]; got != want {
		text := ""
		for _, h := range l.held {
			text += fmt.Sprintf("\n  %v %v %v", h.Job.Run, h.state, taken(h.VNIs))
		}
		l.w.fail("R2: the pool counts %d VNIs as taken, and the reservations hold %d:%s", got, want, text)
	}
}
