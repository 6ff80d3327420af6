package cxi

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi/health"
)

// Check tells versions, what library and driver cannot do, and what files show of a NIC's health; what it finds alike on several NICs it says once. A NIC's link, retry handler, default
// service, traffic classes and RGIDs are Devices' to tell. The error is for a check that could not be made at all; a node without library or NICs is a finding.
func (d *Driver) Check(ctx context.Context) ([]core.Finding, error) {
	ctx, stop := beforeEnd(ctx)
	defer stop()
	if ctx.Err() != nil {
		return nil, ended(ctx, "check the NICs")
	}
	s := d.now()
	lib, err := d.library(ctx)
	if err != nil {
		return []core.Finding{trouble("libcxi cannot be used", err)}, nil
	}
	file := lib.file
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	module, version := s.sys.driver()
	out := []core.Finding{{Severity: core.Good, What: "libcxi is loaded", Evidence: fmt.Sprintf("%s, %s; %s %s", file, lib.newest(), module, version)}}
	cards, virtual, err := s.sys.cards()
	if err != nil {
		return append(out, trouble("no NIC can be used", err)), nil
	}
	each := make([][]core.Finding, len(cards), len(cards)+len(virtual))
	parallel(len(cards), func(i int) {
		found, err := once(ctx, d, lib, cards[i], true, "cannot check it", func(n *nic) []core.Finding {
			return append(d.checkNIC(n), d.health(n.name)...)
		})
		switch {
		case err != nil && err.Reason == core.NICMissing:
			found = []core.Finding{isVirtual}
		case err != nil:
			found = []core.Finding{trouble("it cannot be used", err)}
			if ctx.Err() == nil { // its files may tell why; those of a NIC that hangs may hang, too
				found = append(found, d.health(cards[i].name)...)
			}
		}
		each[i] = found
	})
	for range virtual {
		each = append(each, []core.Finding{isVirtual})
	}
	return append(out, s.sys.fold(append(cards, virtual...), each)...), nil
}

var isVirtual = core.Finding{
	Severity: core.Notice, What: "it is a virtual function, and no NIC of the node",
	Evidence: "libcxi's is_vf, or device/physfn or device/resource0 in sysfs",
	Remedy:   "none is needed; Weft makes no service on it, and its absence drains no node",
}

// fold says once what several NICs have in common.
func (s sysfs) fold(cards []card, each [][]core.Finding) (out []core.Finding) {
	for i, found := range each {
		for _, f := range found {
			at := slices.IndexFunc(out, func(o core.Finding) bool {
				return o.Severity == f.Severity && o.What == f.What && o.Evidence == f.Evidence && o.Remedy == f.Remedy
			})
			if at < 0 {
				at, out = len(out), append(out, f)
			}
			out[at].NICs = append(out[at].NICs, cards[i].name)
		}
	}
	for i := range out {
		f := &out[i]
		f.What = "NIC " + strings.Join(f.NICs, ", ") + ": " + f.What
		var networks []string
		for _, name := range f.NICs {
			networks = append(networks, health.NetworkOf(string(s), name).Name)
		}
		f.Remedy = core.OnNetworks(f.Remedy, networks)
	}
	return out
}

func trouble(what string, err error) core.Finding {
	e := core.AsError(err)
	remedy := cmp.Or(e.Known(), core.NICRemedy)
	return core.Finding{Severity: core.Critical, What: what, Evidence: e.What, Remedy: remedy}
}

func (d *Driver) checkNIC(n *nic) (out []core.Finding) {
	found := func(severity core.Severity, what, evidence, remedy string) {
		out = append(out, core.Finding{Severity: severity, What: what, Evidence: evidence, Remedy: remedy})
	}
	services, err := n.list()
	if err != ok {
		return []core.Finding{trouble("its services cannot be read", failure(n.name, "cannot list its services", 0, err))}
	}
	if err := n.setLPR(defaultID, maxLPR+1); err == eperm { // too many, which every release refuses in the next step
		found(core.Critical, "Weft may not make services on it", "the driver lets only root with CAP_SYS_ADMIN: EPERM", privilege)
		return out
	}
	t := n.traits()
	if t.fit.what != "" {
		found(t.fit.severity, t.fit.what, t.evidence(n.lib), oneRelease)
	}
	if t.release == "" {
		found(core.Warning, "the release of its driver is not known yet", "the driver did not answer as any release from SHS 12.0 to 14.0.1 does",
			"do not trust it with jobs before you know what differs")
		return out
	}
	found(core.Good, "its driver behaves as SHS "+t.release, "told by "+t.told, "")
	for _, l := range t.lacks() {
		found(core.Notice, l.what, "SHS "+t.release, l.remedy)
	}
	if f, is := n.lonely(); is {
		out = append(out, f)
	}
	for i := range services {
		if s := &services[i]; t.unchecked && s.id != defaultID && !s.has(systemService) {
			out = append(out, n.open(s)...)
		}
	}
	return out
}

// health judges the files of a NIC, with those that the last Check read.
func (d *Driver) health(nic string) []core.Finding {
	r := health.Read(string(d.now().sys), nic)
	d.mu.Lock()
	before := d.checked[nic]
	d.checked[nic] = r
	d.mu.Unlock()
	return r.Judge(before, time.Now())
}

// lack is something that a release cannot do, or does in its own way.
type lack struct{ what, remedy string }

func (t traits) lacks() (out []lack) {
	if !t.ranges {
		out = append(out, lack{"no VNI ranges for services", "SHS 13.1 brings them"})
	}
	if !t.netns {
		out = append(out, lack{"no services for network namespaces", "SHS 14 brings them"})
	}
	switch {
	case t.unchecked:
		out = append(out, lack{"a VNI may be in any number of services: the driver does not keep VNIs apart, only Weft's own books do", "SHS 13.0 and newer do"})
	case !t.exact:
		out = append(out, lack{"a VNI may be in one service alone: one that is left behind keeps its VNIs from the next job on this NIC", "`weft doctor` and `weft services` show such services"})
	}
	if !t.leByReservation {
		out = append(out, lack{"each service with list entries takes one of 16 LE pools, so a NIC carries at most 14 jobs", "SHS 14.0.1 takes a pool for reserved list entries only"})
	}
	if t.named {
		out = append(out, lack{
			"VNIs 1 and 10 are open to every user, also while the default service is disabled",
			"keep them out of the pools; SHS 13.1 closes them",
		})
	}
	if t.openIgnore {
		out = append(out, lack{"a service whose second member is ignored lets everybody in; Weft's are not, other managers' may be", "update to SHS 13.1"})
	}
	return out
}
