package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// Read is a node's reading of its NICs.
type Read struct {
	Node     string
	Devices  []string
	Bad      []string // of Devices, those that no job can use
	Services []core.Service
}

// node is one that is in contact.
type node struct {
	devices []string // all that it has ever shown
	missing []string // of these
	bad     []string
	groups  map[group]*held
}

// group names services of one user with the same VNIs, on whichever NICs of a node.
type group struct {
	uid  uint32
	vnis string
}

// held describes a group.
type held struct {
	vnis     []core.VNI
	services []string // NIC:ID
	first    time.Time
	alone    time.Time  // since when no job of its user is there; zero: one is
	runs     []core.Run // of its user, when one was there last
}

// Read takes a reading.
func (a *Account) Read(now time.Time, in Read) {
	a.tick(now)
	n := a.nodes[in.Node]
	if n == nil {
		n = &node{}
		a.nodes[in.Node] = n
	}
	for _, d := range in.Devices {
		if !slices.Contains(n.devices, d) {
			n.devices = append(n.devices, d)
		}
	}
	n.missing = slices.DeleteFunc(slices.Clone(n.devices), func(d string) bool { return slices.Contains(in.Devices, d) })
	n.bad = in.Bad
	before := n.groups
	n.groups = map[group]*held{}
	for i := range in.Services {
		s := &in.Services[i]
		of := s.Owner
		if of.Kind != core.OwnerUID || of.ID == 0 || s.System || s.Default || len(s.VNIs) == 0 || len(s.VNIs) > MaxVNIs {
			continue
		}
		k := group{s.Owner.ID, core.FormatVNIs(s.VNIs)}
		h := n.groups[k]
		if h == nil {
			h = &held{vnis: slices.Clone(s.VNIs), first: now}
			if old := before[k]; old != nil {
				h.first, h.alone, h.runs = old.first, old.alone, old.runs
			}
			n.groups[k] = h
		}
		h.services = append(h.services, fmt.Sprintf("%s:%d", s.Device, s.ID))
	}
}

// Away forgets what a node showed that is out of contact: it proves nothing of now.
func (a *Account) Away(node string) {
	if n := a.nodes[node]; n != nil {
		n.groups = nil
	}
}

// fault is why a prepare would fail there, by the last reading.
func (n *node) fault(least int) string {
	usable := len(n.devices) - len(n.missing) - len(n.bad)
	switch {
	case least > 0 && usable >= least:
		return ""
	case len(n.missing) > 0:
		return "NIC " + hostlist.Fold(n.missing) + ": it is missing"
	case len(n.bad) > 0:
		return "NIC " + hostlist.Fold(n.bad) + ": no job can use it"
	}
	return ""
}

// bearer is a group on a node.
type bearer struct {
	node string
	uid  uint32
	of   *held
	runs []core.Run // of its user, that run there now
}

// Scan looks for VNIs that were given twice, and for services without a job.
func (a *Account) Scan(now time.Time) {
	a.tick(now)
	by := map[core.VNI][]bearer{}
	certain := a.current()
	there := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(a.nodes)) {
		n := a.nodes[name]
		for _, k := range slices.SortedFunc(maps.Keys(n.groups), func(x, y group) int {
			return cmp.Or(cmp.Compare(x.uid, y.uid), cmp.Compare(x.vnis, y.vnis))
		}) {
			h := n.groups[k]
			b := bearer{name, k.uid, h, a.candidates(name, k.uid)}
			if len(b.runs) > 0 {
				h.runs = b.runs
			}
			there[leftKey(name, k.uid, h.vnis)] = true
			a.alone(b, certain)
			if now.Sub(h.first) >= a.cfg.Overlap {
				for _, v := range h.vnis {
					by[v] = append(by[v], b)
				}
			}
		}
	}
	for i := range a.left {
		l := &a.left[i]
		n := a.nodes[l.Node]
		if l.Gone.IsZero() && n != nil && n.groups != nil && !there[leftKey(l.Node, l.UID, l.VNIs)] {
			l.Gone = now
		}
	}
	for _, v := range slices.Sorted(maps.Keys(by)) {
		if len(by[v]) > 1 {
			a.pair(v, by[v])
		}
	}
}

// current reports whether every observed scheduler has told all its jobs lately.
func (a *Account) current() bool {
	return !slices.ContainsFunc(a.cfg.Schedulers, func(s string) bool { return a.now.Sub(a.heard[s]) > 2*time.Minute })
}

// candidates are the runs of a user on a node.
func (a *Account) candidates(node string, uid uint32) []core.Run {
	var out []core.Run
	for run := range a.on[node] {
		if run.UID == uid {
			out = append(out, run)
		}
	}
	slices.SortFunc(out, func(x, y core.Run) int { return cmp.Compare(x.Key.String(), y.Key.String()) })
	return out
}

// pair finds two of the bearers of a VNI that are not of one job.
func (a *Account) pair(v core.VNI, bearers []bearer) {
	first := bearers[0]
	for _, b := range bearers[1:] {
		if b.uid != first.uid {
			a.twin(v, Certain, first, b)
			return
		}
	}
	if a.unplace[first.uid] > 0 || !a.current() {
		return // where all jobs of this user run is not known
	}
	for i, x := range bearers {
		for _, y := range bearers[i+1:] {
			shared := slices.ContainsFunc(x.runs, func(r core.Run) bool { return slices.Contains(y.runs, r) })
			if len(x.runs) > 0 && len(y.runs) > 0 && !shared {
				a.twin(v, Likely, x, y)
				return
			}
		}
		if i == 16 { // a job of many nodes
			return
		}
	}
}

func (a *Account) twin(v core.VNI, sure Sure, x, y bearer) {
	one := Twice{VNI: v, Sure: sure, Holders: []Holder{x.shown(), y.shown()}, Since: a.now, Last: a.now}
	i := slices.IndexFunc(a.twice, func(t Twice) bool {
		return t.VNI == v && slices.EqualFunc(t.Holders, one.Holders, Holder.same)
	})
	if i < 0 {
		a.twice = append(bounded(a, a.twice), one)
		return
	}
	a.twice[i].Last = a.now
}

func (h Holder) same(o Holder) bool { return h.UID == o.UID && h.Job == o.Job }

func (b bearer) shown() Holder {
	h := Holder{Node: b.node, Services: b.of.services, UID: b.uid}
	h.Job, h.Jobs = named(b.of.runs)
	return h
}

// named is the one job of runs; of several none is meant.
func named(runs []core.Run) (job string, of int) {
	if len(runs) == 1 {
		job = runs[0].Scheduler + "/" + runs[0].Job
	}
	return job, len(runs)
}

// alone follows a service whose user has no job on the node.
func (a *Account) alone(b bearer, certain bool) {
	h := b.of
	if len(b.runs) > 0 || !certain || a.unplace[b.uid] > 0 {
		h.alone = time.Time{}
		return
	}
	if h.alone.IsZero() {
		h.alone = a.now
	}
	if a.now.Sub(h.alone) < a.cfg.Grace {
		return
	}
	key := leftKey(b.node, b.uid, h.vnis)
	i := slices.IndexFunc(a.left, func(l Left) bool {
		return l.Gone.IsZero() && leftKey(l.Node, l.UID, l.VNIs) == key
	})
	if i < 0 {
		l := Left{Node: b.node, Services: h.services, VNIs: h.vnis, UID: b.uid, Since: h.alone}
		l.Job, l.Jobs = named(h.runs)
		if l.Sure = Unclear; l.Jobs > 0 {
			l.Sure = Likely
		}
		a.left = append(bounded(a, a.left), l)
		i = len(a.left) - 1
	}
	a.left[i].Last = a.now
}

func leftKey(node string, uid uint32, vnis []core.VNI) string {
	return fmt.Sprint(node, " ", uid, " ", core.FormatVNIs(vnis))
}
