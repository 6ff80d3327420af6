package node

import (
	"slices"
	"strconv"

	"github.com/weft-hpc/weft/core"
)

// Names of the job's environment, in the order in which they are given.
const (
	envVNIs      = "SLINGSHOT_VNIS"
	envDevices   = "SLINGSHOT_DEVICES"
	envServices  = "SLINGSHOT_SVC_IDS"
	envClasses   = "SLINGSHOT_TCS"
	envJob       = "FI_CXI_COLL_JOB_ID"
	envStep      = "FI_CXI_COLL_JOB_STEP_ID"
	envToken     = "FI_CXI_COLL_MCAST_TOKEN"
	envURL       = "FI_CXI_COLL_FABRIC_MGR_URL"
	envAddresses = "FI_CXI_HWCOLL_ADDRS_PER_JOB"
	envMinNodes  = "FI_CXI_HWCOLL_MIN_NODES"
)

// Origins are the variables by which a shell tells the job whose network it has: Flux's shell plugin sets WEFT_FROM,
// and `weft run` the others. A submitting shell carries them into another job, where they are wrong.
var Origins = []string{"WEFT_FROM", "WEFT_JOB", "WEFT_NODE"}

// Environment is what tasks of the run have set: what the submitting shell may have carried is unset first, Origins
// too. A run without VNIs has all unset. The step is not known here: see StepEnvironment.
func Environment(e Entry) []core.Variable {
	all := make([]core.Variable, 0, len(Origins)+10)
	for _, name := range Origins {
		all = append(all, core.Variable{Name: name, Unset: true})
	}
	return append(all, Network(e)...)
}

// Network is Environment without Origins.
func Network(e Entry) []core.Variable {
	unset, set := make([]core.Variable, 0, 10), make([]core.Variable, 0, 10)
	put := func(there bool, name, value string) {
		if there {
			set = append(set, core.Variable{Name: name, Value: value})
		} else {
			unset = append(unset, core.Variable{Name: name, Unset: true})
		}
	}
	granted := len(e.Grant.VNIs) > 0
	devices, ids := serviceLists(e.Services)
	put(granted, envVNIs, core.FormatVNIs(e.Grant.Own()))
	put(granted, envDevices, devices)
	put(granted, envServices, ids)
	put(granted, envClasses, e.Grant.Classes.Env())
	var c core.Collective
	collective := granted && e.Grant.Collective != nil
	if collective {
		c = *e.Grant.Collective
	}
	put(collective, envJob, c.JobID)
	put(false, envStep, "")
	put(collective, envToken, c.Token)
	put(collective, envURL, c.URL)
	put(collective, envAddresses, strconv.Itoa(c.Addresses))
	put(collective, envMinNodes, strconv.Itoa(c.MinNodes))
	return append(unset, set...)
}

// StepEnvironment is Environment with the id of the step, which a job with collectives has set; empty unsets it.
func StepEnvironment(e Entry, step string) []core.Variable {
	with, _ := WithStep(Environment(e), step)
	return with
}

// serviceLists are the NICs and the ids of their services, in the same order.
func serviceLists(services []core.Service) (string, string) {
	var devices, ids []byte
	for i := range services {
		if i > 0 {
			devices, ids = append(devices, ','), append(ids, ',')
		}
		devices = append(devices, services[i].Device...)
		ids = strconv.AppendUint(ids, uint64(services[i].ID), 10)
	}
	return string(devices), string(ids)
}

// environment tells a job's variables to its owner, and to nobody else but root.
func (m *Machine) environment(h Hook) {
	for _, r := range slices.Backward(m.jobs[h.Ask.Key.JobID]) {
		if r.State == Ready && r.unfit != "" && (h.Peer.Root() || r.UID == h.Peer.UID) {
			m.refuse(h, core.Errorf(core.NICMissing, "environment of %v: %s", h.Ask.Key.JobID, r.unfit).
				WithRemedy("start the job again: this one cannot use that NIC any more"))
			return
		}
		if r.State == Ready && (h.Peer.Root() || r.UID == h.Peer.UID) {
			if h.Doubt && r.networked() {
				m.doubt(h)
				return
			}
			m.unplugged(r, h)
			m.show(r, h)
			return
		}
	}
	err := m.whyRefused(h.Ask.Key.JobID, h.Peer)
	if err == nil {
		err = core.Errorf(core.NoRecord, "environment of %v: this node holds nothing for it that uid %d may see", h.Ask.Key.JobID, h.Peer.UID)
	}
	m.refuse(h, err)
}

// WithStep is an Environment with the id of a step, as StepEnvironment gives it; ok says whether the step makes a difference, which it does for a job with
// collectives only.
func WithStep(environment []core.Variable, step string) (with []core.Variable, ok bool) {
	named := func(name string) func(core.Variable) bool {
		return func(v core.Variable) bool { return v.Name == name && !v.Unset }
	}
	at := slices.IndexFunc(environment, named(envJob))
	if at < 0 || step == "" {
		return environment, false
	}
	with = slices.Insert(slices.Clone(environment), at+1, core.Variable{Name: envStep, Value: step})
	return slices.DeleteFunc(with, func(v core.Variable) bool { return v.Name == envStep && v.Unset }), true
}
