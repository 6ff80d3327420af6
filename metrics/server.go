package metrics

import (
	"context"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Authority is the server as it is read at a scrape: *server.Server.
type Authority interface {
	Figures(ctx context.Context) (engine.Figures, error)
	Waiting() (now, most int)
	Failure() *core.Error
}

// ServerOptions are what a Server shows beside what it counts. Each func is asked at every scrape and must return at once.
type ServerOptions struct {
	Process
	Schedulers []string                              // labels of config.hcl
	Sizes      func() map[string]int                 // VNIs of each pool
	Observed   func() map[string]int                 // the account of observed jobs in numbers; nil, or nil of it: none are
	Refused    func() bool                           // the last reload was; nil: there is none
	NodeExpiry func() time.Time                      // when the first certificate of the nodes that are connected ends; nil or zero: they have none
	Several    func() Several                        // nil: there is one server
	Store      func() (bytes, free int64, err error) // of the store's file; nil: it has none
}

// Server is the server's page. It is a server.Meter and an http.Handler.
type Server struct {
	exporter
	options ServerOptions
	of      atomic.Pointer[Authority]
	state   reading[engine.Figures]

	reserves  *prometheus.CounterVec
	reserved  *prometheus.HistogramVec
	described *prometheus.HistogramVec
	failed    *prometheus.CounterVec
	committed prometheus.Observer
	batch     prometheus.Observer
	uncommit  *prometheus.CounterVec
	denies    *prometheus.CounterVec
	exceeded  *prometheus.CounterVec
	degraded  *prometheus.CounterVec

	mu         sync.Mutex
	schedulers map[string]time.Time // when each answered last; the start, until then
}

// NewServer makes the page of a server; Watch tells it which.
func NewServer(o ServerOptions) *Server {
	s := &Server{exporter: newExporter(o.Process), options: o, schedulers: map[string]time.Time{}}
	for _, name := range o.Schedulers {
		s.schedulers[name] = time.Now()
	}
	s.committed = s.histograms("weft_commit_duration_seconds", commitBuckets,
		"How long the store took to make a batch durable. Every prepare waits for one.").WithLabelValues()
	s.batch = s.histograms("weft_commit_inputs", batchBuckets,
		"How many inputs shared a commit. The busier the server, the more.").WithLabelValues()
	s.reserves = s.counters("weft_reserve_calls_total",
		"Prepares of nodes that were answered: granted, denied (the job asked for what it cannot have), observed "+
			"(Weft only looks at the job) or refused (Weft or the node is at fault), and the reason as in docs/errors.md.", "scheduler", "outcome", "reason")
	s.reserved = s.histograms("weft_reserve_duration_seconds", callBuckets,
		"How long a node's prepare waited for the server, its scheduler's answer and the disk included.", "outcome")
	s.described = s.histograms("weft_describe_duration_seconds", callBuckets,
		"How long a scheduler took to describe a job. It is asked once for each run of a job.", "scheduler")
	s.failed = s.counters("weft_describe_failures_total",
		"Jobs that a scheduler did not describe, and why.", "scheduler", "reason")
	s.uncommit = s.counters("weft_commit_failures_total",
		"Commits that failed. Nothing is granted from the first until one succeeds.", "reason")
	s.denies = s.counters("weft_policy_denies_total",
		"Jobs that a deny of policy was for, by its name and its enforce: deny refused them; warn and dry_run "+
			"would have.", "deny", "enforce")
	s.exceeded = s.counters("weft_quota_exceeded_total",
		"Jobs that went beyond a quota, by its name and its enforce: deny refused them; warn and dry_run would "+
			"have.", "quota", "enforce")
	s.degraded = s.counters("weft_degraded_jobs_total",
		"Jobs that run without isolation, since no VNI was free for them and policy has on_failure = degrade.", "scheduler")
	s.registry.MustRegister(s)
	return s
}

func (s *Server) Watch(srv Authority) { s.of.Store(&srv) }

// scheduler is a label's value: a name that config.hcl does not have is some caller's own.
func (s *Server) scheduler(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.schedulers[name]; ok {
		return name
	}
	return other
}

func (s *Server) Reserved(scheduler string, r core.Reason, took time.Duration) {
	outcome := "refused"
	switch {
	case r == "":
		outcome = "granted"
	case r == core.Observed:
		outcome = "observed"
	case r.Scope() == core.ScopeJob:
		outcome = "denied"
	}
	s.reserves.WithLabelValues(s.scheduler(scheduler), outcome, word(r)).Inc()
	s.reserved.WithLabelValues(outcome).Observe(took.Seconds())
}

func (s *Server) Described(scheduler string, r core.Reason, took time.Duration) {
	label := s.scheduler(scheduler)
	s.described.WithLabelValues(label).Observe(took.Seconds())
	if r != "" {
		s.failed.WithLabelValues(label, word(r)).Inc()
	}
}

func (s *Server) Committed(inputs int, r core.Reason, took time.Duration) {
	s.committed.Observe(took.Seconds())
	s.batch.Observe(float64(inputs))
	if r != "" {
		s.uncommit.WithLabelValues(word(r)).Inc()
	}
}

func (s *Server) Answered(scheduler string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.schedulers[scheduler]; ok {
		s.schedulers[scheduler] = time.Now()
	}
}

// Denied takes names of policy's: of bounded length, and at most some thousand.
func (s *Server) Denied(name string, by engine.Enforce) {
	s.denies.WithLabelValues(strings.ToValidUTF8(name, "?"), by.String()).Inc()
}

func (s *Server) Degraded(scheduler string) {
	s.degraded.WithLabelValues(strings.ToValidUTF8(scheduler, "?")).Inc()
}

func (s *Server) Exceeded(quota string, by engine.Enforce) {
	s.exceeded.WithLabelValues(strings.ToValidUTF8(quota, "?"), by.String()).Inc()
}

// answers gives when each scheduler answered last.
func (s *Server) answers() map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.schedulers)
}
