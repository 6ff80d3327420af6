// Package schedulertest is a batch scheduler as a pure model, truthful inside and lying outside.
//
// Inside it knows which run of which job really lives on which node: that is what a test compares with. Outside it answers as schedulers do, from an old
// state, without some jobs, empty, with a job twice, with the restart count too early or too late; its hooks come doubled, late, with the next count, or
// not at all. Which lie comes when is the caller's choice, so that a seed repeats it. Adapter makes a core.Scheduler of it.
//
// Script is the part of a core.Scheduler that tells what a test sends.
package schedulertest
