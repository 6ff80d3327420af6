package cxi

import (
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// question tells the releases first to last from the others, which answer no.
type question struct {
	first, last int
	by          string
	ask         func(*nic, sysfs) answer
}

type answer int

const (
	unanswered answer = iota
	no
	yes
)

// Ways to tell a release. No module of a release tells its version.
const (
	byParameters = "the names of its module's parameters"
	byDebugfs    = "its list of services in debugfs"
	byErrors     = "the error numbers of calls that every release refuses, which is inference"
)

// questions come in the order of their cost. Reading costs nothing. A service that the driver refuses with EINVAL costs
// nothing either. From 13.0 on another refusal costs the kernel some 200 bytes until its module is unloaded
// (cxi_svc_alloc in cass_svc.c of 13.0.0 to 14.0.1). So the driver gets a question only where it tells releases apart
// that are left.
var questions = []question{
	// Names of cass_svc.c (13.1.0), cass_sl.c (14.0.1) and cass_rmu_eth.c (main).
	{shs131, shsNewer, byParameters, parameter("default_lnis_per_rgid")},
	{shs1401, shsNewer, byParameters, parameter("cass_sl_pml_rec_timeout_ms")},
	{shsNewer, shsNewer, byParameters, parameter("rmu_pf_max_clients")},
	// dump_services in cass_svc.c (12.0.0) and in cass_ss1_debugfs.c (13.0.0).
	{shs130, shsNewer, byDebugfs, sayRgroups},
	{shs140, shsNewer, byErrors, askNetNS},
	{shs140, shsNewer, byErrors, askNetNSMembers},
	{shs131, shsNewer, byErrors, askNoVNI},
	{shs130, shs140, byErrors, askTooMuch},
}

// commits are those of the releases' tags in shs-cxi-driver. A driver whose build had one of them shows it
// (driver_rev_show in cass_sysfs.c). Another tells nothing.
var commits = map[string]int{
	"af5d2ed": shs120, "d1ebe2d": shs120, "27f7be5": shs120, "f62ae06": shs130, "e1c1b53": shs130, "a1d91b2": shs131,
	"021715b": shs140, "bb11c85": shs1401,
}

// tell asks what tells the releases apart that are left.
func (n *nic) tell(sys sysfs) (t traits) {
	if at, tagged := commits[sys.commit(n.name)]; tagged {
		t = releases[at]
		t.told = "the commit that it was built from"
		return t
	}
	left, told := 1<<len(releases)-1, []string(nil)
	for _, q := range questions {
		those := 1<<(q.last+1) - 1<<q.first
		if left&those == 0 || left&^those == 0 {
			continue
		}
		switch q.ask(n, sys) {
		case yes:
			left &= those
		case no:
			left &^= those
		default:
			continue
		}
		told = append(told, q.by)
	}
	for i, r := range releases {
		if left>>i&1 == 0 {
			continue
		}
		alike := r
		alike.release, alike.library = t.release, t.library
		switch t {
		case traits{}:
			t = r
		case alike:
			t.release += " or " + r.release
		default:
			return traits{}
		}
	}
	t.told = strings.Join(slices.Compact(told), " and ")
	return t
}

func parameter(name string) func(*nic, sysfs) answer {
	return func(_ *nic, s sysfs) answer { return s.parameter(name) }
}

func sayRgroups(n *nic, s sysfs) answer {
	switch text := s.read("kernel/debug/cxi", n.name, "services"); {
	case strings.Contains(text, "Rgroups:"):
		return yes
	case text != "":
		return no
	}
	return unanswered
}

// answers is yes or no by these error numbers; any other is no answer.
func (e errno) answers(ifYes, ifNo errno) answer {
	switch e {
	case ifYes:
		return yes
	case ifNo:
		return no
	default:
		return unanswered
	}
}

// askNetNS asks for a namespace for the default service, which lets everybody in (cxi_svc_set_netns of 14.0.0).
func askNetNS(n *nic, _ sysfs) answer { return n.setNetNS(defaultID, 1).answers(eexist, einval) }

// askNetNSMembers is for a library without that call. The type of its members is EINVAL before 14.0. From then on the
// same member twice is EEXIST.
func askNetNSMembers(n *nic, _ sysfs) answer {
	space := member{0, netNS}
	d := desc{flags: restricted, numVNIs: 1, members: [maxMembers]member{space, space}}
	d.vnis[0] = 1
	return n.refused(d).answers(eexist, einval)
}

// askNoVNI asks for a service without a VNI: EINVAL up to 13.0. From 13.1 on its two equal members are EEXIST.
func askNoVNI(n *nic, _ sysfs) answer {
	root := member{0, uid}
	return n.refused(desc{flags: restricted, members: [maxMembers]member{root, root}}).answers(eexist, einval)
}

// askTooMuch asks for a VNI of the default service, which is EEXIST from 13.0 to 14.0.0, and for all trigger list
// entries. That service has some of them in every release (cass_svc_init in cass_svc.c).
func askTooMuch(n *nic, _ sysfs) answer {
	services, _ := n.list()
	for i := range services {
		s := &services[i]
		if s.id != defaultID || !s.has(restrictedVNIs) || s.numVNIs == 0 || s.limits[core.TLE].reserved == 0 {
			continue
		}
		total := n.info.totals()[core.TLE]
		d := desc{flags: restricted, numVNIs: 1, members: [maxMembers]member{{0, uid}, {0, gid}}}
		d.vnis[0] = s.vnis[0]
		d.limits[core.TLE] = limit{total, total}
		return n.refused(d).answers(eexist, enospc)
	}
	return unanswered
}

// refused asks for a service that the driver must refuse, and gives the error number.
func (n *nic) refused(d desc) errno {
	id, _, err := n.alloc(&d)
	if err == ok {
		_ = n.destroy(id, true) // no known release gets here; the service admits root alone
	}
	return err
}
