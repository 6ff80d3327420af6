package metrics

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
)

// Worker is the agent as it is read at a scrape: *agent.Agent.
type Worker interface {
	Look(ctx context.Context, f func(*node.Machine)) error
	NICs() []core.Device
}

// AgentOptions are what an Agent shows beside what it counts.
type AgentOptions struct {
	Process
	Bypasses func() (uint64, error) // hooks that went by without Weft since the node's boot; nil: none can
}

// Agent is the agent's page. It is an agent.Meter and an http.Handler.
type Agent struct {
	exporter
	options AgentOptions
	of      atomic.Pointer[Worker]
	state   reading[nodeFigures]

	hooks    *prometheus.CounterVec
	hooked   *prometheus.HistogramVec
	driven   *prometheus.HistogramVec
	failed   *prometheus.CounterVec
	degraded *prometheus.CounterVec
	short    *prometheus.CounterVec
	linked   prometheus.Counter
	link     prometheus.Gauge

	mu     sync.Mutex
	phases map[string]int // phases by scheduler and name, counted: a scheduler has few
}

// maxPhases bounds the phases that have a label's value of their own.
const maxPhases = 64

// NewAgent makes the page of an agent; Watch tells it which.
func NewAgent(o AgentOptions) *Agent {
	a := &Agent{
		exporter: newExporter(o.Process), options: o, phases: map[string]int{},
		link: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weft_server_linked",
			Help: "1 while there is a session with the server. Without one running jobs go on and clean-up works; new jobs wait.",
		}),
	}
	a.linked = a.counters("weft_server_sessions_total",
		"Sessions with the server that began. More than a few an hour: look at the network, or at the server's log.").WithLabelValues()
	a.hooks = a.counters("weft_hook_calls_total",
		"Hooks of schedulers that were answered, by the scheduler's own word for the phase, and the reason as in "+
			"docs/errors.md (ok: none).", "scheduler", "phase", "reason")
	a.hooked = a.histograms("weft_hook_duration_seconds", hookBuckets,
		"How long a hook waited for the agent. A job's start waits for its prepare.", "scheduler", "phase")
	a.driven = a.histograms("weft_driver_duration_seconds", driverBuckets,
		"How long the NIC driver took for a call over all NICs of the node.", "call")
	a.failed = a.counters("weft_driver_failures_total",
		"Calls to the NIC driver that failed on at least one NIC, and why. A service-busy is tried again and is "+
			"no fault by itself.", "call", "reason")
	a.degraded = a.counters("weft_degraded_prepares_total",
		"Prepares on this node whose jobs run without isolation, since Weft could not serve them and policy has "+
			"on_failure = degrade, and why.", "scheduler", "reason")
	a.short = a.counters("weft_short_prepares_total",
		"Jobs that started on this node with less of a NIC than policy granted, or on a NIC with a fault; "+
			"`weft job` says what they lack and why.", "scheduler")
	a.registry.MustRegister(a.link, a)
	return a
}

func (a *Agent) Watch(w Worker) { a.of.Store(&w) }

func (a *Agent) Hooked(scheduler, phase string, r core.Reason, took time.Duration) {
	scheduler, phase = strings.ToValidUTF8(scheduler, "?"), strings.ToValidUTF8(a.phase(scheduler, phase), "?")
	a.hooks.WithLabelValues(scheduler, phase, word(r)).Inc()
	a.hooked.WithLabelValues(scheduler, phase).Observe(took.Seconds())
}

// phase is a label's value. Callers are users too: what their adapter did not understand, and what is beyond the bound, shares one.
func (a *Agent) phase(scheduler, name string) string {
	if name == "" {
		return other
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := scheduler + "/" + name
	if a.phases[key] == 0 && len(a.phases) >= maxPhases {
		return other
	}
	a.phases[key]++
	return core.Clip(name)
}

func (a *Agent) Driven(verb string, r core.Reason, took time.Duration) {
	a.driven.WithLabelValues(verb).Observe(took.Seconds())
	if r != "" {
		a.failed.WithLabelValues(verb, word(r)).Inc()
	}
}

func (a *Agent) Degraded(scheduler string, r core.Reason) {
	a.degraded.WithLabelValues(strings.ToValidUTF8(scheduler, "?"), word(r)).Inc()
}

func (a *Agent) Short(scheduler string) {
	a.short.WithLabelValues(strings.ToValidUTF8(scheduler, "?")).Inc()
}

func (a *Agent) Linked(up bool) {
	a.link.Set(truth(up))
	if up {
		a.linked.Inc()
	}
}
