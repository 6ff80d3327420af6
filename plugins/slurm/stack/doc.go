// Package stack reads plugstack.conf, the stack of Slurm's SPANK plugins. It proves that a plugin loads under the Slurm
// of this host.
package stack
