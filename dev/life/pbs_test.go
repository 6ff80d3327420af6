package life

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/pbs/pbstest"
)

// pbsSite is a PBS complex: hooks one after the other, runjob and jobobit in pbs_server, and whoever deletes a job that begins waits.
type pbsSite struct {
	adapter
	*pbstest.Complex
	w *world
}

const pbsUser = 1001 // tester

func newPBS(w *world) site {
	s := &pbsSite{w: w, Complex: pbstest.New(len(names))}
	s.Hook = s.run
	s.die()
	return s
}

func (s *pbsSite) name() string { return "pbs" }
func (s *pbsSite) uid() uint32  { return pbsUser }
func (s *pbsSite) close()       {}

func (s *pbsSite) die() {
	p := pbs.NewWith("pbs", s.Command)
	s.replace(&process{hooks: p, scheduler: p, polls: true})
}

// run is the hook file: event to weft-hook, answer to event.
func (s *pbsSite) run(e pbstest.Event) pbstest.Result {
	told := map[string]any{"v": 1}
	if e.Job != nil {
		told["job"], told["user"], told["group"], told["queue"], told["submitted"], told["exec_vnode"] = e.Job.ID, e.Job.User, e.Job.Group, e.Job.Queue, e.Job.Submitted, e.Job.ExecVnode()
		if e.Job.Runs > 0 {
			told["run_count"] = e.Job.Runs
		}
	}
	if e.Host != nil {
		told["uid"], told["room"] = pbsUser, true
	}
	if e.Name == pbs.PhasePeriodic {
		ids := []string{}
		for _, j := range e.Jobs {
			ids = append(ids, j.ID)
		}
		told["jobs"] = ids
	}
	text, err := json.Marshal(told)
	if err != nil {
		s.w.Error(err)
	}
	call := core.HookCall{Scheduler: "pbs", Phase: e.Name, Stdin: text}
	if e.Job != nil {
		call.Env = map[string]string{"PBS_JOBID": e.Job.ID}
	}
	var r core.HookReply
	if e.Host != nil {
		r = s.w.hook(e.Host.Name, call)
	} else if srv := s.w.server.Load(); srv != nil {
		r, _ = srv.Hook(s.w.Context(), s.process().hooks, map[string]int{"jobs": s.w.vnis}, call) // no answer is told by an empty one
	}
	var a struct {
		Do  string
		Say string
		Set map[string]string
	}
	if json.Unmarshal(r.Stdout, &a) != nil {
		return pbstest.Result{Rejected: e.Name != pbs.PhaseObit, Message: "no answer"}
	}
	out := pbstest.Result{Message: a.Say, Env: a.Set, Delete: a.Do == "delete"}
	before := slices.Contains([]string{pbs.PhaseBegin, pbs.PhaseLaunch, pbs.PhaseRun}, e.Name)
	out.Rejected = before && a.Do != "accept"
	if out.Rejected {
		s.w.Logf("pbs: %s of %s is rejected: %s", e.Name, e.Job.ID, a.Say)
		s.w.fails(a.Say)
	}
	if a.Do == "offline" {
		out.Offline = map[string]string{e.Host.Name: a.Say}
	}
	return out
}

func (s *pbsSite) submit() string {
	return s.Submit(pbstest.Job{Hosts: len(names), Cores: 4, Rerunable: true}).ID
}

func (s *pbsSite) start(job string) bool {
	s.Schedule()
	return s.state(job) == runs
}

func (s *pbsSite) vni(job, node string) string {
	env, _ := s.Task(job, node)
	return env["SLINGSHOT_VNIS"]
}

func (s *pbsSite) finish(job string)       { s.End(job) }
func (s *pbsSite) requeue(job string) bool { s.Rerun(job); return true }

// cancel is a request to pbs_server, which does one thing at a time.
func (s *pbsSite) cancel(job string) func() {
	done := make(chan struct{})
	go func() { defer close(done); s.Delete(job) }()
	return func() { <-done }
}

func (s *pbsSite) lose(node string) {
	s.Lose(node)
	s.Expire(node)
}

func (s *pbsSite) mend(node string) { s.Restart(node, false) }

func (s *pbsSite) state(job string) string {
	switch state := s.State(job); state {
	case "R":
		return runs
	case "Q":
		return waits
	case "F":
		return over
	default:
		return state
	}
}

func (s *pbsSite) drain(node, why string) { s.nodes("-o", "-C", why, node) }
func (s *pbsSite) undrain(node string)    { s.nodes("-r", node) }

func (s *pbsSite) nodes(args ...string) {
	if _, err := s.Command(s.w.Context(), "pbsnodes", args...); err != nil {
		s.w.Error(err)
	}
}

func (s *pbsSite) drained(node string) string {
	text, err := s.Command(s.w.Context(), "pbsnodes", "-H", node)
	if err != nil {
		s.w.Fatal(err)
	}
	if !strings.Contains(string(text), "offline") {
		return ""
	}
	return string(text)
}
