// Package life holds the life-cycle scenarios that every scheduler adapter must bear: one table of them, run over the Slurm, Flux, PBS and local adapters
// alike, each with another scheduler's job beside it on the same nodes. It has tests only.
//
// Server, agents, adapters and NIC drivers are the real ones; the schedulers are fakes that run the adapters' hooks in their own order, and NICs are simulated.
// Whoever is killed is dropped at the instruction that a scenario says and made anew from what it had made durable.
package life
