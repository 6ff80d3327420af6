// Package engine is the system's machine: it decides which job holds which VNI and when it is free again.
//
// It does nothing by itself. Step takes what happened, with the time, changes the machine, and returns what to write and what to do. One writer gathers
// inputs, Steps each, commits all records in one transaction, and only then acts; when the commit fails the machine is thrown away and loaded anew, so
// memory is never ahead of the store. A reservation goes
//
//	active → draining (the scheduler says that the job is gone) → quarantined (every node is clean) → freed
//
// and shows as held while a node of it is busy or out of contact for too long.
package engine
