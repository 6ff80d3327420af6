package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// fewRGIDs is when a NIC's resource group ids are about to end: an application takes one, and a node runs some at once.
const fewRGIDs = 8

// FindingRow.What of a node on which no new job starts.
const (
	OutOfService = "this node was taken out of service"
	NoSession    = "the agent has no session with the server: new jobs wait, running ones do not notice"
)

// diagnose says what is wrong with a node. It is pure.
func diagnose(s state) []core.Finding {
	if s.lookErr != nil {
		return []core.Finding{{Severity: core.Critical, What: "the agent cannot tell what this node holds", Evidence: core.AsError(s.lookErr).What, Remedy: "see the agent's log; `systemctl restart weft-agent` touches no job"}}
	}
	found := s.nics()
	found = append(found, s.held()...)
	found = append(found, s.self()...)
	bad := false
	for _, f := range found {
		bad = bad || f.Severity >= core.Warning
	}
	if !bad {
		found = append(found, core.Finding{Severity: core.Good, What: "the NICs can be used, and every service on them has its job", Evidence: fmt.Sprintf("%d NICs, %d services", len(s.devices), len(s.services))})
	}
	return found
}

// nics are findings about the NICs themselves.
func (s *state) nics() []core.Finding {
	if s.devicesErr != nil {
		return []core.Finding{unread("the NICs cannot be read", s.devicesErr)}
	}
	var found []core.Finding
	want := 0
	if s.site.NICs != nil {
		want = s.site.NICs()
	}
	lacks := s.lacks()
	switch n := len(s.devices); {
	case n == 0:
		found = append(found, core.Finding{Severity: core.Critical, What: "the node has no NIC", Evidence: "the driver lists none", Remedy: "look for the NICs with `lspci` and in the kernel's log"})
	case len(lacks) > 0:
		f := core.Finding{
			Severity: core.Critical, What: "the node lacks NIC " + hostlist.Fold(lacks) + " of its accepted inventory",
			Evidence: fmt.Sprintf("%d NICs were accepted, and the driver lists %d", len(s.accepted), n), NICs: lacks,
			Remedy: "look for the NIC in the kernel's log, mend it or reboot the node; `weft node accept NODE` where it has no more",
		}
		if others := s.others(); len(others) > 0 {
			f.What += ", and has NIC " + hostlist.Fold(others)
			f.Remedy = "a NIC that was removed and put back has another name: `weft node accept NODE` takes the NICs that are there"
		}
		found = append(found, f)
	case n < want:
		found = append(found, core.Finding{
			Severity: core.Warning, What: "the node has fewer NICs than config.hcl says", Evidence: fmt.Sprintf("topology's nics_per_node is %d, and the driver lists %d", want, n),
			Remedy: "mend the NIC or reboot the node; `weft node accept NODE` where it has no more",
		})
	}
	var order []fault
	on := map[fault][]*core.Device{}
	for i := range s.devices {
		for _, f := range s.nic(&s.devices[i]) {
			if on[f] == nil {
				order = append(order, f)
			}
			on[f] = append(on[f], &s.devices[i])
		}
	}
	for _, f := range order {
		found = append(found, f.of(on[f]))
	}
	return found
}

// unread is the driver's failure to read: its plugin may be dead, or a NIC.
func unread(what string, err error) core.Finding {
	e := core.AsError(err)
	remedy := cmp.Or(e.Known(), core.NICRemedy)
	if e.Reason == core.DriverAway {
		what += ": the driver's plugin does not answer"
		remedy = "`weft plugin list` shows its state and its last words, and `weft plugin restart` starts it again; services stay on the NICs"
	}
	return core.Finding{Severity: core.Critical, What: what, Evidence: e.What, Remedy: remedy}
}

// lacks are the NICs that were accepted and are not there.
func (s *state) lacks() []string {
	var out []string
	for _, name := range s.accepted {
		if !slices.ContainsFunc(s.devices, func(d core.Device) bool { return d.Name == name }) {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, hostlist.Compare)
	return out
}

// others are the NICs that are there and were not accepted.
func (s *state) others() []string {
	var out []string
	for i := range s.devices {
		if name := s.devices[i].Name; !slices.Contains(s.accepted, name) {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, hostlist.Compare)
	return out
}

// fault is what is wrong with a NIC, with "%s" for its name: NICs that have the same one are told together.
type fault struct {
	severity               core.Severity
	evidence               string
	command, remedy, words string // command is one for each NIC, and remedy the text behind it
}

// of is the fault of these NICs.
func (f fault) of(nics []*core.Device) core.Finding {
	slices.SortFunc(nics, func(a, b *core.Device) int { return hostlist.Compare(a.Name, b.Name) })
	var names, networks, commands []string
	for _, n := range nics {
		names, networks = append(names, n.Name), append(networks, n.Network)
		if f.command != "" {
			commands = append(commands, fmt.Sprintf(f.command, n.Name))
		}
	}
	remedy := f.remedy
	if commands != nil {
		remedy = "`" + strings.Join(commands, "; ") + "`" + remedy
	}
	return core.Finding{
		Severity: f.severity, What: fmt.Sprintf(f.words, hostlist.Fold(names)), Evidence: f.evidence,
		Remedy: core.OnNetworks(remedy, networks), NICs: names,
	}
}

// nic is what is wrong with one NIC.
func (s *state) nic(d *core.Device) (found []fault) {
	if d.Fault != "" {
		return []fault{{severity: core.Critical, evidence: d.Fault, remedy: cmp.Or(d.Remedy, core.NICRemedy), words: "NIC %s cannot be used"}}
	}
	if d.Open {
		found = append(found, fault{
			core.Critical, "service 1 is enabled", "cxi_service disable -d %s -s 1", ", and cxi_ss1.disable_default_svc=1 for the next boot",
			"NIC %s: its default service is enabled: every user of the node can use VNIs 1 and 10 without a job, which voids isolation",
		})
	}
	if !d.Up {
		found = append(found, fault{
			core.Critical, "its network device is not up", "cxi_stat -d %s",
			" shows the link: where it is up, `ip link set hsnN up`; else check cable and switch port", "NIC %s has no link",
		})
	}
	if !d.Retry { // HPE's manual, retry_handler.md and cassini_retry_handler_usage.md: an instance of cxi_rh@.service a NIC
		found = append(found, fault{
			core.Critical, "no event queue of a retry handler", "systemctl status cxi_rh@%s", " says why: where it has not run " +
				"since boot, start it; where it crashed, drain the node and reboot it. Never restart it: HPE forbids that while " +
				"traffic for the NIC is under way",
			"NIC %s has no retry handler running, and libfabric does not use a NIC without one",
		})
	}
	if s.site.Classes != nil && d.Classes != 0 {
		if lacks := s.site.Classes() &^ d.Classes; lacks != 0 {
			found = append(found, fault{
				severity: core.Warning, evidence: "the profile has " + strings.Join(d.Classes.Names(), ", "),
				remedy: core.ProfileRemedy + "; or take it out of traffic_classes in the policy",
				words: "NIC %s: its QoS profile lacks " + strings.Join(lacks.Names(), ", ") +
					", which policy gives to jobs that do not ask: their traffic in it fails",
			})
		}
	}
	if d.RGIDs.Total > 0 && d.RGIDs.Free < fewRGIDs {
		words := "NIC %s: few more applications can open a service on it"
		if d.RGIDs.Free == 0 {
			words = "NIC %s: no more applications can open a service on it"
		}
		found = append(found, fault{
			severity: core.Warning, evidence: fmt.Sprintf("%d of %d RGIDs are free", d.RGIDs.Free, d.RGIDs.Total),
			remedy: "`weft services` shows whose applications have them; they are free when those end", words: words,
		})
	}
	if has := d.Capacity[core.LE]; has.Pooled && has.PooledByMax && has.PoolsLeft == 0 {
		found = append(found, fault{
			severity: core.Warning, evidence: "no LE pool is left, and this driver takes one for each service",
			remedy: "`weft services` shows who has them; `weft clean` removes those of nobody", words: "NIC %s can take no further job",
		})
	}
	if has := d.Capacity[core.TLE]; has.Pooled && has.PoolsLeft == 0 {
		found = append(found, fault{
			severity: core.Notice, evidence: "no TLE pool is left: a NIC has 4", remedy: "none is needed; a job that must have them waits for another to end",
			words: "NIC %s: the next job gets no triggered operations",
		})
	}
	return found
}

// self are findings about the agent.
func (s *state) self() []core.Finding {
	var found []core.Finding
	if s.drain.Reason != "" {
		found = append(found, core.Finding{
			Severity: core.Warning, What: OutOfService, Evidence: s.drain.String(),
			Remedy: "mend that; then the node is in service again by itself or by `weft resume NODE`",
		})
	}
	if s.twoHosts != "" {
		found = append(found, core.Finding{
			Severity: core.Critical, What: "no job starts on this node, and nothing that it holds is freed",
			Evidence: s.twoHosts, Remedy: core.TwinRemedy,
		})
	}
	if !s.linked {
		found = append(found, core.Finding{Severity: core.Warning, What: NoSession, Evidence: "no connection stands: " + s.outage, Remedy: "`weft status` on the server's host; then the network, and `agent { server }` in config.hcl"})
	}
	switch {
	case s.bypassErr != nil:
		found = append(found, core.Finding{Severity: core.Warning, What: "the file of a bypass is not obeyed", Evidence: core.AsError(s.bypassErr).What, Remedy: "`weft agent bypass --end`"})
	case !s.bypass.IsZero():
		found = append(found, core.Finding{Severity: core.Critical, What: "Weft is bypassed on this node: jobs run without isolation of their own", Evidence: "until " + s.bypass.Format(time.RFC3339), Remedy: "`weft agent bypass --end` ends it"})
	}
	return found
}
