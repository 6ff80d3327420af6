package history

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

func entryVNIs(r node.Record) []core.VNI {
	if e, ok := r.(node.Entry); ok {
		return e.Grant.VNIs
	}
	return nil
}

// recorded judges what a node's agent is about to commit.
func (l *law) recorded(b *box, records []node.Record) {
	for _, rec := range records {
		switch rec := rec.(type) {
		case node.Entry:
			if rec.State == node.Clean {
				l.nodeClean(b, rec)
				b.ended[rec.Grant.Run] = true
			}
			if old, _ := b.entry(rec.Grant.Run); rec.State == node.Ready && old.State != node.Ready {
				l.alone(b, rec.Grant)
			}
		case node.Tombstone:
			b.ended[rec.Run] = true
		case node.Delete:
			if e, ok := b.records[rec.Of].(node.Entry); ok && e.State != node.Asking {
				l.nodeClean(b, e)
			}
		}
	}
}

// alone: no job becomes ready by a reading that shows its VNI on a foreign service, whatever the mark of that one.
func (l *law) alone(b *box, g core.Grant) {
	for i := range b.reading {
		s := &b.reading[i]
		if own := b.nic(s.Device).find(s.ID); own == nil || !own.foreign || !own.service.Same(*s) || served(s.VNIs[0]) {
			continue
		}
		for _, v := range s.VNIs {
			if slices.Contains(g.VNIs, v) {
				l.w.fail("R5: %s: %v is ready, and service %s/%d of another has its VNI %d", b.name, g.Run, s.Device, s.ID, v)
			}
		}
	}
}

func (l *law) nodeClean(b *box, e node.Entry) {
	if len(e.Grant.VNIs) == 0 {
		return
	}
	if why := b.stands(e.Grant.Run); why != "" {
		l.w.fail("R5: %s takes %v for clean, and %s", b.name, e.Grant.Run, why)
	}
}

// replied judges the answer to a hook.
func (l *law) replied(b *box, h *hook, o core.Outcome) {
	if o.Err != nil {
		if h.Action == core.Prepare {
			l.failed(b, h, o.Err)
		}
		return
	}
	switch h.Action {
	case core.Prepare:
		l.prepared(b, h, o)
		l.drew(b, h, o)
	case core.CleanUp:
		l.cleaned(b, h, o)
	case core.Environment:
		l.told(b, h, o)
	case core.StepEnd, core.Running, core.Room:
	}
}

// failed: what a prepare that failed at a NIC has made is being removed by the time it is answered, or is gone.
func (l *law) failed(b *box, h *hook, err *core.Error) {
	switch err.Reason {
	case core.NICMissing, core.NICConflict, core.NICShort, core.BelowFloor:
	default:
		return
	}
	for _, r := range b.records {
		if e, ok := r.(node.Entry); ok && h.Key.Takes(e.Key) && e.Key.JobID == h.Key.JobID && e.UID == h.UID && e.State == node.Making {
			l.w.fail("R5: %s: the prepare of %v failed (%s), and nobody rolls back what it made", b.name, e.Grant.Run, err.What)
		}
	}
}

// prepared: all NICs or none, as the simulated kernel has them.
func (l *law) prepared(b *box, h *hook, o core.Outcome) {
	vnis, devices, ids := variables(o.Environment)
	if len(vnis) == 0 {
		return
	}
	for _, r := range b.records {
		e, ok := r.(node.Entry)
		if !ok || e.State != node.Ready || !h.Key.Takes(e.Key) || e.Key.JobID != h.Key.JobID || !fits(e.Grant, vnis) {
			continue
		}
		want := e.Grant.Inventory
		if len(want) > 0 && len(want) != len(devices) || len(ids) != len(devices) {
			l.w.fail("R5: %s: %v was prepared on %v, of the NICs %v", b.name, e.Grant.Run, devices, want)
		}
		if b.struck[e.Grant.Run] {
			return
		}
		for i, d := range devices {
			n := b.nic(d)
			want := core.Service{Device: d, ID: ids[i], Owner: core.UID(e.Grant.UID), VNIs: e.Grant.VNIs}
			own := n.find(ids[i])
			if own == nil || own.foreign || own.run != e.Grant.Run || !slices.ContainsFunc(sim.ServicesOn(&n.k, d), want.Same) {
				l.w.fail("R5: %s: %v was prepared, and its service %s/%d does not stand", b.name, e.Grant.Run, d, ids[i])
			}
			if got := own.service.Limits[core.TXQ].Reserved; got < leastTXQs {
				l.w.fail("R5: %s: %v was prepared on %s with %d txqs, below policy's floor", b.name, e.Grant.Run, d, got)
			}
			if want := e.Grant.Limits[core.TXQ].Reserved; e.Grant.Exact && own.service.Limits[core.TXQ].Reserved < want {
				l.w.fail("R5: %s: %v takes no less than %d txqs, and was prepared on %s with less", b.name, e.Grant.Run, want, d)
			}
			l.shared(b, n)
		}
		return
	}
	l.w.fail("R3: %s: %v was prepared with VNIs %s, and no record says so", b.name, h.Key, vnis)
}

// shared: jobs that have cores of their own cannot take from each other what is reserved. Services of others may.
func (l *law) shared(b *box, n *nic) {
	foreign := func(o *owned) bool { return o.foreign }
	if len(n.owned) > fewJobs || slices.ContainsFunc(n.owned, foreign) {
		return
	}
	for r, total := range kernel.Total {
		all := 0
		for _, o := range n.owned {
			all += int(o.service.Limits[r].Max)
		}
		if res := core.Resource(r); res != core.LE && all > int(total) {
			l.w.fail("R5: %s: the %d jobs on %s may have %d %v of %d", b.name, len(n.owned), n.name, all, res, total)
		}
	}
}

// cleaned: what the node held of the job is gone, whatever count the hook showed.
func (l *law) cleaned(b *box, h *hook, o core.Outcome) {
	if o.Pending || h.began < b.newest[h.Key.JobID] {
		return
	}
	for i := range b.nics {
		for _, own := range b.nics[i].owned {
			if !own.foreign && own.run.JobID == h.Key.JobID {
				l.w.fail("R4: %s: the clean-up of %v is done, and %s/%d of %v stands", b.name, h.Key, own.service.Device, own.id, own.run)
			}
		}
	}
	for _, r := range b.records {
		if e, ok := r.(node.Entry); ok && e.Key.JobID == h.Key.JobID && e.State != node.Clean && len(e.Specs) > 0 {
			l.w.fail("R4: %s: the clean-up of %v is done, and the node has %v as %v", b.name, h.Key, e.Grant.Run, e.State)
		}
	}
}

// told: an environment goes to its owner only, and shows services that stand.
func (l *law) told(b *box, h *hook, o core.Outcome) {
	vnis, devices, ids := variables(o.Environment)
	for i, d := range devices {
		own := b.nic(d).find(ids[i])
		if own == nil && b.probes != h.probes { // a NIC restarted while the task waited
			continue
		}
		if own == nil || own.foreign || own.run.JobID != h.Key.JobID || own.run.UID != h.caller && h.caller != 0 {
			l.w.fail("R5: %s: uid %d is told VNIs %s of %v, and %s/%d is %+v", b.name, h.caller, vnis, h.Key, d, ids[i], own)
		}
	}
}

func variables(env []core.Variable) (vnis string, devices []string, ids []uint32) {
	for _, v := range env {
		switch {
		case v.Unset:
		case v.Name == "SLINGSHOT_VNIS":
			vnis = v.Value
		case v.Name == "SLINGSHOT_DEVICES":
			devices = strings.Split(v.Value, ",")
		case v.Name == "SLINGSHOT_SVC_IDS":
			for _, s := range strings.Split(v.Value, ",") {
				n, _ := strconv.Atoi(s)
				ids = append(ids, uint32(n))
			}
		}
	}
	return vnis, devices, ids
}
