// Package node is one node's machine: it takes a job's grant to the node's NICs and gives everything back afterwards.
//
// It has the shape of core/engine: Step takes what happened, with the time, and returns what to write and what to do; records are durable before an
// action is done. The NIC is re-read, never remembered: a run is clean only when a reading of all its NICs that began after the last driver call ended
// shows none of its services.
package node
