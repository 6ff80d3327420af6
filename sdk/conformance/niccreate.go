package conformance

import (
	"slices"

	"github.com/weft-hpc/weft/core"
)

// noNIC is a name that no NIC has.
const noNIC = "weft-none"

var nicCreateCases = []Case{
	{"a service equal to its spec is returned, not made again", "D2", OfNIC, func(t *T) {
		spec := t.spec(t.nics(1)[0], 0)
		first, again := t.made(spec), t.made(spec)
		if !first.Same(again) {
			t.Errorf("first %s/%d, then %s/%d", first.Device, first.ID, again.Device, again.ID)
		}
		if own := t.ourOwn(t.services()); len(own) != 1 {
			t.Errorf("the NIC holds %d services of one spec", len(own))
		}
	}},
	{"two equal specs in one call make one service", "D2", OfNIC, func(t *T) {
		spec := t.spec(t.nics(1)[0], 0)
		out := t.create(spec, spec)
		for _, c := range out {
			if c.Err != nil {
				t.Fatalf("Create: %v", c.Err)
			}
		}
		if own := t.ourOwn(t.services()); !out[0].Service.Same(out[1].Service) || len(own) != 1 {
			t.Errorf("%d and %d were made, and the NIC holds %d", out[0].Service.ID, out[1].Service.ID, len(own))
		}
	}},
	{"a service with another class, owner or limit is not taken for equal", "D2", OfNIC, func(t *T) {
		d, spec := t.one()
		t.made(spec)
		class, owner, limit := spec, spec, spec
		class.Classes, owner.Owner = core.LowLatency, core.UID(stranger)
		limit.Limits[core.TXQ].Max--
		for what, other := range map[string]core.ServiceSpec{"class": class, "owner": owner, "limit": limit} {
			c := t.create(other)[0]
			if c.Err != nil { // a NIC of SHS 13.0 to 14.0.0 has a VNI in one service only
				t.code("another "+what, c.Err, core.Conflict, core.Exhausted)
				continue
			}
			t.matches("another "+what, other, c.Service, d)
		}
	}},
	{"what is returned is what the NIC holds", "D3", OfNIC, func(t *T) {
		d, spec := t.one()
		if has := d.Capacity[core.TLE]; has.MaxIsReserved && has.PoolsLeft > 1 && has.Free >= 2*has.Least {
			spec.Limits[core.TLE] = core.Limit{Max: has.Least + 1, Reserved: 1} // the NIC makes another limit of it
		}
		s := t.made(spec)
		held, ok := on(t.services(), s)
		if !ok {
			t.Fatalf("Services does not have %s/%d, which Create returned", s.Device, s.ID)
		}
		if !held.Same(s) || held.Classes != s.Classes || held.Limits != s.Limits || held.Enabled != s.Enabled {
			t.Errorf("Create returned %+v, and the NIC holds %+v", s, held)
		}
	}},
	{"a service admits its owner, its VNIs and its classes alone, and its limits apply", "D4", OfNIC, func(t *T) {
		d := t.nics(1)[0]
		all := t.vnis(4)
		spec := t.spec(d, 0)
		spec.VNIs = slices.Clone(all[:4])
		slices.Reverse(spec.VNIs) // their order is an ABI
		s := t.made(spec)
		t.matches("returned", spec, s, d)
		if held, ok := on(t.services(), s); ok {
			t.matches("on the NIC", spec, held, d)
		}
	}},
	{"each class can be given alone", "D4", OfNIC, func(t *T) {
		d := t.nics(1)[0]
		for c := core.DedicatedAccess; c <= core.BestEffort; c <<= 1 {
			spec := t.spec(d, 0)
			spec.Classes = c
			s := t.made(spec)
			if s.Classes != c {
				t.Errorf("asked for %s, got %s", c, s.Classes)
			}
			t.must(t.destroy(s)[0], "Destroy")
		}
	}},
	{"a group can own a service", "D4", OfNIC, func(t *T) {
		d, spec := t.one()
		spec.Owner = core.Owner{Kind: core.OwnerGID, ID: someone}
		c := t.create(spec)[0]
		if c.Err != nil {
			t.unsupported("a service of a group", c.Err)
			t.Fatalf("Create: %v", c.Err)
		}
		if held, ok := on(t.services(), c.Service); ok {
			t.matches("on the NIC", spec, held, d)
		} else {
			t.Errorf("Services does not have it")
		}
	}},
	{"a service without an owner, or with VNIs that no service can have, is refused", "D10", OfNIC, func(t *T) {
		_, spec := t.one()
		nobody, none, zero, missing := spec, spec, spec, spec
		nobody.Owner = core.Owner{}
		none.VNIs = nil
		zero.VNIs = []core.VNI{spec.VNIs[0], 0}
		missing.Device = noNIC
		specs := map[string]core.ServiceSpec{"no owner": nobody, "no VNI": none, "VNI 0": zero, "a NIC that is not there": missing}
		if len(t.Site.VNIs) > core.MaxVNIs {
			many := spec
			many.VNIs = t.Site.VNIs[:core.MaxVNIs+1]
			specs["five VNIs"] = many
		}
		for what, bad := range specs {
			err := t.refused(bad)
			if what == "a NIC that is not there" {
				t.code(what, err, core.Unavailable, core.NotFound, core.Invalid)
				continue
			}
			t.code(what, err, core.Invalid)
		}
		if own := t.ourOwn(t.services()); len(own) != 0 {
			t.Errorf("the NIC holds %+v", own[0])
		}
	}},
	{"a limit above what the device has is refused as invalid", "D10", OfNIC, func(t *T) {
		d, spec := t.one()
		total := d.Capacity[core.TXQ].Total
		if total == 0 || total == 1<<16-1 {
			t.Skipf("its NICs tell no total that could be exceeded")
		}
		spec.Limits[core.TXQ] = core.Limit{Max: total + 1}
		t.code("max above the total", t.refused(spec), core.Invalid)
		spec.Limits[core.TXQ] = core.Limit{Max: 1, Reserved: 2}
		t.code("reserved above max", t.refused(spec), core.Invalid)
	}},
	{"too little is told as exhausted, with what was short", "D7", OfNIC, func(t *T) {
		d := t.nics(1)[0]
		total := d.Capacity[core.TXQ].Total
		if total == 0 {
			t.Skipf("its NICs tell no capacity that could run short")
		}
		spec := t.spec(d, 0)
		if d.Capacity[core.TXQ].Free == total { // nobody has any: take one, so that all of them cannot be had
			spec.Limits[core.TXQ].Reserved = max(spec.Limits[core.TXQ].Reserved, 1)
			t.made(spec)
			spec = t.spec(d, 1)
		}
		spec.Limits[core.TXQ] = core.Limit{Max: total, Reserved: total}
		err := t.create(spec)[0].Err
		t.code("all TXQs", err, core.Exhausted)
		if err == nil {
			return
		}
		short := core.AsError(err).Short
		i := slices.IndexFunc(short, func(s core.Shortage) bool { return s.Device == d.Name && s.Resource == core.TXQ })
		switch {
		case i < 0:
			t.Errorf("%v: Short is %+v and does not name txqs of %s", err, short, d.Name)
		case short[i].Want != total || short[i].Have >= total:
			t.Errorf("Short says %d wanted and %d there, want %d and fewer", short[i].Want, short[i].Have, total)
		case len(short) > 1:
			t.Errorf("Short names %+v, and txqs alone were short", short)
		}
	}},
	{"what was made before and after a failure is in the results, and stays", "D8", OfNIC, func(t *T) {
		d := t.nics(1)[0]
		t.vnis(2)
		first, bad, last := t.spec(d, 0), t.spec(d, 0), t.spec(d, 1)
		bad.Device = noNIC
		out := t.create(first, bad, last)
		all := t.services()
		for i, want := range map[int]core.ServiceSpec{0: first, 2: last} {
			if out[i].Err != nil {
				t.Errorf("result %d: %v, and only the second could fail", i+1, out[i].Err)
				continue
			}
			if held, ok := on(all, out[i].Service); !ok || !slices.Equal(held.VNIs, want.VNIs) {
				t.Errorf("result %d is %s/%d with VNIs %s, and the NIC holds %+v", i+1, out[i].Service.Device, out[i].Service.ID, core.FormatVNIs(want.VNIs), held)
			}
		}
		t.code("the second", out[1].Err, core.Unavailable, core.NotFound, core.Invalid)
		if own := t.ourOwn(all); len(own) != 2 {
			t.Errorf("the NIC holds %d services, and 2 were made", len(own))
		}
	}},
}

// refused is the error of a service that cannot be: of itself or, where it was seen before any was made, of the call.
func (t *T) refused(bad core.ServiceSpec) error {
	_, err := createOne(t.ctx, t.NIC, bad)
	return err
}
