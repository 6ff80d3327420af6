package kerneltest

import (
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// Change is a difference from the plain Desc.
type Change = func(*kernel.Desc)

// Desc is a service like a job's: one uid, restricted, small limits, no LE or TLE reserved.
func Desc(changes ...Change) *kernel.Desc {
	d := &kernel.Desc{
		RestrictedMembers: true, RestrictedVNIs: true, RestrictedTCs: true, ResourceLimits: true,
		NumVNIs: 1, VNIs: [4]uint16{4034}, TCs: [5]bool{false, true, false, true},
		Members: [2]kernel.Member{UID(1000)},
	}
	d.Limits[core.TXQ] = core.Limit{Max: 16, Reserved: 8}
	for _, f := range changes {
		f(d)
	}
	return d
}

// Limit is another limit of a resource.
func Limit(r core.Resource, most, reserved uint16) Change {
	return func(d *kernel.Desc) { d.Limits[r] = core.Limit{Max: most, Reserved: reserved} }
}

// Members are other members, up to two. The rest is ignored.
func Members(m ...kernel.Member) Change {
	return func(d *kernel.Desc) { d.Members = [2]kernel.Member{}; copy(d.Members[:], m) }
}

// VNIs are other VNIs, up to four.
func VNIs(v ...uint16) Change {
	return func(d *kernel.Desc) { d.VNIs = [4]uint16{}; d.NumVNIs = uint8(copy(d.VNIs[:], v)) }
}

// Open leaves out restricted_vnis.
func Open(d *kernel.Desc) { d.RestrictedVNIs = false }

// Everybody leaves out restricted_members.
func Everybody(d *kernel.Desc) { d.RestrictedMembers = false }

// NoLimits leaves out resource_limits.
func NoLimits(d *kernel.Desc) { d.ResourceLimits = false }

// UID is a member.
func UID(id uint32) kernel.Member { return kernel.Member{ID: id, Type: kernel.UID} }

// GID is a member.
func GID(id uint32) kernel.Member { return kernel.Member{ID: id, Type: kernel.GID} }

var (
	owner    = kernel.Caller{EUID: 1000, EGID: 1000}
	stranger = kernel.Caller{EUID: 1001, EGID: 1001}
	nobody   = UID(core.NoUID)
	netNS    = kernel.Member{Type: kernel.NetNS}
)

// Made is a service that the NIC must not refuse.
func Made(t testing.TB, n NIC, changes ...Change) uint32 {
	t.Helper()
	id, fail, err := n.Alloc(kernel.Root, Desc(changes...))
	if err != kernel.OK {
		t.Fatalf("alloc: %v %+v", err, fail)
	}
	return id
}

// opened is an LNI that the owner opens of a service just made.
func opened(t testing.TB, n NIC, changes ...Change) (service, lni uint32) {
	t.Helper()
	service = Made(t, n, changes...)
	lni, err := n.AllocLNI(owner, service)
	if err != kernel.OK {
		t.Fatalf("open: %v", err)
	}
	return service, lni
}

func alloc(changes ...Change) func(testing.TB, NIC) string {
	return func(_ testing.TB, n NIC) string {
		_, _, err := n.Alloc(kernel.Root, Desc(changes...))
		return err.Error()
	}
}

// next is an alloc on a NIC that has other services.
func next(changes []Change, count int, before ...Change) func(testing.TB, NIC) string {
	return func(t testing.TB, n NIC) string {
		for i := range count {
			Made(t, n, append([]Change{VNIs(uint16(100 + i))}, before...)...)
		}
		return alloc(changes...)(t, n)
	}
}

// open opens an LNI of a service just made.
func open(c kernel.Caller, changes ...Change) func(testing.TB, NIC) string {
	return func(t testing.TB, n NIC) string {
		_, err := n.AllocLNI(c, Made(t, n, changes...))
		return err.Error()
	}
}
