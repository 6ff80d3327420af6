// Package stack reads plugstack.conf, the stack of Slurm's SPANK plugins, and proves that a plugin in it loads under the
// Slurm of this host.
package stack
