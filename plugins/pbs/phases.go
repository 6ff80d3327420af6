package pbs

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
)

// The phases, in PBS's own words: its hook events.
const (
	PhaseBegin    = "execjob_begin"
	PhaseLaunch   = "execjob_launch"
	PhaseEnd      = "execjob_end"
	PhaseAbort    = "execjob_abort"
	PhaseStartup  = "exechost_startup"
	PhasePeriodic = "exechost_periodic"
	PhaseRun      = "runjob"
	PhaseObit     = "jobobit"
	PhaseQueue    = "queuejob"
	PhaseModify   = "modifyjob"
)

// envJob is where the hook file tells weft-hook of which job a launch is, so that the job's own file answers it.
const envJob = "PBS_JOBID"

// Bounds of hooks that do not wait for the server. Four run inside pbs_server, which does nothing else meanwhile: 200 ms at most, of which
// Python and a new process take their part.
const (
	launchLimit = 8 * time.Second
	nodeLimit   = 5 * time.Second
	serverLimit = 150 * time.Millisecond
)

// maxEvent bounds what the hook file tells of an event, in bytes: the longest is exechost_periodic's list of jobs, or exec_vnode.
const maxEvent = 256 << 10

// Phases of PBS's hooks. A Weft server answers those that run inside pbs_server, an agent all others.
func (p *Plugin) Phases(context.Context) ([]core.HookPhase, error) {
	job := []string{envJob}
	return []core.HookPhase{
		{Name: PhaseBegin, Action: core.Prepare, Root: true, Job: job, Stdin: maxEvent, Limit: p.settings.begin},
		{Name: PhaseLaunch, Action: core.Environment, Root: true, Job: job, Stdin: maxEvent, Limit: launchLimit},
		{Name: PhaseEnd, Action: core.CleanUp, Root: true, Job: job, Stdin: maxEvent, Limit: nodeLimit},
		{Name: PhaseAbort, Action: core.CleanUp, Root: true, Job: job, Stdin: maxEvent, Limit: nodeLimit},
		{Name: PhaseStartup, Action: core.Running, Root: true, Stdin: maxEvent, Limit: nodeLimit},
		{Name: PhasePeriodic, Action: core.Running, Root: true, Stdin: maxEvent, Limit: nodeLimit},
		{Name: PhaseRun, Action: core.Room, Root: true, Job: job, Stdin: maxEvent, Limit: serverLimit},
		{Name: PhaseObit, Action: core.CleanUp, Root: true, Job: job, Stdin: maxEvent, Limit: serverLimit},
		{Name: PhaseQueue, Action: core.Room, Root: true, Stdin: maxEvent, Limit: serverLimit},
		{Name: PhaseModify, Action: core.Room, Root: true, Stdin: maxEvent, Limit: serverLimit},
	}, nil
}
