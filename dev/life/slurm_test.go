package life

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people/peopletest"
	"github.com/weft-hpc/weft/plugins/slurm"
)

// slurmSite is a Slurm cluster: Prologs on all nodes at once, a drain and a requeue when one fails, Epilogs that see the next restart count, and a job that is
// COMPLETING until the last of them is over.
type slurmSite struct {
	adapter
	w *world

	mu    sync.Mutex
	jobs  []*slurmJob
	why   map[string]string // drained nodes
	gone  []string
	group sync.WaitGroup
}

type slurmJob struct {
	id       string
	state    string
	restarts int
	ended    chan struct{} // of this run, once its end is decided
}

const slurmUser = 1200

func newSlurm(w *world) site {
	s := &slurmSite{w: w, why: map[string]string{}}
	s.die()
	return s
}

func (s *slurmSite) name() string { return "slurm" }
func (s *slurmSite) uid() uint32  { return slurmUser }
func (s *slurmSite) close()       { s.group.Wait() }

func (s *slurmSite) die() {
	p := slurm.NewWith("slurm", s.command)
	s.replace(&process{hooks: p, scheduler: p, polls: true})
}

// command answers Slurm's commands.
func (s *slurmSite) command(ctx context.Context, name string, args ...string) ([]byte, error) {
	after := func(flag string) string {
		if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
		return ""
	}
	last := args[len(args)-1]
	switch {
	case name == "getent" || name == "id":
		return peopletest.One(slurmUser).Run(ctx, name, args...)
	case name == "squeue":
		return s.squeue(after("-O"), after("-j")), nil
	case name == "sinfo":
		s.mu.Lock()
		defer s.mu.Unlock()
		if after("-t") == "drain" {
			var out []byte
			for node, why := range s.why {
				if why != "" {
					row := map[string]string{"NodeList": node, "User": "root", "Timestamp": "1795836284", "Reason": why}
					out = append(out, record(after("-O"), row)...)
				}
			}
			return out, nil
		}
		state := "idle"
		if s.why[after("-n")] != "" {
			state = "drained"
		}
		return record(after("-O"), map[string]string{"NodeList": after("-n"), "StateLong": state, "Reason": s.why[after("-n")]}), nil
	case name == "scancel":
		s.group.Go(s.end(last, "CANCELLED"))
	case name == "scontrol" && args[0] == "requeue":
		s.group.Go(s.end(last, "PENDING"))
	case name == "scontrol" && last == "State=UNDRAIN":
		s.undrain(strings.TrimPrefix(args[1], "NodeName="))
	case name == "scontrol" && strings.HasPrefix(args[1], "NodeName="):
		s.drain(strings.TrimPrefix(args[1], "NodeName="), strings.TrimPrefix(last, "Reason="))
	}
	return nil, nil
}

// undrain is scontrol update State=RESUME.
func (s *slurmSite) undrain(node string) { s.drain(node, "") }

func (s *slurmSite) drain(node, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why[node] = why
}

func (s *slurmSite) squeue(format, ids string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []byte
	for _, j := range s.jobs {
		if ids != "" && !slices.Contains(strings.Split(ids, ","), j.id) {
			continue
		}
		nodes := ""
		if j.state == "RUNNING" || j.state == "COMPLETING" {
			nodes = strings.Join(names, ",")
		}
		out = append(out, record(format, map[string]string{
			"JobID": j.id, "HetJobID": "N/A", "ArrayJobID": j.id, "ArrayTaskID": "N/A", "UserID": fmt.Sprint(slurmUser), "GroupID": fmt.Sprint(slurmUser), "State": j.state,
			"SubmitTime": "1795836284", "StartTime": "1795836290", "RestartCnt": strconv.Itoa(j.restarts), "BatchFlag": "1", "Requeue": "1", "NumNodes": strconv.Itoa(len(names)),
			"NumCPUs": strconv.Itoa(4 * len(names)), "NodeList": nodes, "UserName": "ann", "GroupName": "ann", "Partition": "main", "Account": "(null)", "Network": "(null)",
		})...)
	}
	return out
}

// record prints as squeue does: each field padded or cut to its width in bytes.
func record(format string, row map[string]string) []byte {
	var out []byte
	for field := range strings.SplitSeq(format, ",") {
		name, number, _ := strings.Cut(field, ":")
		width, _ := strconv.Atoi(number)
		out = fmt.Appendf(out, "%-*.*s", width, width, row[name])
	}
	return append(out, '\n')
}

func (s *slurmSite) find(job string) *slurmJob {
	i := slices.IndexFunc(s.jobs, func(j *slurmJob) bool { return j.id == job })
	return s.jobs[i]
}

func (s *slurmSite) submit() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &slurmJob{id: strconv.Itoa(len(s.jobs) + 1), state: "PENDING"}
	s.jobs = append(s.jobs, j)
	return j.id
}

func (s *slurmSite) hook(node, phase, job string, restarts int) core.HookReply {
	call := core.HookCall{Scheduler: "slurm", Phase: phase, Env: map[string]string{"SLURM_JOB_ID": job}}
	if phase == slurm.PhaseTaskProlog {
		call.Peer.UID = slurmUser
	} else {
		call.Env["SLURM_JOB_UID"], call.Env["SLURM_NODELIST"], call.Env["SLURM_JOB_CPUS_PER_NODE"] = fmt.Sprint(slurmUser), strings.Join(names, ","), fmt.Sprintf("4(x%d)", len(names))
	}
	if restarts > 0 {
		call.Env["SLURM_JOB_RESTART_COUNT"] = strconv.Itoa(restarts)
	}
	return s.w.hook(node, call)
}

func (s *slurmSite) start(job string) bool {
	s.mu.Lock()
	j := s.find(job)
	if j.state != "PENDING" {
		s.mu.Unlock()
		return s.settled(j)
	}
	j.state, j.ended = "RUNNING", make(chan struct{})
	restarts := j.restarts
	s.mu.Unlock()
	var failed sync.Map
	var all sync.WaitGroup
	for _, n := range names {
		all.Go(func() {
			if r := s.hook(n, slurm.PhaseProlog, job, restarts); r.Exit != 0 {
				s.drain(n, "Prolog error")
				failed.Store(n, true)
			}
		})
	}
	all.Wait()
	for range failed.Range {
		s.end(job, "PENDING")()
		return false
	}
	for _, n := range names {
		// Prolog went by and its task may not start: Weft has the job requeued or ended, and here slurmctld hears of that before the task's failure ends the job.
		if s.state(job) == runs && s.hook(n, slurm.PhaseTaskProlog, job, 0).Exit != 0 {
			s.w.until("Weft's word to Slurm about job "+job, func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return j.state != "RUNNING"
			})
		}
	}
	return s.settled(j)
}

// settled waits for the end of a job's run whose end was decided meanwhile; whether it runs.
func (s *slurmSite) settled(j *slurmJob) bool {
	s.mu.Lock()
	state, ended := j.state, j.ended
	s.mu.Unlock()
	if state == "COMPLETING" {
		<-ended
	}
	return state == "RUNNING"
}

func (s *slurmSite) vni(job, node string) string {
	return exported(s.hook(node, slurm.PhaseTaskProlog, job, 0).Stdout)
}

// end decides the end of a job's run; what it returns runs the Epilogs.
func (s *slurmSite) end(job, state string) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.find(job)
	if j.state == "PENDING" && state != "PENDING" {
		j.state = state
	}
	if j.state != "RUNNING" {
		return func() {}
	}
	j.state = "COMPLETING"
	shown, ended := j.restarts, j.ended
	if state == "PENDING" {
		shown++
	}
	there := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(s.gone, n) })
	return func() {
		var all sync.WaitGroup
		for _, n := range there {
			all.Go(func() {
				if r := s.hook(n, slurm.PhaseEpilog, job, shown); r.Exit != 0 {
					s.drain(n, "Epilog error")
				}
			})
		}
		all.Wait()
		s.mu.Lock()
		j.state, j.restarts = state, shown
		s.mu.Unlock()
		close(ended)
	}
}

func (s *slurmSite) finish(job string)        { s.end(job, "COMPLETED")() }
func (s *slurmSite) cancel(job string) func() { return s.end(job, "CANCELLED") }
func (s *slurmSite) requeue(job string) bool  { s.end(job, "PENDING")(); return true }

func (s *slurmSite) lose(node string) {
	s.mu.Lock()
	s.gone = append(s.gone, node)
	all := slices.Clone(s.jobs)
	s.mu.Unlock()
	for _, j := range all {
		if s.state(j.id) == runs {
			s.end(j.id, "PENDING")()
		}
	}
}

func (s *slurmSite) mend(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = slices.DeleteFunc(s.gone, func(n string) bool { return n == node })
}

func (s *slurmSite) state(job string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.find(job).state {
	case "PENDING":
		return waits
	case "RUNNING", "COMPLETING":
		return runs
	}
	return over
}

func (s *slurmSite) drained(node string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why[node]
}
