package kernel_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

const (
	ok       = kernel.OK
	perm     = kernel.EPERM
	noent    = kernel.ENOENT
	busy     = kernel.EBUSY
	exists   = kernel.EEXIST
	invalid  = kernel.EINVAL
	nospace  = kernel.ENOSPC
	badr     = kernel.EBADR
	revoked  = kernel.EKEYREVOKED
	ethernet = 2 // the id of the ethernet service
)

var releases = []*kernel.Behaviour{&kernel.R120, &kernel.R130, &kernel.R131, &kernel.R1400, &kernel.R1401}

// every is a rule that all releases share.
func every(err kernel.Errno) [5]kernel.Errno { return [5]kernel.Errno{err, err, err, err, err} }

func unrestricted(d *kernel.Desc) { d.RestrictedVNIs = false }
func anybody(d *kernel.Desc)      { d.RestrictedMembers = false }

// made is alloc that must work: rules begin with it.
func made(n *kernel.NIC, change ...func(*kernel.Desc)) uint32 {
	id, _, err := n.Alloc(kernel.Root, desc(change...))
	if err != kernel.OK {
		panic("a rule's own service was refused: " + err.Error())
	}
	return id
}

func alloc(change ...func(*kernel.Desc)) func(*kernel.NIC) kernel.Errno {
	return func(n *kernel.NIC) kernel.Errno {
		_, _, err := n.Alloc(kernel.Root, desc(change...))
		return err
	}
}

// opened is an LNI of a service made of change, opened by c.
func opened(c kernel.Caller, change ...func(*kernel.Desc)) func(*kernel.NIC) kernel.Errno {
	return func(n *kernel.NIC) kernel.Errno {
		_, err := n.AllocLNI(c, made(n, change...))
		return err
	}
}

// withLNI makes a service whose owner has it open.
func withLNI(n *kernel.NIC, change ...func(*kernel.Desc)) (service, lni uint32) {
	id := made(n, change...)
	lni, err := n.AllocLNI(owner, id)
	if err != kernel.OK {
		panic("a rule's own LNI was refused: " + err.Error())
	}
	return id, lni
}

var (
	owner    = kernel.Caller{EUID: 1000, EGID: 1000}
	stranger = kernel.Caller{EUID: 1001, EGID: 1001}
	nobody   = kernel.Member{ID: core.NoUID, Type: kernel.UID}
	second   = kernel.Member{ID: 0, Type: kernel.UID} // what closes 13.0's hole
	uid1000  = kernel.Member{ID: 1000, Type: kernel.UID}
	gid50    = kernel.Member{ID: 50, Type: kernel.GID}
	netnsM   = kernel.Member{Type: kernel.NetNS}
)

// TestReleases has a row for each rule of the driver, with what each release answers: 12.0, 13.0, 13.1, 14.0.0, 14.0.1.
func TestReleases(t *testing.T) {
	for _, c := range []struct {
		rule string
		do   func(*kernel.NIC) kernel.Errno
		want [5]kernel.Errno
	}{
		// alloc, in the order of its checks
		{"alloc: without CAP_SYS_ADMIN, or on a virtual function", func(n *kernel.NIC) kernel.Errno { _, _, err := n.Alloc(owner, desc()); return err }, every(perm)},
		{"alloc: five VNIs", alloc(func(d *kernel.Desc) { d.NumVNIs = 5 }), every(invalid)},
		{"alloc: VNI 0", alloc(vnis(0)), every(invalid)},
		{"alloc: restricted_vnis without a VNI", alloc(vnis()), [5]kernel.Errno{invalid, invalid, ok, ok, ok}},
		{"alloc: num_vld_vnis is ignored without restricted_vnis", alloc(unrestricted, func(d *kernel.Desc) { d.NumVNIs = 9 }), every(ok)},
		{"alloc: member type 4", alloc(members(kernel.Member{Type: 4})), every(invalid)},
		{"alloc: a NET_NS member", alloc(members(netnsM)), [5]kernel.Errno{invalid, invalid, invalid, ok, ok}},
		{"alloc: two NET_NS members", alloc(members(netnsM, netnsM)), [5]kernel.Errno{invalid, invalid, invalid, exists, exists}},
		{"alloc: member types are ignored without restricted_members", alloc(anybody, members(kernel.Member{Type: 4})), every(ok)},
		{"alloc: max below reserved", alloc(limit(core.CT, 1, 2)), every(invalid)},
		{"alloc: max above the device", alloc(limit(core.TXQ, 1025, 0)), every(invalid)},
		{"alloc: limits are ignored without resource_limits", alloc(func(d *kernel.Desc) { d.ResourceLimits = false }, limit(core.TXQ, 1025, 2000)), every(ok)},
		{"alloc: uid 4294967295", alloc(members(nobody)), [5]kernel.Errno{ok, badr, badr, badr, badr}},
		{"alloc: a member twice", alloc(members(uid1000, uid1000)), [5]kernel.Errno{ok, ok, exists, exists, exists}},
		{"alloc: uid and gid of one number are two members", alloc(members(kernel.Member{ID: 50, Type: kernel.UID}, gid50)), every(ok)},
		{"alloc: a VNI that another service has", func(n *kernel.NIC) kernel.Errno { made(n, vnis(7)); return alloc(vnis(8, 7))(n) }, [5]kernel.Errno{ok, exists, exists, exists, ok}},
		{"alloc: VNI 1, the default service's", alloc(vnis(1)), [5]kernel.Errno{ok, exists, exists, exists, ok}},
		{"alloc: VNI 10, the default service's", alloc(vnis(10)), [5]kernel.Errno{ok, exists, exists, exists, ok}},
		{"alloc: a leaked service's VNI is free again once it is destroyed", func(n *kernel.NIC) kernel.Errno { n.Destroy(kernel.Root, made(n)); return alloc()(n) }, every(ok)},
		{"alloc: reserved above what is unreserved", alloc(limit(core.TXQ, 1024, 1024)), every(nospace)},
		{"alloc: a 4th service with TLEs beside the default one's", func(n *kernel.NIC) kernel.Errno {
			for v := range uint16(3) {
				made(n, vnis(100+v), limit(core.TLE, 8, 8))
			}
			return alloc(limit(core.TLE, 8, 8))(n)
		}, every(nospace)},
		{"alloc: a 15th service with LEs reserved beside the driver's own", func(n *kernel.NIC) kernel.Errno {
			for v := range uint16(14) {
				made(n, vnis(100+v), limit(core.TXQ, 0, 0), limit(core.LE, 8, 8))
			}
			return alloc(limit(core.LE, 8, 8))(n)
		}, every(nospace)},
		{"alloc: a 15th service with an LE max alone", func(n *kernel.NIC) kernel.Errno {
			for v := range uint16(14) {
				made(n, vnis(100+v), limit(core.TXQ, 0, 0), limit(core.LE, 8, 0))
			}
			return alloc(limit(core.LE, 8, 0))(n)
		}, [5]kernel.Errno{nospace, nospace, nospace, nospace, ok}},
		{"alloc: a member without a number and a VNI that another service has", func(n *kernel.NIC) kernel.Errno { made(n); return alloc(members(nobody))(n) }, [5]kernel.Errno{ok, exists, badr, badr, badr}},
		{"alloc: EEXIST of a VNI comes before ENOSPC", alloc(vnis(1), limit(core.TXQ, 1024, 1024)), [5]kernel.Errno{nospace, exists, exists, exists, nospace}},

		// what tells the releases and changes nothing (cxi_svc_get_exclusive_cp of 13.1.0, cxi_svc_set_netns of 14.0.0 in cass_svc.c)
		{"exclusive_cp: of the default service", func(n *kernel.NIC) kernel.Errno { _, err := n.ExclusiveCP(1); return err }, [5]kernel.Errno{invalid, invalid, ok, ok, ok}},
		{"exclusive_cp: of a service without VNIs", func(n *kernel.NIC) kernel.Errno {
			_, err := n.ExclusiveCP(made(n, unrestricted))
			return err
		}, [5]kernel.Errno{invalid, invalid, noent, noent, noent}},
		{"netns: of the default service", func(n *kernel.NIC) kernel.Errno { return n.SetNetNS(kernel.Root, 1, 1) }, [5]kernel.Errno{invalid, invalid, invalid, exists, exists}},

		// who may open an LNI
		{"open: the uid", opened(owner), every(ok)},
		{"open: another uid, the second member ignored", opened(stranger), [5]kernel.Errno{perm, ok, perm, perm, perm}},
		{"open: another uid, the second member uid 0", opened(stranger, members(uid1000, second)), every(perm)},
		{"open: root has no bypass", opened(kernel.Root, members(uid1000, gid50)), every(perm)},
		{"open: the effective gid", opened(kernel.Caller{EUID: 7, EGID: 50}, members(gid50, second)), every(ok)},
		{"open: a supplementary group", opened(kernel.Caller{EUID: 7, EGID: 7, Group: 50}, members(gid50, second)), [5]kernel.Errno{ok, perm, perm, perm, perm}},
		{"open: anybody without restricted_members", opened(stranger, anybody), every(ok)},
		{"open: an unknown service", func(n *kernel.NIC) kernel.Errno { _, err := n.AllocLNI(owner, 99); return err }, every(invalid)},
		{"open: the default service, which is disabled", func(n *kernel.NIC) kernel.Errno { _, err := n.AllocLNI(owner, 1); return err }, every(revoked)},
		{"open: a service without restricted_vnis just made", opened(owner, unrestricted), [5]kernel.Errno{ok, ok, revoked, revoked, revoked}},

		// destroy
		{"destroy: without privilege", func(n *kernel.NIC) kernel.Errno { return n.Destroy(owner, made(n)) }, every(perm)},
		{"destroy: the default service", func(n *kernel.NIC) kernel.Errno { return n.Destroy(kernel.Root, 1) }, every(invalid)},
		{"destroy: service 0", func(n *kernel.NIC) kernel.Errno { return n.Destroy(kernel.Root, 0) }, every(invalid)},
		{"destroy: an unknown service", func(n *kernel.NIC) kernel.Errno { return n.Destroy(kernel.Root, 99) }, every(invalid)},
		{"destroy: the ethernet service, which is in use", func(n *kernel.NIC) kernel.Errno { return n.Destroy(kernel.Root, ethernet) }, every(busy)},
		{"destroy: while an LNI is open", func(n *kernel.NIC) kernel.Errno { id, _ := withLNI(n); return n.Destroy(kernel.Root, id) }, every(busy)},
		{"destroy: once it is closed", func(n *kernel.NIC) kernel.Errno { id, l := withLNI(n); n.FreeLNI(l); return n.Destroy(kernel.Root, id) }, every(ok)},

		// settings
		{"enable: by command", func(n *kernel.NIC) kernel.Errno { return n.Enable(kernel.Root, made(n), false) }, [5]kernel.Errno{invalid, invalid, ok, ok, ok}},
		{"enable: in use", func(n *kernel.NIC) kernel.Errno { id, _ := withLNI(n); return n.Enable(kernel.Root, id, false) }, [5]kernel.Errno{invalid, invalid, busy, busy, busy}},
		{"lpr: 8", func(n *kernel.NIC) kernel.Errno { return n.SetLPR(kernel.Root, made(n), 8) }, every(ok)},
		{"lpr: 9", func(n *kernel.NIC) kernel.Errno { return n.SetLPR(kernel.Root, made(n), 9) }, every(invalid)},
		{"lpr: in use", func(n *kernel.NIC) kernel.Errno { id, _ := withLNI(n); return n.SetLPR(kernel.Root, id, 8) }, every(busy)},
		{"lpr: of an unknown service", func(n *kernel.NIC) kernel.Errno { _, err := n.LPR(99); return err }, every(invalid)},
		{"range: aligned, of a power of two", ranged(2048, 2055), [5]kernel.Errno{invalid, invalid, ok, ok, ok}},
		{"range: of VNI 0", ranged(0, 7), every(invalid)},
		{"range: above 65535", ranged(65536, 65543), every(invalid)},
		{"range: the wrong way round", ranged(2055, 2048), every(invalid)},
		{"range: of no power of two", ranged(2048, 2050), every(invalid)},
		{"range: not aligned", ranged(2044, 2051), every(invalid)},
		{"range: with restricted_vnis", func(n *kernel.NIC) kernel.Errno { return n.SetVNIRange(kernel.Root, made(n), 2048, 2055) }, every(invalid)},
		{"range: over the default service's VNI", ranged(8, 15), [5]kernel.Errno{invalid, invalid, exists, exists, exists}},
		{"range: a second one", func(n *kernel.NIC) kernel.Errno {
			id := made(n, unrestricted)
			_ = n.SetVNIRange(kernel.Root, id, 2048, 2055)
			return n.SetVNIRange(kernel.Root, id, 4096, 4103)
		}, [5]kernel.Errno{invalid, invalid, exists, exists, exists}},
		{"range: it does not enable", func(n *kernel.NIC) kernel.Errno {
			id := made(n, unrestricted)
			_ = n.SetVNIRange(kernel.Root, id, 2048, 2055)
			_, err := n.AllocLNI(owner, id)
			return err
		}, [5]kernel.Errno{ok, ok, revoked, revoked, revoked}},
		{"range: read back", func(n *kernel.NIC) kernel.Errno {
			id := made(n, unrestricted)
			_ = n.SetVNIRange(kernel.Root, id, 2048, 2055)
			from, to, err := n.VNIRange(id)
			if err == ok && (from != 2048 || to != 2055) {
				panic("another range")
			}
			return err
		}, [5]kernel.Errno{invalid, invalid, ok, ok, ok}},
		{"range: read of a service with exact VNIs", func(n *kernel.NIC) kernel.Errno { _, _, err := n.VNIRange(made(n)); return err }, every(invalid)},
		{"netns: disabled, both members ignored", inNetNS(false), [5]kernel.Errno{invalid, invalid, invalid, ok, ok}},
		{"netns: while enabled", inNetNS(true), [5]kernel.Errno{invalid, invalid, invalid, busy, busy}},
		{"netns: beside a uid", func(n *kernel.NIC) kernel.Errno { return n.SetNetNS(kernel.Root, made(n), 7) }, [5]kernel.Errno{invalid, invalid, invalid, exists, exists}},
		{"netns: without restricted_members", func(n *kernel.NIC) kernel.Errno { return n.SetNetNS(kernel.Root, made(n, anybody, members()), 7) }, [5]kernel.Errno{invalid, invalid, invalid, exists, exists}},
		{"netns: read where there is none", func(n *kernel.NIC) kernel.Errno { _, err := n.NetNS(made(n)); return err }, every(invalid)},
		{"netns: a process of it", func(n *kernel.NIC) kernel.Errno {
			id := made(n, members())
			_, _, _ = n.Enable(kernel.Root, id, false), n.SetNetNS(kernel.Root, id, 7), n.Enable(kernel.Root, id, true)
			_, err := n.AllocLNI(kernel.Caller{EUID: 7, NetNS: 7}, id)
			return err
		}, [5]kernel.Errno{perm, ok, perm, ok, ok}}, // 13.0: an open entry for each ignored member
		{"netns: a process of another", func(n *kernel.NIC) kernel.Errno {
			id := made(n, members())
			_, _, _ = n.Enable(kernel.Root, id, false), n.SetNetNS(kernel.Root, id, 7), n.Enable(kernel.Root, id, true)
			_, err := n.AllocLNI(kernel.Caller{EUID: 7, NetNS: 8}, id)
			return err
		}, [5]kernel.Errno{perm, ok, perm, perm, perm}},
		{"netns: a NET_NS member of alloc admits nobody", func(n *kernel.NIC) kernel.Errno {
			if !n.Behaviour().OpenDisabled || n.Behaviour() == &kernel.R131 {
				return alloc(members(netnsM))(n)
			}
			return opened(kernel.Caller{EUID: 7, NetNS: 7}, members(netnsM))(n)
		}, [5]kernel.Errno{invalid, invalid, invalid, perm, perm}},
	} {
		for i, b := range releases {
			t.Run(c.rule+"/"+b.Release, func(t *testing.T) {
				n := kernel.New(b)
				if got := c.do(&n); got != c.want[i] {
					t.Errorf("%v, want %v", got, c.want[i])
				}
			})
		}
	}
}

func ranged(from, to uint32) func(*kernel.NIC) kernel.Errno {
	return func(n *kernel.NIC) kernel.Errno { return n.SetVNIRange(kernel.Root, made(n, unrestricted), from, to) }
}

func inNetNS(enabled bool) func(*kernel.NIC) kernel.Errno {
	return func(n *kernel.NIC) kernel.Errno {
		id := made(n, members())
		if !enabled {
			_ = n.Enable(kernel.Root, id, false)
		}
		return n.SetNetNS(kernel.Root, id, 7)
	}
}

// TestReleaseFacts: what is no error number.
func TestReleaseFacts(t *testing.T) {
	type fact struct {
		LEPoolsLeft, TLEPoolsLeft uint16
		LEByMax                   bool
		Flags                     bool // pools are named in fail_info
		OpenEnabled               bool // without restricted_vnis
	}
	want := []fact{{14, 3, true, false, true}, {14, 3, true, false, true}, {14, 3, true, true, false}, {14, 3, true, true, false}, {14, 3, false, true, false}}
	for i, b := range releases {
		n := kernel.New(b)
		c := n.Capacity()
		got := fact{LEPoolsLeft: c[core.LE].PoolsLeft, TLEPoolsLeft: c[core.TLE].PoolsLeft, LEByMax: c[core.LE].PooledByMax}
		open, _ := n.Get(made(&n, unrestricted))
		got.OpenEnabled = open.Enable
		for v := range uint16(3) {
			made(&n, vnis(100+v), limit(core.TLE, 8, 8))
		}
		_, fail, _ := n.Alloc(kernel.Root, desc(limit(core.TLE, 8, 8)))
		got.Flags = fail.NoTLEPools
		if d := cmp.Diff(want[i], got); d != "" {
			t.Errorf("SHS %s: %s", b.Release, d)
		}
		if kernel.Named(b.Release) != b {
			t.Errorf("SHS %s: it is not found by its name", b.Release)
		}
	}
	if kernel.Named("2.1") != nil {
		t.Error("SHS 2.1: nobody knows its rules")
	}
}

// TestIgnoredResourceLimits: without resource_limits a service has everything, and takes pools all the same.
func TestIgnoredResourceLimits(t *testing.T) {
	for _, b := range releases {
		n := kernel.New(b)
		before := n.Capacity()
		made(&n, func(d *kernel.Desc) { d.ResourceLimits = false })
		after := n.Capacity()
		if after[core.TLE].PoolsLeft != before[core.TLE].PoolsLeft-1 || after[core.TLE].Free != before[core.TLE].Free-8 {
			t.Errorf("SHS %s: it takes a TLE pool with 8: %+v", b.Release, after[core.TLE])
		}
		if took := before[core.LE].PoolsLeft - after[core.LE].PoolsLeft; (took == 1) != b.LEPoolByMax {
			t.Errorf("SHS %s: it took %d LE pools", b.Release, took)
		}
	}
}
