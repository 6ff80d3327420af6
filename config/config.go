package config

import (
	"slices"
	"time"

	"github.com/weft-hpc/weft/core/allocator"
)

const (
	DefaultQuarantine = 60 * time.Second // of a pool or service that names none
	MinQuarantine     = time.Second
	MaxQuarantine     = 24 * time.Hour

	DefaultServerSocket = "/run/weft/server.sock"
	DefaultStore        = "/var/lib/weft/server.db"
	DefaultWitness      = "/var/cache/weft/server.head"
	DefaultAgentDir     = "/run/weft/agent"
	DefaultPolicy       = "policy"
	DefaultTLS          = "/etc/weft/tls"
	MemoryStore         = "memory" // as Server.Store: nothing survives the server
)

type Config struct {
	File        string     // as it was named to Load
	Hash        string     // SHA-256 of its text, in hex
	Nodes       string     // hostlist of every node of the system, in the names of their certificates
	NodeCount   int        // how many that are
	UnknownVNIs int        // that the unknown services of one node may hold; 0: engine's default
	Groups      []Group    // topology, in the file's order; those of a dragonfly are g0, g1 …
	Dragonfly   *Dragonfly // topology, where it gives figures; nil: it does not
	Policy      string     // folder of the policy files, as seen from where the process runs: File's folder is in it already
	Pools       []Pool     // in the file's order
	Services    []Pool     // data services, whose client jobs take a VNI out of the service's block
	Schedulers  []Plugin   // Type is the adapter, Name the instance
	Drivers     []Plugin   // Name is Type
	Server      Server
	Agent       Agent
}

// Group is a part of the system whose nodes are near each other, such as a dragonfly group.
type Group struct {
	Name  string
	Nodes string // hostlist
}

// Pool is a set of VNIs that no other pool or service shares. VNIs 1 and 10 are never given, even from inside a range.
type Pool struct {
	Name       string
	VNIs       []allocator.Range
	Quarantine time.Duration // from the last node's being clean until the VNI is free again
	Servers    string        // hostlist of a service's own servers, in their own names: they need not be among Nodes
}

// The values of Server.Unwitnessed.
const (
	UnwitnessedWait      = "wait"      // for every node
	UnwitnessedScheduler = "scheduler" // for every node that its schedulers do not call down
)

// Server is where the server listens and keeps its records. Paths have File's folder in them already.
type Server struct {
	Listen  string // host:port for agents; empty: none
	Socket  string // for operators on the server's host
	Name    string // by which people know it among several; empty: the host's
	Store   string // the bolt file, MemoryStore, or empty with Etcd
	Etcd    *Etcd  // the store of several servers; nil: there is one server
	Witness string // file that vouches for the bolt file after a restart; empty with Etcd
	// Unwitnessed says what a store without a witness waits for: UnwitnessedWait or UnwitnessedScheduler.
	Unwitnessed string
	AdminGroup  string // a Unix group that may write as root does; empty: root alone
	TLS         string // folder with ca.crt, server.crt and server.key
	Metrics     string // host:port for Prometheus; empty: none
	Audit       string // file for the audit; empty: it stands in the log
	History     string // file for the history of jobs; empty: none is kept
}

// Agent is how a node's agent reaches the server, and where it keeps what must not outlive a reboot.
type Agent struct {
	Servers []string // host:port of each: one, or all that share a store
	Dir     string   // a folder on a tmpfs, with the sockets for root and for users
	TLS     string   // folder with ca.crt, and one NAME.crt and NAME.key: this node is called NAME
	Metrics string   // host:port for Prometheus; empty: none
	Audit   string   // file for the audit; empty: it stands in the log
}

// OneFile reports whether the store is a file of this host.
func (s *Server) OneFile() bool { return s.Etcd == nil && s.Store != MemoryStore }

// Allocator gives the pools and services as core/allocator takes them.
func (c *Config) Allocator() []allocator.Pool {
	var pools []allocator.Pool
	for _, p := range slices.Concat(c.Pools, c.Services) {
		pools = append(pools, allocator.Pool{Name: p.Name, Ranges: p.VNIs})
	}
	return pools
}

// Quarantines is each pool's and service's quarantine.
func (c *Config) Quarantines() map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, p := range slices.Concat(c.Pools, c.Services) {
		out[p.Name] = p.Quarantine
	}
	return out
}
