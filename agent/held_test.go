package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
)

// TestManyStraysAreOneFinding: a foreign manager's services fill one line, and one alone has its own command.
func TestManyStraysAreOneFinding(t *testing.T) {
	s := state{site: Site{Ours: func(v core.VNI) bool { return v >= 1024 }}, users: map[uint32]bool{}}
	add := func(device string, id uint32, v core.VNI, owner uint32) {
		s.orphans = append(s.orphans, core.Service{
			Device: device, ID: id, VNIs: []core.VNI{v}, Enabled: true, Owner: core.Owner{Kind: core.OwnerUID, ID: owner},
		})
	}
	for i := range 300 {
		add(fmt.Sprint("cxi", i%4), uint32(4+i/4), core.VNI(100+i), 4242)
	}
	add("cxi1", 99, 500, 7)
	add("cxi2", 100, 1500, 4242)
	add("cxi3", 101, 1501, 4242)
	s.orphans[len(s.orphans)-1].System = true
	const many = "none, if you know it; else `cxi_service delete -d NIC -s SERVICE` for each, as `weft services` shows"
	const noJob = " who has no job on this node"
	want := []core.Finding{
		{
			Severity: core.Notice, What: "300 services: each is of uid 4242," + noJob,
			Evidence: "NIC cxi[0-3]: VNIs 100-399",
			Remedy:   many,
		},
		{
			Severity: core.Notice, What: "a service is of uid 7," + noJob,
			Evidence: "NIC cxi1: service 99 of uid 7 with VNIs 500",
			Remedy:   "none, if you know it; else `cxi_service delete -d cxi1 -s 99`",
		},
		{
			Severity: core.Warning, What: "a service is of uid 4242," + noJob,
			Evidence: "NIC cxi2: service 100 of uid 4242 with VNIs 1500",
			Remedy:   "`weft clean --dry-run` shows what would go, `weft clean` removes it",
		},
		{
			Severity: core.Warning, What: "a service has VNIs and is marked as the system's, whose services have none",
			Evidence: "NIC cxi3: service 101 of uid 4242 with VNIs 1501", Remedy: "`cxi_service delete -d cxi3 -s 101`",
		},
	}
	if d := cmp.Diff(want, s.held()); d != "" {
		t.Error(d)
	}
}

// TestAMissingDeviceFileHasItsOwnRemedy: the driver's remedy of a NIC comes before the usual one.
func TestAMissingDeviceFileHasItsOwnRemedy(t *testing.T) {
	for name, d := range map[string]core.Device{
		core.NICRemedy:        {Name: "cxi1", Fault: "NIC cxi1: EIO"},
		"`modprobe cxi-user`": {Name: "cxi1", Fault: "NIC cxi1: /dev/cxi1 is missing", Remedy: "`modprobe cxi-user`"},
	} {
		s := state{devices: []core.Device{d}, servErr: core.Errorf(core.NICFailed, "%s", d.Fault)}
		found := append(s.nics(), s.held()...)
		if len(found) != 1 || found[0].Remedy != name || found[0].Evidence != d.Fault {
			t.Errorf("got %+v", found)
		}
	}
}

// TestOneFaultIsToldOnce: a fault that node and plugin both see is one finding. One that a plugin alone sees stays.
func TestOneFaultIsToldOnce(t *testing.T) {
	uid7 := core.Service{Device: "cxi0", ID: 4, Owner: core.UID(7), Enabled: true}
	opens := core.Finding{
		Severity: core.Critical, What: "service 4 lets uid 7 use every VNI",
		Remedy: "`cxi_service delete -d cxi0 -s 4`, and more",
	}
	noted := opens
	noted.Severity = core.Notice
	unopened := core.Finding{Severity: core.Critical, What: "NIC cxi1: it cannot be used", Evidence: "NIC cxi1: EIO"}
	broken := []core.Device{{Name: "cxi1", Fault: "NIC cxi1: EIO"}}
	hangs := core.Finding{
		Severity: core.Critical, What: "NIC cxi1: it cannot be used", NICs: []string{"cxi1"},
		Evidence: "NIC cxi1: cannot check it: an earlier call still waits for it within 17.75s", Remedy: core.NICRemedy,
	}
	another, ama := hangs, hangs
	another.What, another.NICs = "NIC cxi2: it cannot be used", []string{"cxi2"}
	ama.What, ama.Remedy = "NIC cxi1: libfabric leaves it out", "see whether LLDP arrives"
	hung := []core.Device{{Name: "cxi1", Fault: "NIC cxi1: cannot read it: it did not answer within 1.75s"}}
	fine := []core.Device{{Name: "cxi1", Up: true, Retry: true}}
	const cannot, stray = "NIC cxi1 cannot be used", "a service is of uid 7, who has no job on this node"
	for name, c := range map[string]struct {
		devices []core.Device
		orphans []core.Service
		theirs  []core.Finding
		want    []string // findings that are worse than good
	}{
		"a NIC that does not open":          {broken, nil, []core.Finding{unopened}, []string{cannot}},
		"a NIC that hangs":                  {hung, nil, []core.Finding{hangs}, []string{cannot}},
		"another NIC that hangs":            {hung, nil, []core.Finding{another}, []string{cannot, another.What}},
		"another fault of that NIC":         {hung, nil, []core.Finding{ama}, []string{cannot, ama.What}},
		"one that only the plugin sees":     {fine, nil, []core.Finding{unopened}, []string{unopened.What}},
		"a service that opens every VNI":    {fine, []core.Service{uid7}, []core.Finding{opens}, []string{opens.What}},
		"one that the plugin only notes":    {fine, []core.Service{uid7}, []core.Finding{noted}, []string{stray, noted.What}},
		"one that the plugin does not know": {fine, []core.Service{uid7}, nil, []string{stray}},
		"one of each": {
			fine, []core.Service{uid7, {Device: "cxi0", ID: 44, Owner: core.UID(7)}}, []core.Finding{opens},
			[]string{stray, opens.What},
		},
	} {
		s := state{devices: c.devices, orphans: c.orphans, linked: true}
		found := together(s, map[string][]core.Finding{"driver cxi": c.theirs})
		var got []string
		for _, f := range append(found[OfNode], found["driver cxi"]...) {
			if f.Severity > core.Good {
				got = append(got, f.What)
			}
			if f.What == stray && !strings.HasSuffix(f.Evidence, " of uid 7 with no VNI of its own") {
				t.Errorf("%s: the evidence is %q", name, f.Evidence)
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestANICUnderAnotherName: the doctor tells a NIC that came back from one that is lost.
func TestANICUnderAnotherName(t *testing.T) {
	nic := func(name string) core.Device { return core.Device{Name: name, Up: true, Retry: true} }
	s := state{accepted: []string{"cxi0", "cxi1"}, devices: []core.Device{nic("cxi0")}}
	const lacks = "the node lacks NIC cxi1 of its accepted inventory"
	if f := s.nics()[0]; f.What != lacks || f.Severity != core.Critical {
		t.Errorf("got %+v", f)
	}
	s.devices = append(s.devices, nic("cxi4"))
	f := s.nics()[0]
	if f.What != lacks+", and has NIC cxi4" || f.Severity != core.Critical ||
		!strings.HasPrefix(f.Remedy, "a NIC that was removed and put back") {
		t.Errorf("got %+v", f)
	}
}

// TestRemedyOfAJobThatStays: only a job whose service is in use waits for an application.
func TestRemedyOfAJobThatStays(t *testing.T) {
	for _, busy := range []bool{true, false} {
		s := state{stuck: []node.Stuck{{Why: "NIC cxi1 is not there", Busy: busy}}}
		f := s.held()[0]
		if strings.Contains(f.Remedy, "application") != busy {
			t.Errorf("busy %v: the remedy is %q", busy, f.Remedy)
		}
	}
}
