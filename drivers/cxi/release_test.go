package cxi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// leaks are the allocs that cost the kernel memory. From SHS 13.0 on the driver keeps the struct svc_priv of each that
// it refuses, unless it answers EINVAL or EPERM (cxi_svc_alloc in cass_svc.c of shs-cxi-driver 13.0.0 to 14.0.1).
func leaks(n *shim.Node, b *kernel.Behaviour) (count int) {
	if b.Overlap == kernel.OverlapAllowed {
		return 0
	}
	for _, err := range []kernel.Errno{kernel.EEXIST, kernel.EBADR, kernel.ENOSPC} {
		count += n.Calls("alloc " + err.Error())
	}
	return count
}

// tellsOf gives the doctor's words about a node's release.
func tellsOf(t *testing.T, d *cxi.Driver) string {
	t.Helper()
	found, err := d.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if strings.Contains(f.What, "its driver") {
			return f.What + ": " + f.Evidence
		}
	}
	return ""
}

// TestRelease: the driver reads what tells a release, and makes calls only where that leaves two.
func TestRelease(t *testing.T) {
	const (
		names = "told by the names of its module's parameters"
		list  = " and its list of services in debugfs"
		guess = "the error numbers of calls that every release refuses, which is inference"
	)
	no := func(paths ...string) []string { return paths }
	params, debugfs := "module/cxi_ss1/parameters", "kernel/debug"
	for _, c := range []struct {
		release       *kernel.Behaviour
		library       int
		without       []string
		want          string
		allocs, leaks int
	}{
		{&kernel.R120, shim.Lib8, nil, "SHS 12.0: " + names + list, 0, 0},
		{&kernel.R130, shim.Lib8, nil, "SHS 13.0: " + names + list, 0, 0},
		{&kernel.R131, shim.Lib9, nil, "SHS 13.1: " + names + " and " + guess, 1, 0},
		{&kernel.R1400, shim.Lib10, nil, "SHS 14.0.0: " + names + " and " + guess, 0, 0},
		{&kernel.R1401, shim.Lib10, nil, "SHS 14.0.1: " + names, 0, 0},
		{&kernel.R1401, shim.Lib8, nil, "SHS 14.0.1: " + names, 0, 0},
		{&kernel.R131, shim.Lib10, nil, "SHS 13.1: " + names + " and " + guess, 0, 0},
		{&kernel.R120, shim.Lib8, no(debugfs), "SHS 12.0: " + names + " and " + guess, 1, 0},
		{&kernel.R130, shim.Lib8, no(debugfs), "SHS 13.0: " + names + " and " + guess, 1, 1},
		{&kernel.R120, shim.Lib8, no(debugfs, params), "SHS 12.0: told by " + guess, 3, 0},
		{&kernel.R130, shim.Lib8, no(debugfs, params), "SHS 13.0: told by " + guess, 3, 1},
		{&kernel.R131, shim.Lib9, no(debugfs, params), "SHS 13.1: told by " + guess, 2, 1},
		{&kernel.R1400, shim.Lib10, no(debugfs, params), "SHS 14.0.0: told by " + guess, 1, 1},
		{&kernel.R1401, shim.Lib10, no(debugfs, params), "SHS 14.0.1 or newer than 14.0.1: told by " + guess, 1, 1},
	} {
		t.Run(fmt.Sprintf("SHS %s, LIBCXI_1.%d, without %s", c.release.Release, c.library, c.without), func(t *testing.T) {
			d, n := on(t, c.release, 1, c.library)
			for _, path := range c.without {
				if err := os.RemoveAll(filepath.Join(n.Sys(), path)); err != nil {
					t.Fatal(err)
				}
			}
			want := "NIC cxi0: its driver behaves as " + c.want
			for range 3 { // it asks once
				if got := tellsOf(t, d); got != want {
					t.Errorf("%s\nwant %s", got, want)
				}
			}
			if got := n.Calls("alloc"); got != c.allocs {
				t.Errorf("%d allocs, want %d", got, c.allocs)
			}
			if got := leaks(n, c.release); got != c.leaks {
				t.Errorf("%d allocs that leak, want %d", got, c.leaks)
			}
		})
	}
}

// TestCommit: a driver that was built from the commit of a release's tag says which it is, without a call.
func TestCommit(t *testing.T) {
	for _, b := range kernel.Behaviours() {
		for commit, known := range map[string]bool{
			map[string]string{
				"12.0": "27f7be5", "13.0": "f62ae06", "13.1": "a1d91b2a", "14.0.0": "021715b", "14.0.1": "bb11c85",
			}[b.Release]: true, "0123456": false, "[unknown]": false, "": false,
		} {
			d, n := on(t, b, 1, shim.LibraryOf(b))
			rev := filepath.Join(n.Sys(), "class/cxi/cxi0/device/properties/driver_rev")
			if err := os.WriteFile(rev, []byte(commit+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			got := tellsOf(t, d)
			if !strings.Contains(got, "SHS "+b.Release+":") || strings.Contains(got, "told by the commit") != known {
				t.Errorf("SHS %s, commit %s: %s", b.Release, commit, got)
			}
			if known && n.Calls("alloc") > 0 {
				t.Errorf("SHS %s, commit %s: %d allocs", b.Release, commit, n.Calls("alloc"))
			}
		}
	}
}

// TestSevenJobs: whatever jobs a node runs, the driver asks a NIC for its release once at most.
func TestSevenJobs(t *testing.T) {
	for _, b := range kernel.Behaviours() {
		d, n := on(t, b, 4, shim.LibraryOf(b))
		if err := os.RemoveAll(filepath.Join(n.Sys(), "kernel/debug")); err != nil {
			t.Fatal(err)
		}
		for job := range 7 {
			var made []core.Service
			for nic := range 4 {
				if _, err := d.Devices(t.Context()); err != nil {
					t.Fatal(err)
				}
				made = append(made, must(t, d, spec(fmt.Sprintf("cxi%d", nic), 1000, core.VNI(4034+job))))
			}
			for _, s := range made {
				if err := destroy(t, d, s); err != nil {
					t.Fatal(err)
				}
			}
		}
		if asked, lost := n.Calls("alloc")-28, leaks(n, b); asked > 4 || lost > 4 {
			t.Errorf("SHS %s: %d allocs to tell the release of 4 NICs, of which %d leak: want 4 at most", b.Release, asked, lost)
		}
	}
}

// TestNotKnownYet: the driver keeps nothing of a release that it cannot tell, and tells it when it can.
func TestNotKnownYet(t *testing.T) {
	d, n := on(t, &kernel.R130, 1, shim.Lib8)
	if err := os.RemoveAll(filepath.Join(n.Sys(), "kernel/debug")); err != nil {
		t.Fatal(err)
	}
	was := kernel.Service{}
	n.Do(0, func(k *kernel.NIC) { was, _ = k.Get(kernel.DefaultID) })
	for name, c := range map[string]struct{ before, after func(*shim.State) }{
		"services are refused": {
			func(s *shim.State) {
				s.Refuse(func(op string) kernel.Errno {
					if op == "alloc" {
						return kernel.EPERM
					}
					return kernel.OK
				})
			}, func(s *shim.State) { s.Refuse(nil) },
		},
		"the default service has no VNI, as with default_svc_test_mode=1": {
			func(s *shim.State) {
				s.Tamper(func(op string, raw []byte) {
					if op == "list" {
						raw[1] = 0
					}
				})
			}, func(s *shim.State) { s.Tamper(nil) },
		},
	} {
		n.Set(c.before)
		const unknown = "NIC cxi0: the release of its driver is not known yet"
		for range 2 {
			if got := tellsOf(t, d); !strings.HasPrefix(got, unknown) {
				t.Errorf("%s: %s\nwant %s", name, got, unknown)
			}
		}
		n.Set(c.after)
		const told = "NIC cxi0: its driver behaves as SHS 13.0"
		if got := tellsOf(t, d); !strings.HasPrefix(got, told) {
			t.Errorf("%s, which ended: %s\nwant %s", name, got, told)
		}
		d = driver(t, n) // which knows nothing
	}
	n.Do(0, func(k *kernel.NIC) {
		if now, _ := k.Get(kernel.DefaultID); now != was {
			t.Errorf("the default service is %+v, and was %+v", now, was)
		}
	})
}

// TestReload: after another load of the module the driver asks again, also where nothing names the build.
func TestReload(t *testing.T) {
	d, n := on(t, &kernel.R131, 1, shim.Lib10)
	module := filepath.Join(n.Sys(), "module/cxi_ss1")
	if err := os.Remove(filepath.Join(module, "srcversion")); err != nil {
		t.Fatal(err)
	}
	if got := tellsOf(t, d); !strings.Contains(got, "SHS 13.1") {
		t.Fatal(got)
	}
	if err := os.Rename(module, module+".old"); err != nil { // so that its inode is not the new one's
		t.Fatal(err)
	}
	shim.Tree(t, n.Sys(), &kernel.R1401, 1, "LL_BE_BD_ET")
	if err := os.Remove(filepath.Join(module, "srcversion")); err != nil {
		t.Fatal(err)
	}
	n.Do(0, func(k *kernel.NIC) { *k = kernel.New(&kernel.R1401) })
	if got := tellsOf(t, d); !strings.Contains(got, "SHS 14.0.1") {
		t.Errorf("after a reload: %s", got)
	}
}
