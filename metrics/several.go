package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Several are the figures of one of several servers.
type Several struct {
	Leads   bool
	Leader  bool             // some server leads
	Changes int              // of the leader, since this server's start
	Warm    bool             // this server leads, or can without waiting for nodes
	Age     time.Duration    // of a standby's last look at the store
	Etcd    map[string]int64 // bytes of each endpoint's database; -1: it does not answer, or has an alarm
}

var (
	leads = desc("leads", "1 on the server that leads. Only this one shows the state of the system. Every server of "+
		"several shows it.")
	leader   = desc("leader_known", "1 while some server leads, by this one's knowledge. At 0 new jobs wait.")
	changes  = desc("leader_changes_total", "How often another server began to lead, since this server's start.")
	warm     = desc("standby_warm", "1 where this server leads, or can without waiting for every node.")
	standby  = desc("standby_age_seconds", "Time since a standby read what the leader wrote; 0 on the leader.")
	etcdUp   = desc("etcd_endpoint_up", "1 while the endpoint of etcd answers and has no alarm.", "endpoint")
	etcdSize = desc("etcd_database_bytes", "Size of the endpoint's database, its free part included. etcd takes no "+
		"writes beyond its quota, by default 2 GiB.", "endpoint")
)

func describeSeveral(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{leads, leader, changes, warm, standby, etcdUp, etcdSize} {
		ch <- d
	}
}

func collectSeveral(ch chan<- prometheus.Metric, s Several) {
	gauge(ch, leads, truth(s.Leads))
	gauge(ch, leader, truth(s.Leader))
	ch <- prometheus.MustNewConstMetric(changes, prometheus.CounterValue, float64(s.Changes))
	gauge(ch, warm, truth(s.Warm))
	gauge(ch, standby, s.Age.Seconds())
	for endpoint, bytes := range s.Etcd {
		gauge(ch, etcdUp, truth(bytes >= 0), endpoint)
		if bytes >= 0 {
			gauge(ch, etcdSize, float64(bytes), endpoint)
		}
	}
}
