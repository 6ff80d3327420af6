// Package local is the adapter of nodes that have no scheduler: login and transfer nodes, and `weft run` everywhere.
//
// A job is a process: `weft run` makes itself known to its node's agent, and once the job's services stand it execs the command in its own pid. The
// truth is the process alone: its pid, its start time and the boot it lives in. A Table holds a node's jobs, gives them their ids (NODE.N), watches each
// through a pidfd and keeps them in a small file, so that an agent that was killed knows them again. Who a job belongs to is what the kernel says of the
// caller and its process; a caller's own words say only what it wishes.
package local
