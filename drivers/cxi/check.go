package cxi

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// Check looks for what would keep jobs from the network or from each other's isolation, and says what library and driver cannot do. The error is for a
// check that could not be made at all; a node without library or NICs is a finding.
func (d *Driver) Check(ctx context.Context) ([]core.Finding, error) {
	ctx, stop := beforeEnd(ctx)
	defer stop()
	if ctx.Err() != nil {
		return nil, ended(ctx, "check the NICs")
	}
	s := d.now()
	lib, err := d.library(ctx)
	if err != nil {
		return []core.Finding{trouble("libcxi", err)}, nil
	}
	file := lib.file
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	module, version, _ := s.sys.driver()
	if module == "" {
		module, version = "no driver", "it is not loaded"
	}
	cards, err := s.sys.cards()
	if err != nil {
		return []core.Finding{trouble("no NIC can be used", err)}, nil
	}
	each := make([][]core.Finding, len(cards))
	parallel(len(cards), func(i int) {
		visit(ctx, d, lib, cards[i], "check it", 1, func(n *nic, tell func(int, []core.Finding)) {
			tell(0, d.checkNIC(n, s, len(cards)))
		}, func(_ int, f []core.Finding) {
			each[i] = f
		}, func(_ int, err *core.Error) {
			each[i] = []core.Finding{trouble("NIC "+cards[i].name+" cannot be used", err)}
		})
	})
	out := []core.Finding{{Severity: core.Good, What: "libcxi and driver", Evidence: fmt.Sprintf("%s: %s; %s %s", file, lib.newest(), module, version)}}
	return append(out, slices.Concat(each...)...), nil
}

func trouble(what string, err error) core.Finding {
	e := core.AsError(err)
	return core.Finding{Severity: core.Critical, What: what, Evidence: e.What, Mend: e.Mend}
}

func (d *Driver) checkNIC(n *nic, s settings, nics int) (out []core.Finding) {
	found := func(severity core.Severity, what, evidence, mend string) {
		out = append(out, core.Finding{Severity: severity, What: "NIC " + n.name + ": " + what, Evidence: evidence, Mend: mend})
	}
	services, err := n.list()
	if err != ok {
		found(core.Critical, "its services cannot be read", failure(n.name, "list its services", 0, err).What, "see the kernel log")
		return out
	}
	for i := range services {
		if services[i].id == defaultID && services[i].has(enabled) {
			found(core.Critical, "the default service is enabled, which voids isolation", "service 1 lets every user of the node in, with the VNIs 1 and 10",
				"cxi_service disable -d "+n.name+" -s 1, and load the driver with disable_default_svc=1")
		}
	}
	if n.info.linkState == 0 {
		found(core.Critical, "its link is down", "link_state 0: libfabric does not use it", "cxi_stat -d "+n.name+"; check cable and switch port")
	}
	if n.info.pctEQ == 0 {
		found(core.Critical, "its retry handler does not run", "pct_eq 0: libfabric does not use it", "systemctl start cxi_rh@"+n.name)
	}
	if profile, has, known := s.sys.profile(n.name); known {
		if lacks := core.AllClasses &^ has; lacks != 0 {
			found(core.Notice, "its QoS profile has no "+lacks.String(), "active_qos_profile "+profile+": an application that sends with that class fails (EINVAL)",
				"grant no class that is missing in the policy; the profile is the fabric's, and is set by active_qos_profile when the driver is loaded")
		}
	}
	d.checkRGIDs(n, s, nics, found)
	t := d.traits(n, services)
	if t.release == "" {
		found(core.Warning, "its release could not be told", "the driver did not answer as any release from SHS 12.0 to 14.0.1 does; it does so only to root with CAP_SYS_ADMIN",
			"run the agent as root; with another release, read docs/cxi.md before you trust it with jobs")
		return out
	}
	found(core.Good, "its driver behaves as SHS "+t.release, "asked for services that every release refuses, each in its own way", "")
	for _, l := range t.lacks() {
		found(core.Notice, l.what, "SHS "+t.release, l.mend)
	}
	if n.lib.enable != nil && !t.ranges {
		found(core.Critical, "libcxi is newer than the driver, so that applications cannot send", "libcxi is of "+n.lib.newest()+", the driver SHS "+t.release+
			": the library asks for communication profiles by a command that this driver refuses (EINVAL)", "install driver and libcxi of the same release")
	}
	if (t.netns && n.lib.setNetNS == nil) || (t.ranges && n.lib.enable == nil) {
		found(core.Warning, "libcxi is older than the driver, whose newer calls it lacks", "libcxi is of "+n.lib.newest()+", the driver SHS "+t.release, "install libcxi of the driver's release")
	}
	return out
}

// checkRGIDs looks at what bounds the processes that can have the NIC open at the same time.
func (d *Driver) checkRGIDs(n *nic, s settings, nics int, found func(core.Severity, string, string, string)) {
	free, known := s.sys.rgids(n.name)
	if !known {
		return
	}
	processes := s.processes
	if processes == 0 {
		processes = int64(runtime.NumCPU())
	}
	each := (processes + int64(nics) - 1) / int64(nics)
	severity, what := core.Good, fmt.Sprintf("%d resource groups (RGIDs) are free", free)
	mend := ""
	switch {
	case free == 0:
		severity, what = core.Critical, "no resource group (RGID) is free, so no process can open it"
		mend = "end applications that hold it: `weft services` shows what is in use"
	case each > int64(free):
		severity = core.Notice
		mend = "nothing: processes of a job share them, up to 8 each"
	}
	found(severity, what, fmt.Sprintf("rgids_avail %d; up to %d processes a NIC", free, each), mend)
}

// lack is something that a release cannot do, or does in its own way.
type lack struct{ what, mend string }

func (t traits) lacks() (out []lack) {
	if !t.ranges {
		out = append(out, lack{"no VNI ranges for services", "SHS 13.1 brings them"})
	}
	if !t.netns {
		out = append(out, lack{"no services for network namespaces", "SHS 14 brings them"})
	}
	switch t.release {
	case shs120:
		out = append(out, lack{"a VNI may be in any number of services: the driver does not keep VNIs apart, only Weft's own books do", "SHS 13.1 does"})
	case shs130, shs131, shs140:
		out = append(out, lack{"a VNI may be in one service alone: one that is left behind keeps its VNIs from the next job on this NIC", "`weft doctor` and `weft services` show such services"})
	}
	if t.release == shs130 {
		out = append(out, lack{"a service whose second member is ignored lets everybody in; Weft's are not, other managers' may be", "update to SHS 13.1"})
	}
	return out
}
