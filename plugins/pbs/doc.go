// Package pbs is the adapter of OpenPBS and PBS Pro: one hook file for the events of MOM and server on one side, qstat, qalter, qdel, qrerun and pbsnodes on
// the server's host on the other.
//
// The hook file only carries: an event becomes JSON on weft-hook's standard input, and the JSON of its answer becomes what PBS is told. execjob_begin
// prepares, since it alone is a barrier before any task; execjob_launch tells a task its variables; execjob_end and execjob_abort ask for a clean-up, which
// proves nothing; exechost_periodic tells which jobs MOM has; jobobit says that a run is over and runjob asks whether there is room, both at the server. The
// truth is qstat's. A job is keyed by its full id, server's name included, and by run_count, which the server raises before it sends a run to MOM.
//
// What is said here of PBS was observed on OpenPBS 23.06 or read in its source.
package pbs
