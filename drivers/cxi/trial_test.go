package cxi_test

import (
	"os"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// steps is a trial in one line: "device LNI LOW_LATENCY=EINVAL".
func steps(t refusal.Trial) string {
	var out []string
	for _, s := range t.Steps {
		if s.Errno != "" {
			s.Name += "=" + s.Errno
		}
		out = append(out, s.Name)
	}
	return strings.Join(out, " ")
}

// alloc makes a service of two users.
func alloc(t *testing.T, n *shim.Node, vni uint16, a, b uint32) (id uint32) {
	t.Helper()
	n.Do(0, func(k *kernel.NIC) {
		var err kernel.Errno
		if id, _, err = k.Alloc(kernel.Root, &kernel.Desc{
			RestrictedMembers: true, RestrictedVNIs: true, NumVNIs: 1, VNIs: [4]uint16{vni},
			Members: [2]kernel.Member{{ID: a, Type: kernel.UID}, {ID: b, Type: kernel.UID}},
		}); err != kernel.OK {
			t.Fatal(err)
		}
	})
	return id
}

// TestTry opens services as an application does, on each release, and leaves nothing open.
func TestTry(t *testing.T) {
	const both = core.LowLatency | core.BestEffort
	me := uint32(os.Geteuid())
	for _, b := range kernel.Behaviours() {
		d, n := on(t, b, 1, shim.LibraryOf(b))
		mine := must(t, d, spec("cxi0", me, 4034))
		other := alloc(t, n, 4035, me+1, me+2) // not by Weft, whose services have root as a member
		foreign := map[string]string{"12.0": "EINVAL", "13.0": "ENOENT"}[b.Release]
		switch {
		case foreign == "":
			foreign = "EPERM"
		case foreign == "ENOENT" && me == 0:
			foreign = "EEXIST" // the driver makes a profile for root, of a VNI that is taken
		}
		for _, c := range []struct {
			name    string
			device  string
			service uint32
			vni     core.VNI
			classes core.Classes
			want    string
		}{
			{"mine", "cxi0", mine.ID, 4034, both, "device LNI LOW_LATENCY BEST_EFFORT"},
			{"a class that it lacks", "cxi0", mine.ID, 4034, both | core.BulkData,
				"device LNI LOW_LATENCY BULK_DATA=EINVAL BEST_EFFORT"},
			{"another's VNI", "cxi0", mine.ID, 4035, core.LowLatency, "device LNI LOW_LATENCY=" + foreign},
			{"another's", "cxi0", other, 4035, both, "device LNI=EPERM"},
			{"disabled", "cxi0", 1, 1, both, "device LNI=EKEYREVOKED"},
			{"unknown", "cxi0", 99, 4034, both, "device LNI=EINVAL"},
			{"no NIC", "cxi7", mine.ID, 4034, both, "device=EIO"},
			{"no name of a NIC", "hsn0", mine.ID, 4034, both, "device=ENODEV"},
		} {
			got := d.Try(t.Context(), c.device, c.service, c.vni, c.classes)
			if steps(got) != c.want || got.Device != c.device {
				t.Errorf("SHS %s, %s: %s: %s, want %s", b.Release, c.name, got.Device, steps(got), c.want)
			}
		}
		n.Do(0, func(k *kernel.NIC) {
			if len(k.LNIs()) != 2 {
				t.Errorf("SHS %s: %d LNIs are open, want those of the two system services", b.Release, len(k.LNIs()))
			}
		})
	}
}

// TestTryShowsMixtures: the libcxi of 13.1 asks for a CP by a command that a driver of 13.0 does not know. A libcxi
// with another layout of LNI_ALLOC gets no LNI.
func TestTryShowsMixtures(t *testing.T) {
	for _, c := range []struct {
		lni  byte
		want string
	}{{16, "device LNI LOW_LATENCY=EINVAL BEST_EFFORT=EINVAL"}, {24, "device LNI=EINVAL"}} {
		d, n := on(t, &kernel.R130, 1, shim.Lib9)
		id := alloc(t, n, 4034, uint32(os.Geteuid()), 1)
		n.Set(func(s *shim.State) { s.LNIAlloc(c.lni) })
		if got := d.Try(t.Context(), "cxi0", id, 4034, core.LowLatency|core.BestEffort); steps(got) != c.want {
			t.Errorf("%s, want %s", steps(got), c.want)
		}
	}
}

func BenchmarkTry(b *testing.B) {
	d, _ := on(b, &kernel.R1401, 1, shim.Lib10)
	s := must(b, d, spec("cxi0", uint32(os.Geteuid()), 4034))
	for b.Loop() {
		if got := d.Try(b.Context(), "cxi0", s.ID, 4034, core.LowLatency); len(got.Steps) != 3 {
			b.Fatal(steps(got))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms")
	b.ReportMetric(100, "budget-ms")
}
