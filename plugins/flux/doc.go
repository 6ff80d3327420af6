// Package flux is the adapter of Flux: scriptlets of prolog and epilog and a shell plugin on the nodes; a broker's local socket on the host that
// knows the jobs.
//
// The prolog prepares on each rank, the shell plugin gives a job its variables, the epilog asks for a clean-up. The truth is the job manager's
// journal, which tells every event of every job, and what job-info has of one. A job's id is spelled as flux-jobs(1) shows it: ƒ and base58 (F58, RFC 19).
package flux
