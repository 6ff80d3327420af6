package rpc

import (
	"github.com/weft-hpc/weft/core"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
	nicv1 "github.com/weft-hpc/weft/rpc/proto/weft/nic/v1"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

func encodeLimits(l core.Limits) *corev1.Limits {
	if l == (core.Limits{}) {
		return nil
	}
	one := func(r core.Resource) *corev1.Limit {
		if l[r] == (core.Limit{}) {
			return nil
		}
		return &corev1.Limit{Max: uint32(l[r].Max), Reserved: uint32(l[r].Reserved)}
	}
	return &corev1.Limits{
		Ptes: one(core.PTE), Txqs: one(core.TXQ), Tgqs: one(core.TGQ), Eqs: one(core.EQ),
		Cts: one(core.CT), Les: one(core.LE), Tles: one(core.TLE), Acs: one(core.AC),
	}
}

// limits as a NIC has them.
func (d *decoder) limits(p *corev1.Limits) core.Limits {
	var l core.Limits
	for r, v := range [core.NumResources]*corev1.Limit{
		core.PTE: p.GetPtes(), core.TXQ: p.GetTxqs(), core.TGQ: p.GetTgqs(), core.EQ: p.GetEqs(),
		core.CT: p.GetCts(), core.LE: p.GetLes(), core.TLE: p.GetTles(), core.AC: p.GetAcs(),
	} {
		what := core.Resource(r).String()
		l[r] = core.Limit{Max: d.u16(what, v.GetMax()), Reserved: d.u16(what, v.GetReserved())}
	}
	return l
}

// wanted are limits that somebody is to make: reserved is at most max.
func (d *decoder) wanted(p *corev1.Limits) core.Limits {
	l := d.limits(p)
	for r, v := range l {
		if v.Reserved > v.Max {
			d.fail("%s: %d are reserved and max is %d", core.Resource(r), v.Reserved, v.Max)
		}
	}
	return l
}

func encodeCounts(c [core.NumResources]uint16) *corev1.Counts {
	if c == ([core.NumResources]uint16{}) {
		return nil
	}
	return &corev1.Counts{
		Ptes: uint32(c[core.PTE]), Txqs: uint32(c[core.TXQ]), Tgqs: uint32(c[core.TGQ]), Eqs: uint32(c[core.EQ]),
		Cts: uint32(c[core.CT]), Les: uint32(c[core.LE]), Tles: uint32(c[core.TLE]), Acs: uint32(c[core.AC]),
	}
}

func (d *decoder) counts(p *corev1.Counts) [core.NumResources]uint16 {
	var c [core.NumResources]uint16
	for r, v := range [core.NumResources]uint32{
		core.PTE: p.GetPtes(), core.TXQ: p.GetTxqs(), core.TGQ: p.GetTgqs(), core.EQ: p.GetEqs(),
		core.CT: p.GetCts(), core.LE: p.GetLes(), core.TLE: p.GetTles(), core.AC: p.GetAcs(),
	} {
		c[r] = d.u16(core.Resource(r).String(), v)
	}
	return c
}

func encodeCapacity(c core.Capacity) *nicv1.Capacity {
	one := func(r core.Resource) *nicv1.Supply {
		s := c[r]
		if s == (core.Supply{}) {
			return nil
		}
		return &nicv1.Supply{
			Total: uint32(s.Total), Free: uint32(s.Free), Least: uint32(s.Least), MaxIsReserved: s.MaxIsReserved,
			Pooled: s.Pooled, PooledByMax: s.PooledByMax, PoolsLeft: uint32(s.PoolsLeft),
		}
	}
	return &nicv1.Capacity{
		Ptes: one(core.PTE), Txqs: one(core.TXQ), Tgqs: one(core.TGQ), Eqs: one(core.EQ),
		Cts: one(core.CT), Les: one(core.LE), Tles: one(core.TLE), Acs: one(core.AC),
	}
}

func (d *decoder) capacity(p *nicv1.Capacity) core.Capacity {
	var c core.Capacity
	for r, v := range [core.NumResources]*nicv1.Supply{
		core.PTE: p.GetPtes(), core.TXQ: p.GetTxqs(), core.TGQ: p.GetTgqs(), core.EQ: p.GetEqs(),
		core.CT: p.GetCts(), core.LE: p.GetLes(), core.TLE: p.GetTles(), core.AC: p.GetAcs(),
	} {
		what := core.Resource(r).String()
		c[r] = core.Supply{
			Total: d.u16(what, v.GetTotal()), Free: d.u16(what, v.GetFree()), Least: d.u16(what, v.GetLeast()), MaxIsReserved: v.GetMaxIsReserved(),
			Pooled: v.GetPooled(), PooledByMax: v.GetPooledByMax(), PoolsLeft: d.u16(what, v.GetPoolsLeft()),
		}
	}
	return c
}

func encodeLimitRequests(l [core.NumResources]core.LimitRequest) *schedulerv1.LimitRequests {
	number := func(v *uint16) *uint32 {
		if v == nil {
			return nil
		}
		n := uint32(*v)
		return &n
	}
	one := func(r core.Resource) *schedulerv1.LimitRequest {
		if l[r] == (core.LimitRequest{}) {
			return nil
		}
		return &schedulerv1.LimitRequest{PerCore: number(l[r].PerCore), Reserved: number(l[r].Reserved), Max: number(l[r].Max)}
	}
	return &schedulerv1.LimitRequests{
		Ptes: one(core.PTE), Txqs: one(core.TXQ), Tgqs: one(core.TGQ), Eqs: one(core.EQ),
		Cts: one(core.CT), Les: one(core.LE), Tles: one(core.TLE), Acs: one(core.AC),
	}
}

func (d *decoder) limitRequests(p *schedulerv1.LimitRequests) [core.NumResources]core.LimitRequest {
	var l [core.NumResources]core.LimitRequest
	for r, v := range [core.NumResources]*schedulerv1.LimitRequest{
		core.PTE: p.GetPtes(), core.TXQ: p.GetTxqs(), core.TGQ: p.GetTgqs(), core.EQ: p.GetEqs(),
		core.CT: p.GetCts(), core.LE: p.GetLes(), core.TLE: p.GetTles(), core.AC: p.GetAcs(),
	} {
		if v == nil {
			continue
		}
		number := func(n *uint32) *uint16 {
			if n == nil {
				return nil
			}
			u := d.u16(core.Resource(r).String(), *n)
			return &u
		}
		l[r] = core.LimitRequest{PerCore: number(v.PerCore), Reserved: number(v.Reserved), Max: number(v.Max)}
	}
	return l
}
