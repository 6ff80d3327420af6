package cxi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// foreign makes a service of another manager, which does not restrict its VNIs.
func foreign(t *testing.T, n *shim.Node, change func(*kernel.Desc)) (id uint32) {
	t.Helper()
	d := kernel.Desc{
		ResourceLimits: true, RestrictedMembers: true, NumVNIs: 2, VNIs: [kernel.MaxVNIs]uint16{4034, 4035},
		Members: [kernel.MaxMembers]kernel.Member{{ID: 1001, Type: kernel.UID}, {ID: 0, Type: kernel.UID}},
	}
	if change != nil {
		change(&d)
	}
	n.Do(0, func(k *kernel.NIC) {
		var err kernel.Errno
		if id, _, err = k.Alloc(kernel.Root, &d); err != kernel.OK {
			t.Fatal(err)
		}
	})
	return id
}

// TestEveryVNI: on 12.0 a service without restricted_vnis opens every VNI to those that may open the service
// (valid_svc_vni and valid_svc_user in cass_svc.c of 12.0.0). The driver's own services are so on 12.0 and 13.0.
func TestEveryVNI(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*kernel.Desc)
		says   string // empty: the doctor finds no fault
	}{
		"open to a user":  {nil, "lets uid 1001 and uid 0 use every VNI"},
		"open to a group": {func(d *kernel.Desc) { d.Members[0].Type = kernel.GID }, "lets gid 1001 and uid 0 use every VNI"},
		"open to all":     {func(d *kernel.Desc) { d.RestrictedMembers = false }, "lets every user use every VNI"},
		"without members": {func(d *kernel.Desc) { d.Members = [kernel.MaxMembers]kernel.Member{} }, ""},
		"restricted":      {func(d *kernel.Desc) { d.RestrictedVNIs = true }, ""},
		"the system's":    {func(d *kernel.Desc) { d.System = true }, ""},
	} {
		for _, b := range []*kernel.Behaviour{&kernel.R120, &kernel.R130} {
			d, n := on(t, b, 1, shim.LibraryOf(b))
			foreign(t, n, c.change)
			found, err := d.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := c.says
			if b != &kernel.R120 {
				want = ""
			}
			said := ""
			for _, f := range found {
				if f.Severity == core.Critical {
					said = f.What
				}
			}
			if said == "" && want == "" {
				continue
			}
			if want == "" || !strings.Contains(said, want) || !strings.Contains(said, "voids isolation") {
				t.Errorf("SHS %s, %s: the doctor says %q, want %q", b.Release, name, said, want)
			}
		}
	}
}

// TestNamedVNIs: on 13.0 a service without restricted_vnis holds the VNIs that it names (alloc_rxtx_profiles in
// cass_svc.c of 13.0.0). The driver shows them, says who has them, and removes the service as it shows it.
func TestNamedVNIs(t *testing.T) {
	for _, b := range kernel.Behaviours() {
		d, n := on(t, b, 1, shim.LibraryOf(b))
		id := foreign(t, n, nil)
		all, err := d.Services(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		theirs := all[slices.IndexFunc(all, func(s core.Service) bool { return s.ID == id })]
		var want []core.VNI
		if b == &kernel.R130 {
			want = []core.VNI{4034, 4035}
		}
		if diff := cmp.Diff(want, theirs.VNIs); diff != "" {
			t.Errorf("SHS %s: the VNIs of the service: %s", b.Release, diff)
		}
		_, err = create(t, d, spec("cxi0", 1000, 4035))
		const taken = "service 4 of uid 1001 has VNI 4035 already"
		if (b == &kernel.R130) != (err != nil && strings.Contains(err.Error(), taken)) {
			t.Errorf("SHS %s: create: %v, want %q on 13.0 alone", b.Release, err, taken)
		}
		if err := destroy(t, d, theirs); err != nil {
			t.Errorf("SHS %s: destroy: %v", b.Release, err)
		}
		must(t, d, spec("cxi0", 1000, 4035))
	}
}

// TestIgnoredMember: on 13.0 a service with an ignored member is open to all (svc_mbr_to_ac_type in cass_svc.c of
// 13.0.0), and is shown so. The driver's own services stay their owner's: one of them is made so.
func TestIgnoredMember(t *testing.T) {
	user, none := kernel.Member{ID: 1001, Type: kernel.UID}, kernel.Member{}
	for name, c := range map[string]struct {
		members [kernel.MaxMembers]kernel.Member
		system  bool
		open    bool // on 13.0
	}{
		"the second":   {[kernel.MaxMembers]kernel.Member{user, none}, false, true},
		"the first":    {[kernel.MaxMembers]kernel.Member{none, user}, false, true},
		"with an id":   {[kernel.MaxMembers]kernel.Member{user, {ID: 5}}, false, true},
		"none":         {[kernel.MaxMembers]kernel.Member{user, {Type: kernel.UID}}, false, false},
		"the system's": {[kernel.MaxMembers]kernel.Member{user, none}, true, false},
	} {
		for _, b := range kernel.Behaviours() {
			p := newPair(t, b, 1)
			d := kernel.Desc{
				RestrictedMembers: true, RestrictedVNIs: true, NumVNIs: 1, VNIs: [kernel.MaxVNIs]uint16{4034},
				Members: c.members, System: c.system,
			}
			p.both(0, func(k *kernel.NIC) {
				if _, _, err := k.Alloc(kernel.Root, &d); err != kernel.OK {
					t.Fatal(err)
				}
			})
			p.same(t)
			all, err := p.real.Services(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := core.UID(1001)
			if c.open && b == &kernel.R130 {
				want = core.Owner{}
			}
			theirs := all[slices.IndexFunc(all, func(s core.Service) bool { return slices.Equal(s.VNIs, []core.VNI{4034}) })]
			if theirs.Owner != want {
				t.Errorf("SHS %s, ignored: %s: the owner is %s, want %s", b.Release, name, theirs.Owner, want)
			}
			if err := destroy(t, p.real, theirs); !c.system && err != nil {
				t.Errorf("SHS %s, ignored: %s: destroy: %v", b.Release, name, err)
			}
		}
	}
}
