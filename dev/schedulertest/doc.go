// Package schedulertest is a batch scheduler as a pure model, which knows the truth and tells lies.
//
// The model knows which run of which job lives on which node. A test compares the system with that. The model answers
// as schedulers do: from an old state, without some jobs, with no job, with a job twice, with a wrong restart count.
// Some of its hooks come twice, late, with the next count, or not at all. The caller chooses each lie, so a seed
// repeats it.
//
// Script is the part of a core.Scheduler that tells what a test sends.
package schedulertest
