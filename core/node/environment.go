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

// Environment is what tasks of the run have set: what the submitting shell may have carried is unset first. A run without VNIs has all unset. The step is
// not known here: see StepEnvironment.
func Environment(e Entry) []core.Variable { return StepEnvironment(e, "") }

// StepEnvironment is Environment with the id of the step, which a job with collectives has set; empty unsets it.
func StepEnvironment(e Entry, step string) []core.Variable {
	out := make([]core.Variable, 0, 10)
	unset := func(name string) { out = append(out, core.Variable{Name: name, Unset: true}) }
	c := e.Grant.Collective
	if len(e.Grant.VNIs) == 0 {
		c = nil
		unset(envVNIs)
		unset(envDevices)
		unset(envServices)
		unset(envClasses)
	}
	if c == nil {
		unset(envJob)
	}
	if c == nil || step == "" {
		unset(envStep)
	}
	if c == nil {
		unset(envToken)
		unset(envURL)
		unset(envAddresses)
		unset(envMinNodes)
	}
	set := func(name, value string) { out = append(out, core.Variable{Name: name, Value: value}) }
	if len(e.Grant.VNIs) > 0 {
		set(envVNIs, core.FormatVNIs(e.Grant.VNIs))
		devices, ids := serviceLists(e.Services)
		set(envDevices, devices)
		set(envServices, ids)
		set(envClasses, e.Grant.Classes.Env())
	}
	if c != nil {
		set(envJob, c.JobID)
		if step != "" {
			set(envStep, step)
		}
		set(envToken, c.Token)
		set(envURL, c.URL)
		set(envAddresses, strconv.Itoa(c.Addresses))
		set(envMinNodes, strconv.Itoa(c.MinNodes))
	}
	return out
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
	rs := m.jobs[h.Ask.Key.JobID]
	for i := len(rs) - 1; i >= 0; i-- {
		if r := rs[i]; r.State == Ready && (h.Peer.Root() || r.UID == h.Peer.UID) {
			m.reply(h.Call, core.Outcome{Action: core.Environment, Key: r.Key, Environment: StepEnvironment(r.Entry, h.Ask.Step)})
			return
		}
	}
	if err := m.whyRefused(h.Ask.Key.JobID, h.Peer); err != nil {
		m.refuse(h, err)
		return
	}
	m.refuse(h, core.Errorf(core.NoRecord, "environment of %v: this node holds nothing for it that uid %d may see", h.Ask.Key.JobID, h.Peer.UID))
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
