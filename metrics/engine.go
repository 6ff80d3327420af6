package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

var (
	poolSize      = desc("pool_size_vnis", "VNIs that a pool has.", "pool")
	poolUsed      = desc("pool_used_vnis", "VNIs of a pool that are taken: by jobs, held, or in quarantine.", "pool")
	poolFree      = desc("pool_free_vnis", "VNIs of a pool that the next jobs can have. At 0 new jobs wait; `weft vnis` shows who has them.", "pool")
	reservations  = desc("reservations", "Reservations by state. Active: the job runs; draining: its nodes remove it; held: a node does not; quarantined: clean, and free soon.", "state")
	heldVNIs      = desc("held_vnis", "VNIs that are in no job and cannot be freed. Away: a node is out of contact; busy: an application still has the NIC; two-hosts: two hosts have a node's certificate; unknown: services that Weft did not make; vanished: jobs that disappeared all at once, which wait for `weft forget --vanished`; vouched: jobs that their scheduler does not list, and that a node sees alive.", "why")
	draining      = desc("oldest_draining_seconds", "How long the oldest of the draining reservations has been so; 0 when none is.")
	nodes         = desc("nodes", "Nodes that config.hcl declares or that ever reported.")
	sessions      = desc("sessions", "Nodes whose agent is in contact.")
	drained       = desc("nodes_drained", "Nodes that Weft has taken out of service; `weft nodes` shows why.")
	twoHosts      = desc("nodes_with_two_hosts", "Nodes whose certificate two hosts have. Nothing of them is freed or granted; `weft nodes` names the hosts.")
	awaited       = desc("nodes_awaited", "Nodes that must report before anything is granted.")
	recovering    = desc("recovering", "1 while nothing is granted because the store is new, without its witness, or not the newest; `weft status` says why.")
	policyInfo    = desc("policy_info", "Always 1; the label is the hash of the policy that decides now.", "hash")
	reloadRefused = desc("reload_refused", "1 while the files that the last reload read are not in force, since something is wrong with them; `weft status` says what. What was in force before still is.")
	queueLength   = desc("queue_length", "Inputs that wait for the server's writer.")
	queueLimit    = desc("queue_limit", "How many may wait; beyond, prepares are refused.")
	storeUp       = desc("store_writable", "1 while the store takes what is written; at 0 nothing is granted.")
	storeBytes    = desc("store_bytes", "Size of the store's file.")
	storeFree     = desc("store_free_bytes", "Bytes of it that are used again before it grows.")
	nodeExpiry    = desc("node_certificate_expiry_timestamp_seconds", "When the first certificate ends of the nodes that are connected, or has ended within 30 days, in Unix time; `weft nodes` shows each. Renew it with `weft tls node NAME`.")
	quotaUsed     = desc("quota_used", "What jobs hold of a quota, all its users, accounts or queues together; unit is vnis or addresses. A quota of which nobody holds anything is not shown.", "quota", "unit")
	quotaSubjects = desc("quota_subjects", "Users, accounts, queues or schedulers, as the quota's per says, that hold something of it.", "quota", "unit")
	quotaTop      = desc("quota_nearest_used", "What the one of them holds that is nearest to its bound. Who that is stands in the message of a job that the quota refuses.", "quota", "unit")
	quotaLimit    = desc("quota_nearest_limit", "That one's bound, as its newest job had it. Once weft_quota_nearest_used is as high it gets no more.", "quota", "unit")
	blind         = desc("scheduler_blind", "1 while a scheduler may hide jobs from Weft, so that Weft frees nothing of it; `weft status` says why.", "scheduler")
	observed      = desc("observed", "What Weft has seen of jobs that it only observes, since the account began: jobs; granted and refused, as it would have; drained, nodes that it would have; twice, VNIs that two jobs had at a time; left, services that are there after their job's end. Not shown where every job is served.", "what")
	answerAge     = desc("scheduler_answer_age_seconds", "Time since a scheduler's last complete list of its jobs, or since the server's start when there was none. Ended jobs keep their VNIs while it grows.", "scheduler")
)

func (s *Server) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		up, age, poolSize, poolUsed, poolFree, reservations, heldVNIs, draining, nodes, sessions, drained, twoHosts, awaited, recovering, policyInfo, reloadRefused, queueLength,
		queueLimit, storeUp, storeBytes, storeFree, nodeExpiry, answerAge, blind, quotaUsed, quotaSubjects, quotaTop,
		quotaLimit, observed,
	} {
		ch <- d
	}
	describeSeveral(ch)
}

func (s *Server) Collect(ch chan<- prometheus.Metric) {
	if s.options.Several != nil {
		several := s.options.Several()
		collectSeveral(ch, several)
		if !several.Leads { // the leader shows the rest: sums over all servers must count nothing twice
			gauge(ch, up, 1)
			return
		}
	}
	for name, at := range s.answers() {
		gauge(ch, answerAge, time.Since(at).Seconds(), name)
	}
	if s.options.Store != nil {
		if bytes, free, err := s.options.Store(); err == nil {
			gauge(ch, storeBytes, float64(bytes))
			gauge(ch, storeFree, float64(free))
		}
	}
	if s.options.Refused != nil {
		gauge(ch, reloadRefused, truth(s.options.Refused()))
	}
	if s.options.Observed != nil {
		for what, n := range s.options.Observed() {
			gauge(ch, observed, float64(n), what)
		}
	}
	if s.options.NodeExpiry != nil {
		if t := s.options.NodeExpiry(); !t.IsZero() {
			gauge(ch, nodeExpiry, float64(t.Unix()))
		}
	}
	p := s.of.Load()
	if p == nil {
		gauge(ch, up, 0)
		return
	}
	srv := *p
	now, most := srv.Waiting()
	gauge(ch, queueLength, float64(now))
	gauge(ch, queueLimit, float64(most))
	f, old, fresh, ever := s.state.read(srv.Figures)
	gauge(ch, storeUp, truth(srv.Failure() == nil))
	freshness(ch, old, fresh, ever)
	if ever {
		s.figures(ch, f)
	}
}

func (s *Server) figures(ch chan<- prometheus.Metric, f engine.Figures) {
	if s.options.Sizes != nil {
		for pool, size := range s.options.Sizes() {
			gauge(ch, poolSize, float64(size), pool)
			gauge(ch, poolUsed, float64(f.Used[pool]), pool)
			gauge(ch, poolFree, float64(size-f.Used[pool]), pool)
		}
	}
	for _, state := range []engine.State{engine.Active, engine.Draining, engine.Held, engine.Quarantined} {
		gauge(ch, reservations, float64(f.Reservations[state]), state.String())
	}
	for name, why := range f.Blind {
		gauge(ch, blind, truth(why != ""), name)
	}
	for _, why := range engine.Holdings() {
		gauge(ch, heldVNIs, float64(f.Held[why]), string(why))
	}
	for _, q := range f.Quotas() {
		name, unit := q.Quota, "vnis" // not clipped: two that begin alike are two
		if q.Unit == engine.UnitAddresses {
			unit = "addresses"
		}
		gauge(ch, quotaUsed, float64(q.Sum), name, unit)
		gauge(ch, quotaSubjects, float64(q.Subjects), name, unit)
		gauge(ch, quotaTop, float64(q.Used), name, unit)
		gauge(ch, quotaLimit, float64(q.Most), name, unit)
	}
	gauge(ch, draining, f.Draining.Seconds())
	gauge(ch, nodes, float64(f.Nodes))
	gauge(ch, sessions, float64(f.Attached))
	gauge(ch, drained, float64(f.Drained))
	gauge(ch, twoHosts, float64(len(f.Twins)))
	gauge(ch, awaited, float64(f.Awaited))
	gauge(ch, recovering, truth(f.Recovering))
	gauge(ch, policyInfo, 1, core.Clip(f.Policy))
}
