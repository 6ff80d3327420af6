// Package cluster is a whole Weft system with several servers on one machine: an etcd, servers, and agents with
// simulated NICs. Each is a process. `weft dev --servers` runs it.
//
// One folder holds it all: etcd, tls, servers/NAME and nodes/NAME. Each daemon's folder has its config.hcl, its log and
// its sockets. server.sock is another name of the socket of the server that leads.
package cluster
