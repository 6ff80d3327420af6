// Package slurm is the adapter of Slurm: Prolog, TaskProlog and Epilog on the nodes; squeue, scontrol, scancel and sinfo on the server's host.
//
// Prolog prepares, TaskProlog tells a task its variables, and Epilog asks for a clean-up, which proves nothing: a node that is released from a running job
// runs it too. The truth is squeue's, read as records of fixed width: whatever a user writes into a job can fill its own field and no other. A job is
// keyed by its id, the job of several components (het job) by its leader's, since TaskProlog shows no other; an array's task is a job of its own.
package slurm
