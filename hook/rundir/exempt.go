package rundir

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/weft-hpc/weft/core"
)

// maxExempt bounds an exemption's file, in bytes.
const maxExempt = 256

// exemption is what the file of a run holds that is exempt. That of a job that went by while Weft was bypassed is empty.
type exemption struct {
	Generation uint32 `json:"generation"`
	UID        uint32 `json:"uid"`
	Submitted  int64  `json:"submitted"`
	Observed   bool   `json:"observed,omitempty"` // of whichever run: another manager serves it
}

// Observe lets tasks of a job run without a record, and as they are: Weft only observes the job, for as long as it runs.
func (d Dir) Observe(job core.JobID) error {
	return d.exempt(job, []byte("{\"observed\":true}\n"))
}

// Observed reports whether Weft only observes a job. Any doubt means that it does not.
func (d Dir) Observed(job core.JobID) bool {
	e, ok := d.exemption(job)
	return ok && e.Observed
}

// Exempt lets tasks of a job run without a record: it went by while Weft was bypassed. A prepare of the job ends it.
func (d Dir) Exempt(job core.JobID) error { return d.exempt(job, nil) }

// ExemptRun lets tasks of a run do so that began before Weft did on this node. A prepare of that same run is of a job that has no VNI elsewhere, and does not
// end it: half a job with a VNI could not talk to the other half.
func (d Dir) ExemptRun(run core.Run) error {
	text, err := json.Marshal(exemption{Generation: run.Generation, UID: run.UID, Submitted: run.Submitted})
	if err != nil {
		return core.Errorf(core.InternalFault, "exemption of %s: %w", run.Key, err)
	}
	return d.exempt(run.JobID, append(text, '\n'))
}

func (d Dir) exempt(job core.JobID, text []byte) error {
	path, err := d.ofJob(exempts, job)
	if err != nil {
		return err
	}
	if err := d.Check(); err != nil {
		return err
	}
	if err := makeFolders(filepath.Dir(path)); err != nil {
		return core.Errorf(core.BadConfig, "%s: %w", path, err)
	}
	return d.put(core.BadConfig, path, text)
}

// Unexempt ends that: the job is over, or was prepared.
func (d Dir) Unexempt(job core.JobID) error {
	path, err := d.ofJob(exempts, job)
	if err != nil {
		return err
	}
	return remove(path)
}

// Exempted reports whether tasks of a job run without a record. Any doubt means that they do not.
func (d Dir) Exempted(job core.JobID) bool {
	path, err := d.ofJob(exempts, job)
	if err != nil {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && checkOwner(path, info) == nil && d.checkWay(path) == nil
}

// ExemptedRuns are the runs that ExemptRun has exempted, at most core.MaxRan a scheduler, which is as many as an agent is told of.
func (d Dir) ExemptedRuns() []core.Run {
	var out []core.Run
	schedulers, _ := list(d.path(exempts), maxExempting) // without the folder nobody is exempt
	for _, scheduler := range schedulers {
		if core.CheckName("scheduler", scheduler, core.MaxScheduler) != nil {
			continue
		}
		jobs, _ := list(d.path(exempts, scheduler), core.MaxRan)
		for _, job := range jobs {
			if run, ok := d.ExemptedRun(core.JobID{Scheduler: scheduler, Job: job}); ok {
				out = append(out, run)
			}
		}
	}
	return out
}

// maxExempting bounds the schedulers that are looked at.
const maxExempting = 64

// list are the names in a folder, at most so many.
func list(path string, most int) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(most)
}

// ExemptedRun is the run of a job that ExemptRun has exempted. Any doubt means that there is none.
func (d Dir) ExemptedRun(job core.JobID) (core.Run, bool) {
	e, ok := d.exemption(job)
	if !ok || e.Observed {
		return core.Run{}, false
	}
	return core.Run{Key: core.Key{JobID: job, Generation: e.Generation}, Fingerprint: core.Fingerprint{UID: e.UID, Submitted: e.Submitted}}, true
}

func (d Dir) exemption(job core.JobID) (e exemption, ok bool) {
	path, err := d.ofJob(exempts, job)
	if err != nil {
		return e, false
	}
	text, err := d.read(path, maxExempt, checkOwner)
	return e, err == nil && json.Unmarshal(text, &e) == nil
}
