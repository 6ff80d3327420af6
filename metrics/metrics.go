// Package metrics shows server and agent to Prometheus: what they count through their Meter, and their state, read at each scrape.
//
// A scrape never waits long for a writer: state that does not come within a moment is shown as it was last, with weft_up 0 and its age. No label has a
// value that users choose: jobs, users and VNIs are in lists and in the audit.
package metrics

import (
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weft-hpc/weft/core"
)

// Process is what a server and an agent have alike. Each func is asked at every scrape and must return at once.
type Process struct {
	Version string
	Expiry  func() time.Time // when the certificate in use ends; nil or zero: there is none
	Plugins func() []Plugin  // nil: there are none
	Runtime bool             // show the Go runtime's and the process's own figures too
}

// Plugin is one plugin of the process, as its host sees it.
type Plugin struct {
	Kind   string // driver, fabric, scheduler
	Name   string // label in config.hcl
	State  string // one of states
	Starts int    // lives begun since the daemon's start
	Deaths int    // of these, how many ended by themselves or failed to begin
}

// states are those of host's plugins; one that is not among them is shown beside them.
var states = []string{"starting", "ready", "degraded", "backoff", "failed", "stopped"}

const (
	patience = 2 * time.Second // that a scrape waits for a writer
	scrapes  = 3               // at a time
)

// Buckets of latencies, in seconds. The widest reach the longest limit of what they measure.
var (
	commitBuckets = []float64{.0001, .0002, .0005, .001, .002, .005, .01, .02, .05, .1, .5, 1, 5, 30}
	callBuckets   = []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10}
	hookBuckets   = []float64{.001, .002, .003, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 120}
	driverBuckets = []float64{.0001, .0005, .001, .002, .005, .01, .02, .05, .1, .5, 1, 5, 20, 60}
	batchBuckets  = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096}
)

// exporter is a registry and its page.
type exporter struct {
	registry *prometheus.Registry
	http.Handler
}

func newExporter(p Process) exporter {
	r := prometheus.NewRegistry()
	r.MustRegister(process{p})
	if p.Runtime {
		r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	return exporter{r, promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes, ErrorHandling: promhttp.ContinueOnError})}
}

func (e exporter) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	e.registry.MustRegister(v)
	return v
}

func (e exporter) histograms(name string, buckets []float64, help string, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	e.registry.MustRegister(v)
	return v
}

// desc describes a figure that is read at a scrape.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("weft_"+name, help, labels, nil)
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, valid(labels)...)
}

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, valid(labels)...)
}

// valid mends labels' values that are not UTF-8, for which the client panics: a driver may name its NICs as it likes.
func valid(labels []string) []string {
	for i := range labels {
		labels[i] = strings.ToValidUTF8(labels[i], "?")
	}
	return labels
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var (
	buildInfo     = desc("build_info", "Always 1; the labels say what runs.", "version", "go")
	expiry        = desc("certificate_expiry_timestamp_seconds", "When the certificate in use ends, in Unix time. A daemon whose certificate has ended is refused by all others; renew it with `weft tls`, it is read again without a restart.")
	pluginState   = desc("plugin_state", "1 for the state that a plugin is in, 0 for the others. Degraded: a health check was missed; backoff: it ended and is started again; failed: it ended too often and is started again slowly, or it needs an administrator.", "kind", "name", "state")
	pluginStarts  = desc("plugin_restarts_total", "Times that a plugin was started anew since the daemon began.", "kind", "name")
	pluginsDeaths = desc("plugin_deaths_total", "Times that a plugin ended by itself, was killed for not answering, or did not come up.", "kind", "name")
)

// process shows what a server and an agent have alike.
type process struct{ Process }

func (p process) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{buildInfo, expiry, pluginState, pluginStarts, pluginsDeaths} {
		ch <- d
	}
}

func (p process) Collect(ch chan<- prometheus.Metric) {
	gauge(ch, buildInfo, 1, p.Version, runtime.Version())
	if p.Expiry != nil {
		if t := p.Expiry(); !t.IsZero() {
			gauge(ch, expiry, float64(t.Unix()))
		}
	}
	if p.Plugins == nil {
		return
	}
	for _, plugin := range p.Plugins() {
		known := false
		for _, s := range states {
			gauge(ch, pluginState, truth(s == plugin.State), plugin.Kind, plugin.Name, s)
			known = known || s == plugin.State
		}
		if !known {
			gauge(ch, pluginState, 1, plugin.Kind, plugin.Name, plugin.State)
		}
		counter(ch, pluginStarts, float64(max(0, plugin.Starts-1)), plugin.Kind, plugin.Name)
		counter(ch, pluginsDeaths, float64(plugin.Deaths), plugin.Kind, plugin.Name)
	}
}

// other stands for every value that is not known, so that no outside word makes a series.
const other = "other"

// word is a Reason as a label's value; "ok" where there is none.
func word(r core.Reason) string {
	switch {
	case r == "":
		return "ok"
	case r.Remedy() == "": // it is not known
		return other
	}
	return string(r)
}
