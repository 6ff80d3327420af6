package cxi_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestAbsent: a node without library, NICs or the driver's user module gets one error that says what to do, from every call.
func TestAbsent(t *testing.T) {
	sys := t.TempDir()
	noLibrary := core.Values{"library": filepath.Join(sys, "libcxi.so.1"), "sysfs": sys}
	for name, c := range map[string]struct {
		values core.Values
		reason core.Reason
		what   string
		mend   string
	}{
		"no library":                {noLibrary, core.NICFailed, "libcxi.so.1: it cannot be loaded", "install the package cray-libcxi"},
		"no such name":              {core.Values{"library": "libweft-none.so.1", "sysfs": sys}, core.NICFailed, "libweft-none.so.1: it cannot be loaded", "install the package cray-libcxi"},
		"another library":           {core.Values{"library": "libc.so.6", "sysfs": sys}, core.NICFailed, "it has no cxil_open_device", "install the package cray-libcxi"},
		"a file that is no library": {core.Values{"library": "/proc/self/status", "sysfs": sys}, core.NICFailed, "it cannot be loaded", "install the package cray-libcxi"},
	} {
		d := cxi.New()
		if err := d.Configure(t.Context(), c.values); err != nil {
			t.Fatal(err)
		}
		check := func(call string, err error) {
			t.Helper()
			e := core.AsError(err)
			if e == nil || e.Reason != c.reason || !strings.Contains(e.What, c.what) || !strings.Contains(e.Remedy, c.mend) {
				t.Errorf("%s: %s: %+v: want %s, %q and %q", name, call, e, c.reason, c.what, c.mend)
			}
		}
		_, err := d.Devices(t.Context())
		check("devices", err)
		_, err = d.Services(t.Context())
		check("services", err)
		_, err = d.Create(t.Context(), []core.ServiceSpec{spec("cxi0", 1000, 4034)})
		check("create", err)
		_, err = d.Destroy(t.Context(), []core.Service{{Device: "cxi0", ID: 4}})
		check("destroy", err)
		found, err := d.Check(t.Context())
		if err != nil || len(found) != 1 || found[0].Severity != core.Critical || !strings.Contains(found[0].Remedy, c.mend) {
			t.Errorf("%s: check: %+v, %v", name, found, err)
		}
	}
}

func TestNoNIC(t *testing.T) {
	d, n := on(t, &kernel.R1401, 1, shim.Lib10)
	if err := os.RemoveAll(filepath.Join(n.Sys(), "class/cxi_user")); err != nil {
		t.Fatal(err)
	}
	_, err := d.Devices(t.Context())
	if e := core.AsError(err); e == nil || e.Reason != core.NICMissing || !strings.Contains(e.Remedy, "modprobe cxi-user") {
		t.Errorf("NICs that no application can open: %+v", err)
	}
	if err := os.RemoveAll(n.Sys()); err != nil {
		t.Fatal(err)
	}
	_, err = d.Services(t.Context())
	if e := core.AsError(err); e == nil || e.Reason != core.NICMissing || !strings.Contains(e.Remedy, "modprobe cxi-ss1") {
		t.Errorf("no NIC: %+v", err)
	}
	if _, err := create(t, d, spec("cxi0", 1000, 4034)); core.AsError(err).Reason != core.NICMissing {
		t.Errorf("create: %v", err)
	}
	if err := destroy(t, d, core.Service{Device: "cxi0", ID: 4}); core.AsError(err).Reason != core.NICMissing {
		t.Errorf("destroy: %v: on a NIC that is not there nothing is known to be gone", err)
	}
	found, err := d.Check(t.Context())
	if err != nil || len(found) != 2 || found[1].Severity != core.Critical || !strings.Contains(found[1].Remedy, "modprobe cxi-ss1") {
		t.Errorf("check: %+v, %v", found, err)
	}
}

func TestDeviceStates(t *testing.T) {
	d, n := on(t, &kernel.R1401, 4, shim.Lib10)
	n.Set(func(s *shim.State) { s.Link(0, false); s.Retry(1, false); s.Opens(3, false) })
	n.Do(2, func(k *kernel.NIC) { k.Enable(kernel.Root, 1, true) })
	got, err := d.Devices(t.Context())
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	type state struct{ Up, Retry, Open, Fault bool }
	want := []state{{false, true, false, false}, {true, false, false, false}, {true, true, true, false}, {false, false, false, true}}
	for i, g := range got {
		if s := (state{g.Up, g.Retry, g.Open, g.Fault != ""}); s != want[i] {
			t.Errorf("%s: %+v, want %+v: %s", g.Name, s, want[i], g.Fault)
		}
	}
	services, err := d.Services(t.Context())
	if core.AsError(err).Reason != core.NICFailed || !strings.Contains(err.Error(), "cxi3") || len(services) != 9 {
		t.Errorf("%d services, %v: want those of 3 NICs, and the one that failed named", len(services), err)
	}
}

// TestNotPrivileged: what the driver lets nobody but root do.
func TestNotPrivileged(t *testing.T) {
	d, n := on(t, &kernel.R1401, 1, shim.Lib10)
	n.Set(func(s *shim.State) { s.Admin(false) })
	_, err := create(t, d, spec("cxi0", 1000, 4034))
	if e := core.AsError(err); e == nil || e.Reason != core.NICFailed || !strings.Contains(e.Remedy, "CAP_SYS_ADMIN") {
		t.Errorf("%+v", e)
	}
	if _, err := d.Services(t.Context()); err != nil {
		t.Errorf("reading needs no privilege: %v", err)
	}
	n.Set(func(s *shim.State) { s.Admin(true) })
	must(t, d, spec("cxi0", 1000, 4034))
}

// TestReadBack: a service that the kernel holds otherwise than asked for is removed, and said so.
func TestReadBack(t *testing.T) {
	for name, c := range map[string]struct {
		tamper func(d []byte)
		says   string
	}{
		"an ignored member": {func(d []byte) { clear(d[24:32]) }, "members"},
		"another uid":       {func(d []byte) { d[16] ^= 1 }, "members"},
		"open to all":       {func(d []byte) { d[0] &^= 1 }, "flags"},
		"disabled":          {func(d []byte) { d[0] &^= 0x10 }, "flags"},
		"the system's":      {func(d []byte) { d[0] |= 0x20 }, "flags"},
		"another VNI":       {func(d []byte) { d[2] ^= 1 }, "VNIs"},
		"a VNI more":        {func(d []byte) { d[1], d[4] = 2, 9 }, "VNIs"},
		"a class more":      {func(d []byte) { d[10] = 1 }, "classes"},
		"a higher limit":    {func(d []byte) { d[36] ^= 0x40 }, "limits"},
	} {
		for op, b := range map[string]*kernel.Behaviour{
			"get": &kernel.R1400, "list": &kernel.R1401, // the kernel shows another than it made
			"alloc": &kernel.R1401, // it makes another than was asked for
		} {
			if op == "alloc" && (name == "disabled") {
				continue // which the kernel decides itself
			}
			d, n := on(t, b, 1, shim.Lib10)
			if _, err := d.Devices(t.Context()); err != nil { // so that the release is known
				t.Fatal(err)
			}
			n.Set(func(s *shim.State) {
				s.Tamper(func(on string, raw []byte) {
					if on == op {
						c.tamper(raw)
					}
				})
			})
			_, err := create(t, d, spec("cxi0", 1000, 4034))
			if e := core.AsError(err); e == nil || e.Reason != core.NICFailed || !strings.Contains(e.What, c.says) {
				t.Errorf("%s (%s): %v: want that %s differ", name, op, err, c.says)
			}
			n.Do(0, func(k *kernel.NIC) {
				if len(k.Services()) != 3 {
					t.Errorf("%s (%s): the service still stands: %+v", name, op, k.Services()[3:])
				}
			})
		}
	}
}

// TestCalls: a job takes few calls of a NIC, and visits within a second open it once. libcxi's list is two calls.
func TestCalls(t *testing.T) {
	ops := []string{"open", "alloc", "list", "get", "destroy"}
	for b, want := range map[*kernel.Behaviour][]int{&kernel.R1401: {0, 1, 2, 1, 1}, &kernel.R1400: {0, 1, 2, 2, 1}} {
		d, n := on(t, b, 1, shim.Lib10)
		if _, err := d.Devices(t.Context()); err != nil { // it asks for the release, and leaves the NIC open
			t.Fatal(err)
		}
		var before, got []int
		for _, op := range ops {
			before = append(before, n.Calls("call "+op))
		}
		if err := destroy(t, d, must(t, d, spec("cxi0", 1000, 4034))); err != nil {
			t.Fatal(err)
		}
		for i, op := range ops {
			got = append(got, n.Calls("call "+op)-before[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("SHS %s: calls of %v: %s", b.Release, ops, diff)
		}
	}
}

// TestSecondOfTwo: where a NIC may have two equal services, a job's start leaves one, whoever made the first.
func TestSecondOfTwo(t *testing.T) {
	for _, b := range kernel.Behaviours() {
		d, n := on(t, b, 1, shim.LibraryOf(b))
		first := must(t, driver(t, n), spec("cxi0", 1000, 4034))
		if again := must(t, d, spec("cxi0", 1000, 4034)); again.ID != first.ID {
			t.Errorf("SHS %s: service %d, want %d again", b.Release, again.ID, first.ID)
		}
		n.Do(0, func(k *kernel.NIC) {
			if len(k.Services()) != 4 {
				t.Errorf("SHS %s: %d services beside the driver's, want one", b.Release, len(k.Services())-3)
			}
		})
		if lost := leaks(n, b); lost != 0 {
			t.Errorf("SHS %s: %d allocs that leak", b.Release, lost)
		}
		n.Do(0, func(k *kernel.NIC) { // no room for a second one, for a moment
			d := kernel.Desc{RestrictedVNIs: true, NumVNIs: 1, VNIs: [kernel.MaxVNIs]uint16{9}, ResourceLimits: true}
			left := k.Capacity()[core.TXQ].Free
			d.Limits[core.TXQ] = core.Limit{Max: left, Reserved: left}
			if _, _, err := k.Alloc(kernel.Root, &d); err != kernel.OK {
				t.Fatal(err)
			}
		})
		if again := must(t, d, spec("cxi0", 1000, 4034)); again.ID != first.ID {
			t.Errorf("SHS %s, on a full NIC: service %d, want %d again", b.Release, again.ID, first.ID)
		}
	}
}

// TestHangingNIC: a call that hangs in the driver costs its NIC and no other; it returns before its deadline, and the NIC works again when the call ends.
func TestHangingNIC(t *testing.T) {
	d, n := on(t, &kernel.R1401, 2, shim.Lib10)
	must(t, d, spec("cxi0", 1000, 4000))
	n.Set(func(s *shim.State) { s.Hang(1) })
	within := func() context.Context {
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		t.Cleanup(stop)
		return ctx
	}
	made, err := d.Create(within(), []core.ServiceSpec{spec("cxi1", 1000, 4034), spec("cxi0", 1000, 4034)})
	if err != nil {
		t.Fatal(err)
	}
	if made[1].Err != nil || core.AsError(made[0].Err).Reason != core.NICFailed || !errors.Is(made[0].Err, context.DeadlineExceeded) {
		t.Errorf("%+v: want one service, and the NIC that hangs said to have failed", made)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := d.Devices(ctx); core.AsError(err).Reason != core.Cancelled {
		t.Errorf("work whose caller is gone: %v", err)
	}
	seen, err := d.Devices(within()) // the lane of cxi1 is still taken
	if err != nil || len(seen) != 2 || seen[0].Fault != "" || !strings.Contains(seen[1].Fault, "an earlier call still waits for it") {
		t.Errorf("%+v, %v", seen, err)
	}
	found, err := d.Check(within()) // by remedy and NICs, the agent knows that Devices tells the same
	if !slices.ContainsFunc(found, func(f core.Finding) bool {
		return f.Severity == core.Critical && f.Remedy == core.NICRemedy && slices.Equal(f.NICs, []string{"cxi1"})
	}) {
		t.Errorf("%+v, %v", found, err)
	}
	n.Release()
	again := must(t, d, spec("cxi1", 1000, 4034)) // it waits for the lane
	n.Do(1, func(k *kernel.NIC) {
		if len(k.Services()) != 4 || k.Services()[3].ID != again.ID {
			t.Errorf("%+v: the abandoned call must not have made a second one", k.Services()[3:])
		}
	})
}

// TestBusyAtOnce: a service in use is said to be busy by one attempt.
func TestBusyAtOnce(t *testing.T) {
	d, n := on(t, &kernel.R130, 1, shim.Lib8)
	s := must(t, d, spec("cxi0", 1000, 4034))
	n.Do(0, func(k *kernel.NIC) {
		if _, err := k.AllocLNI(kernel.Caller{EUID: 1001}, s.ID); err != kernel.EPERM {
			t.Errorf("another user opens it on 13.0: %v, want EPERM", err)
		}
		if _, err := k.AllocLNI(kernel.Caller{EUID: 1000}, s.ID); err != kernel.OK {
			t.Error(err)
		}
	})
	before := n.Calls("destroy")
	if err := destroy(t, d, s); !errors.Is(err, core.Busy) || n.Calls("destroy") != before+1 {
		t.Errorf("%v after %d attempts", err, n.Calls("destroy")-before)
	}
}

// TestHalfMade: whoever made a service for a namespace or with a range was killed between two calls; the next one finishes it instead of a second one.
func TestHalfMade(t *testing.T) {
	for name, s := range map[string]core.ServiceSpec{
		"namespace": func() core.ServiceSpec {
			s := spec("cxi0", 0, 4034)
			s.Owner = core.Owner{Kind: core.OwnerNetNS, ID: 77}
			return s
		}(),
		"range": spec("cxi0", 1000, block(2048, 8)...),
	} {
		d, n := on(t, &kernel.R1400, 1, shim.Lib10)
		whole := must(t, d, s)
		var was kernel.Desc
		n.Do(0, func(k *kernel.NIC) {
			found, _ := k.Get(whole.ID)
			was = found.Desc
			was.NumVNIs = uint8(len(s.VNIs)) % 8
			k.Destroy(kernel.Root, whole.ID)
			if _, _, err := k.Alloc(kernel.Root, &was); err != kernel.OK {
				t.Fatal(err)
			}
		})
		again := must(t, d, s)
		if diff := cmp.Diff(whole, again); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		n.Do(0, func(k *kernel.NIC) {
			if len(k.Services()) != 4 {
				t.Errorf("%s: %d services, want the driver's 3 and one", name, len(k.Services()))
			}
		})
	}
}

// TestLNIsPerRGID: more processes than RGIDs share them, and only then, where the driver keeps them apart: cass_rgid_get
// of 12.0.0 and 13.0.0 (cass_rgid.c) gives the RGID before the one that it found, and releases another.
func TestLNIsPerRGID(t *testing.T) {
	for processes, want := range map[int64]uint32{1: 1, 2 * 253: 1, 2*253 + 1: 2, 2000: 4, 65536: 8} {
		for _, b := range []*kernel.Behaviour{&kernel.R130, &kernel.R1401} {
			n := shim.New(t, b, 2, shim.LibraryOf(b))
			d := cxi.New()
			if err := d.Configure(t.Context(), core.Values{"library": n.Library(), "sysfs": n.Sys(), "processes": processes}); err != nil {
				t.Fatal(err)
			}
			want := want
			if b.Ops <= kernel.OpEnable {
				want = 1
			}
			s := must(t, d, spec("cxi1", 1000, 4034))
			n.Do(1, func(k *kernel.NIC) {
				if got, _ := k.LPR(s.ID); got != want {
					t.Errorf("SHS %s, %d processes on 2 NICs with 253 RGIDs each: %d LNIs an RGID, want %d", b.Release, processes, got, want)
				}
			})
			found, err := d.Check(t.Context())
			warns := slices.ContainsFunc(found, func(f core.Finding) bool { return strings.Contains(f.What, "some processes of a job") })
			if lacks := processes > 8*2*255 || want == 1 && processes > 2*255; err != nil || warns != lacks {
				t.Errorf("SHS %s, %d processes: the doctor warns of them: %v, %v", b.Release, processes, warns, err)
			}
		}
	}
}

// TestSharingOff: while its module's parameter enable_rgid_sharing is off the driver ignores how many LNIs are to share an
// RGID, and answers 0 (cxi_svc_set_lpr in cass_svc.c of 13.1.0 to 14.0.1). No job fails of that, and the doctor warns.
func TestSharingOff(t *testing.T) {
	for _, b := range []*kernel.Behaviour{&kernel.R131, &kernel.R1400, &kernel.R1401} {
		n := shim.New(t, b, 1, shim.LibraryOf(b))
		err := os.WriteFile(filepath.Join(n.Sys(), "module/cxi_ss1/parameters/enable_rgid_sharing"), []byte("N\n"), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		n.Set(func(s *shim.State) { s.IgnoreLPR(true) })
		d := cxi.New()
		if err := d.Configure(t.Context(), core.Values{"library": n.Library(), "sysfs": n.Sys(), "processes": int64(1000)}); err != nil {
			t.Fatal(err)
		}
		must(t, d, spec("cxi0", 1000, 4034))
		found, err := d.Check(t.Context())
		if err != nil || !slices.ContainsFunc(found, func(f core.Finding) bool {
			return f.Severity == core.Warning && strings.Contains(f.Remedy, "enable_rgid_sharing")
		}) {
			t.Errorf("SHS %s: %+v, %v: want a warning", b.Release, found, err)
		}
	}
}

// TestHalfShared: whoever made a plain service was killed before it let processes share RGIDs; the next one does. What an application uses stays as it is.
func TestHalfShared(t *testing.T) {
	for _, used := range []bool{false, true} {
		n := shim.New(t, &kernel.R1401, 1, shim.Lib10)
		alone := driver(t, n)
		s := must(t, alone, spec("cxi0", 1000, 4034))
		if used {
			n.Do(0, func(k *kernel.NIC) { _, _ = k.AllocLNI(kernel.Caller{EUID: 1000}, s.ID) })
		}
		d := cxi.New()
		if err := d.Configure(t.Context(), core.Values{"library": n.Library(), "sysfs": n.Sys(), "processes": int64(1000)}); err != nil {
			t.Fatal(err)
		}
		again := must(t, d, spec("cxi0", 1000, 4034))
		n.Do(0, func(k *kernel.NIC) {
			want := uint32(4)
			if used {
				want = 1
			}
			if got, _ := k.LPR(s.ID); got != want || again.ID != s.ID {
				t.Errorf("in use %v: %d LNIs share an RGID of service %d, want %d of service %d", used, got, again.ID, want, s.ID)
			}
		})
	}
}

// TestShareIsReadBack: a service whose processes could not share RGIDs as asked is removed, and said so.
func TestShareIsReadBack(t *testing.T) {
	for name, refused := range map[string]string{
		"it cannot be set": "set lpr", "it cannot be read": "get lpr", "the driver ignores it": "",
	} {
		n := shim.New(t, &kernel.R1401, 1, shim.Lib10)
		d := cxi.New()
		if err := d.Configure(t.Context(), core.Values{"library": n.Library(), "sysfs": n.Sys(), "processes": int64(1000)}); err != nil {
			t.Fatal(err)
		}
		n.Set(func(s *shim.State) {
			s.IgnoreLPR(refused == "")
			s.Refuse(func(op string) kernel.Errno {
				if op == refused {
					return kernel.EIO
				}
				return kernel.OK
			})
		})
		if _, err := create(t, d, spec("cxi0", 1000, 4034)); core.AsError(err) == nil || core.AsError(err).Reason != core.NICFailed {
			t.Errorf("%s: %v", name, err)
		}
		n.Do(0, func(k *kernel.NIC) {
			if len(k.Services()) != 3 {
				t.Errorf("%s: the service still stands", name)
			}
		})
	}
}

// TestShortWithoutList: what the driver says was short is told, also where its list cannot be read any more; nothing else is.
func TestShortWithoutList(t *testing.T) {
	for _, b := range kernel.Behaviours() {
		d, n := on(t, b, 1, shim.LibraryOf(b))
		if _, err := d.Devices(t.Context()); err != nil { // so that the release is known
			t.Fatal(err)
		}
		n.Set(func(s *shim.State) {
			tried := false
			s.Refuse(func(op string) kernel.Errno {
				tried = tried || op == "alloc"
				if tried && op == "list" {
					return kernel.EIO
				}
				return kernel.OK
			})
		})
		s := spec("cxi0", 1000, 4034)
		s.Limits[core.PTE] = core.Limit{Max: 12, Reserved: 12}
		s.Limits[core.TGQ] = core.Limit{Max: 512, Reserved: 512}
		_, err := create(t, d, s)
		want := []core.Shortage{{Device: "cxi0", Resource: core.TGQ, Want: 512, Have: 511}}
		if diff := cmp.Diff(want, show(err).Short); diff != "" {
			t.Errorf("SHS %s: %v: %s", b.Release, err, diff)
		}
	}
}

// TestOnlyTheOwner: on each release what Weft makes opens to its owner and to root's second member, and to nobody else; SHS 13.0 lets everybody in where a
// member is unused.
func TestOnlyTheOwner(t *testing.T) {
	user, group := kernel.Caller{EUID: 1000, EGID: 1000}, kernel.Caller{EUID: 7, EGID: 50}
	stranger := kernel.Caller{EUID: 1001, EGID: 1001, Group: 1001, NetNS: 78}
	root, inside := kernel.Caller{}, kernel.Caller{EUID: 1001, EGID: 1001, NetNS: 77}
	for _, b := range kernel.Behaviours() {
		for _, c := range []struct {
			owner  core.Owner
			may    kernel.Caller
			exists bool
			root   kernel.Errno
		}{
			{core.UID(1000), user, true, kernel.OK},
			{core.UID(0), root, true, kernel.OK},
			{core.Owner{Kind: core.OwnerGID, ID: 50}, group, true, kernel.OK},
			{core.Owner{Kind: core.OwnerGID, ID: 0}, root, true, kernel.OK},
			{core.Owner{Kind: core.OwnerNetNS, ID: 77}, inside, b.Ops > kernel.OpSetNetNS, kernel.EPERM},
		} {
			d, n := on(t, b, 1, shim.LibraryOf(b))
			s := spec("cxi0", 0, 4034)
			s.Owner = c.owner
			made, err := create(t, d, s)
			if !c.exists {
				if core.AsError(err).Code != core.Unsupported {
					t.Errorf("SHS %s, %+v: %v", b.Release, c.owner, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("SHS %s, %+v: %v", b.Release, c.owner, err)
			}
			n.Do(0, func(k *kernel.NIC) {
				for _, who := range []struct {
					name string
					kernel.Caller
					want kernel.Errno
				}{{"its owner", c.may, kernel.OK}, {"another", stranger, kernel.EPERM}, {"root", root, c.root}} {
					lni, err := k.AllocLNI(who.Caller, made.ID)
					if err != who.want {
						t.Errorf("SHS %s, %+v: %s opens it: %v, want %v", b.Release, c.owner, who.name, err, who.want)
					}
					if err == kernel.OK {
						k.FreeLNI(lni)
					}
				}
			})
		}
	}
}

// TestNotCounted: newer drivers tell 65535 as in use of a resource that they do not count for a service; that is no number.
func TestNotCounted(t *testing.T) {
	d, n := on(t, &kernel.R1401, 1, shim.Lib10)
	must(t, d, spec("cxi0", 1000, 4034))
	n.Set(func(s *shim.State) {
		s.Tamper(func(op string, raw []byte) {
			if op == "use" {
				for _, r := range []core.Resource{core.LE, core.TLE} {
					raw[8+2*r], raw[9+2*r] = 0xff, 0xff
				}
			}
		})
	})
	all, err := d.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.InUse[core.LE] != 0 || s.InUse[core.TLE] != 0 {
			t.Errorf("service %d: %v in use", s.ID, s.InUse)
		}
	}
}

// TestOlderLibrary: symbols after LIBCXI_1.0 are optional, and a newer library on an older driver is told apart.
func TestOlderLibrary(t *testing.T) {
	netns := spec("cxi0", 0, 4034)
	netns.Owner = core.Owner{Kind: core.OwnerNetNS, ID: 77}
	for _, c := range []struct {
		release *kernel.Behaviour
		library int
		spec    core.ServiceSpec
		says    string
	}{
		{&kernel.R1401, shim.Lib8, netns, "it needs SHS 14, and this is a libcxi of LIBCXI_1.8"},
		{&kernel.R1401, shim.Lib9, netns, "it needs SHS 14, and this is a libcxi of LIBCXI_1.9"},
		{&kernel.R131, shim.Lib10, netns, "it needs SHS 14, and this is SHS 13.1"},
		{&kernel.R130, shim.Lib8, netns, "it needs SHS 14, and this is SHS 13.0"},
		{&kernel.R1401, shim.Lib8, spec("cxi0", 1000, block(2048, 8)...), "it needs SHS 13.1, and this is a libcxi of LIBCXI_1.8"},
		{&kernel.R120, shim.Lib8, spec("cxi0", 1000, block(2048, 8)...), "it needs SHS 13.1, and this is SHS 12.0"},
	} {
		d, n := on(t, c.release, 1, c.library)
		_, err := create(t, d, c.spec)
		if e := core.AsError(err); e == nil || e.Code != core.Unsupported || !strings.Contains(e.What, c.says) {
			t.Errorf("SHS %s, LIBCXI_1.%d: %v: want %q", c.release.Release, c.library, err, c.says)
		}
		n.Do(0, func(k *kernel.NIC) {
			if len(k.Services()) != 3 {
				t.Errorf("SHS %s, LIBCXI_1.%d: something was made", c.release.Release, c.library)
			}
		})
		s := must(t, d, spec("cxi0", 1000, 4034))
		if err := destroy(t, d, s); err != nil {
			t.Error(err)
		}
	}
}

func TestConfigureRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		field string
		value any
	}{
		"no library": {"library", ""}, "a relative library": {"library", "lib/libcxi.so.1"}, "a number for a library": {"library", int64(1)},
		"a relative sysfs": {"sysfs", "sys"}, "fewer than no processes": {"processes", int64(-1)}, "too many": {"processes", int64(65537)},
		"a text for processes": {"processes", "many"}, "another setting": {"nics", int64(4)},
	} {
		err := cxi.New().Configure(t.Context(), core.Values{c.field: c.value})
		var at *core.PathError
		if !errors.As(err, &at) || !cmp.Equal(at.Path, []string{c.field}) || !errors.Is(err, core.Invalid) {
			t.Errorf("%s: %v: want BadConfig at %s", name, err, c.field)
		}
	}
	defaults := core.Values{}
	for _, f := range cxi.New().Schema().Fields {
		defaults[f.Name] = f.Default
	}
	if err := cxi.New().Configure(t.Context(), defaults); err != nil {
		t.Error("the schema's own defaults:", err)
	}
}
