package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-hpc/weft/core/node"
)

var (
	entries  = desc("node_jobs", "Jobs that this node holds something for. Making: services are being made; ready: they stand; cleaning: they are being removed; clean: removed, and the server has not acknowledged it yet.", "phase")
	services = desc("nic_services", "Services of jobs that Weft made on a NIC.", "nic")
	unknown  = desc("node_unknown_services", "Services on the node's NICs that belong to no job and are neither the system's nor the default; their VNIs stay held. `weft doctor` shows them, `weft clean` removes those of Weft's VNIs.")
	nicLink  = desc("nic_link_up", "1 while the NIC's link is up.", "nic")
	nicSound = desc("nic_usable", "1 while the NIC's driver reports no fault.", "nic")
	nicRetry = desc("nic_retry_handler", "1 while the NIC's retry handler runs; libfabric does not use a NIC without it.", "nic")
	nicOpen  = desc("nic_default_service_enabled", "1 while the NIC's default service is enabled: every user of the node may then use VNIs 1 and 10, which voids isolation. `cxi_service disable` mends it.", "nic")
	bypasses = desc("bypass_uses_total", "Hooks that went by without Weft since the node's boot, as root's `weft agent bypass` allows. Jobs that started so have no isolation of their own.")
)

// nodeFigures are a node's machine in numbers.
type nodeFigures struct {
	phases   map[node.State]int
	services map[string]int
	unknown  int // -1: the NICs were not read yet
}

func figuresOf(m *node.Machine) nodeFigures {
	f := nodeFigures{phases: map[node.State]int{}, services: map[string]int{}, unknown: m.Unknown()}
	for _, e := range m.Entries() {
		f.phases[e.State]++
		for _, s := range e.Services {
			f.services[s.Device]++
		}
	}
	return f
}

func (a *Agent) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{up, age, entries, services, unknown, nicLink, nicSound, nicRetry, nicOpen, bypasses} {
		ch <- d
	}
}

func (a *Agent) Collect(ch chan<- prometheus.Metric) {
	if a.options.Bypasses != nil {
		if n, err := a.options.Bypasses(); err == nil {
			counter(ch, bypasses, float64(n))
		}
	}
	p := a.of.Load()
	if p == nil {
		gauge(ch, up, 0)
		return
	}
	w := *p
	f, old, fresh, ever := a.state.read(func(ctx context.Context) (nodeFigures, error) {
		got := make(chan nodeFigures, 1)
		if err := w.Look(ctx, func(m *node.Machine) { got <- figuresOf(m) }); err != nil {
			return nodeFigures{}, err
		}
		return <-got, nil
	})
	freshness(ch, old, fresh, ever)
	nics := w.NICs()
	for _, d := range nics {
		gauge(ch, nicLink, truth(d.Up), d.Name)
		gauge(ch, nicSound, truth(d.Fault == ""), d.Name)
		gauge(ch, nicRetry, truth(d.Retry), d.Name)
		gauge(ch, nicOpen, truth(d.Open), d.Name)
	}
	if !ever {
		return
	}
	for _, p := range []node.State{node.Asking, node.Making, node.Ready, node.Cleaning, node.Clean} {
		gauge(ch, entries, float64(f.phases[p]), p.String())
	}
	for _, d := range nics {
		gauge(ch, services, float64(f.services[d.Name]), d.Name)
	}
	if f.unknown >= 0 {
		gauge(ch, unknown, float64(f.unknown))
	}
}
