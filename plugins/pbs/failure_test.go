package pbs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs/install"
	"github.com/weft-hpc/weft/plugins/pbs/pbstest"
)

// Each test here is a row of what PBS was seen to do when something fails, with the real hook file in the place of the failing hook.

func TestOrderOfATwoNodeJob(t *testing.T) {
	s := newSite(t, 2, all)
	j := s.Submit(pbstest.Job{Hosts: 2})
	s.Schedule()
	s.state(j, "R", 1, 0)
	if _, ok := s.Task(j.ID, "n2"); !ok {
		t.Error("a task on the sister was refused")
	}
	s.Periodic("n2")
	s.End(j.ID)
	s.past("runjob - 1.pbs1#0", "execjob_begin n1 1.pbs1#1", "execjob_begin n2 1.pbs1#1", "execjob_launch n1 1.pbs1#1", "execjob_launch n2 1.pbs1#1",
		"exechost_periodic n2", "execjob_end n1 1.pbs1#1", "execjob_end n2 1.pbs1#1", "jobobit - 1.pbs1#1")
}

// begin: e.reject, single node: 21 tries, then the job is held. Weft rejects so only what may be otherwise a moment later.
func TestBeginRejects(t *testing.T) {
	s := newSite(t, 1, with(map[string]saying{"execjob_begin": {Reason: core.PoolEmpty}}))
	once, did := s.Hook, map[string]pbstest.Result{}
	s.Hook = func(e pbstest.Event) pbstest.Result {
		if _, known := did[e.Name]; !known || e.Job.Runs == 21 {
			did[e.Name] = once(e)
		}
		return did[e.Name]
	}
	j := s.Submit(pbstest.Job{})
	s.Schedule()
	s.state(j, "H", 21, 0)
	s.offline(map[string]string{})
	if r := s.last("execjob_begin n1"); r.Deleted || r.Rerun || !strings.HasPrefix(r.Message, "weft: tioga/1.pbs1#21 on n1: it is so; ") {
		t.Errorf("got %+v", r)
	}
}

// begin: job.rerun() and reject is the same: Weft never asks for it.
func TestBeginNeverReruns(t *testing.T) {
	for _, reason := range []core.Reason{core.PoolEmpty, core.PolicyDenied, core.NICFailed, core.ServerAway} {
		s := newSite(t, 1, with(map[string]saying{"execjob_begin": {Reason: reason}, "runjob": {Reason: core.PoolEmpty}}))
		s.Events = []string{"execjob_begin"}
		s.event(map[string]any{"event": "execjob_begin", "host": "n1", "job": map[string]any{"id": "1.pbs1", "euser": userOf(t), "run_count": 1}, "vnodes": map[string]string{"n1": "n1"}})
		if r := s.last("execjob_begin n1"); r.Rerun || !r.Rejected {
			t.Errorf("%s: %+v", reason, r)
		}
	}
}

// begin: job.delete() and reject: the job is aborted at once, with exit status -19. That is how a job ends that asks for what it cannot have.
func TestBeginDeletesARefusedJob(t *testing.T) {
	s := newSite(t, 1, with(map[string]saying{"execjob_begin": {Reason: core.PolicyDenied}}))
	j := s.Submit(pbstest.Job{})
	s.Schedule()
	s.state(j, "F", 1, pbstest.ExitHookDelete)
	s.offline(map[string]string{})
	if r := s.last("execjob_begin n1"); !r.Deleted || !strings.Contains(r.Message, "it is so") {
		t.Errorf("got %+v", r)
	}
}

// What is no fault of the user's deletes no job.
func TestBeginDeletesNoJobThatIsNotAtFault(t *testing.T) {
	for _, reason := range []core.Reason{core.JobEnded, core.NotPlaced, core.JobUnknown, core.SchedulerAway, core.BadCall} {
		s := newSite(t, 1, with(map[string]saying{"execjob_begin": {Reason: reason}}))
		s.event(map[string]any{"event": "execjob_begin", "host": "n1", "job": map[string]any{"id": "1.pbs1", "euser": userOf(t), "run_count": 1}, "vnodes": map[string]string{"n1": "n1"}})
		if r := s.last("execjob_begin n1"); r.Deleted || len(r.Offline) > 0 || !r.Rejected {
			t.Errorf("%s: %+v", reason, r)
		}
	}
}

// begin: vnodes offline with a comment, and reject: the job stays queued after one run. vnode_list has all of the job's vnodes, and only this node's may go.
func TestBeginTakesThisNodeOffline(t *testing.T) {
	s := newSite(t, 2, with(map[string]saying{"execjob_begin n1": {Reason: core.NICMissing}}))
	s.Split("n1", 2)
	j := s.Submit(pbstest.Job{Hosts: 2})
	s.Schedule()
	s.state(j, "Q", 1, 0)
	e := core.Errorf(core.NICMissing, "tioga/1.pbs1#1 on n1: it is so")
	s.offline(map[string]string{"n1[0]": "weft: " + e.Line(), "n1[1]": "weft: " + e.Line()})
}

// A vnode may have any name: MOM's tells whose it is.
func TestVnodesOfOtherNames(t *testing.T) {
	s := newSite(t, 1, with(map[string]saying{"execjob_begin": {Reason: core.NICFailed}}))
	s.event(map[string]any{
		"event": "execjob_begin", "host": "n1", "job": map[string]any{"id": "1.pbs1", "euser": userOf(t), "run_count": 1},
		"vnodes": map[string]string{"rack7-left": "n1.example.org", "n10": "n10.example.org", "n1[0]": "", "n2": "n2,n1", "n1x": "n1x"},
	})
	got := s.last("execjob_begin n1").Offline
	for name := range got {
		if name != "rack7-left" && name != "n1[0]" {
			t.Errorf("%s went offline, and is not this node's", name)
		}
	}
	if len(got) != 2 {
		t.Errorf("offline: %v", got)
	}
}

// begin: an unhandled exception with fail_action=none burns the job's tries and says nothing. The hook file lets none out, and `weft init pbs` sets fail_action.
func TestNoExceptionGetsOut(t *testing.T) {
	for name, spoil := range map[string]func(s *site){
		"weft-hook is gone":    func(s *site) { s.write("weft-hook", "") },
		"weft-hook fails":      func(s *site) { s.write("weft-hook", "#!/bin/sh\necho weft-hook: no agent listens >&2\nexit 1\n") },
		"it says no JSON":      func(s *site) { s.write("weft-hook", "#!/bin/sh\necho hello\n") },
		"it says half of it":   func(s *site) { s.write("weft-hook", "#!/bin/sh\nprintf '{\"v\":1,\"do\":\"acc'\n") },
		"it says a list":       func(s *site) { s.write("weft-hook", "#!/bin/sh\necho '[1]'\n") },
		"another version":      func(s *site) { s.write("weft-hook", "#!/bin/sh\necho '{\"v\":2,\"do\":\"accept\"}'\n") },
		"something else to do": func(s *site) { s.write("weft-hook", "#!/bin/sh\necho '{\"v\":1,\"do\":\"sing\"}'\n") },
		"a log that is none":   func(s *site) { s.write("weft-hook", "#!/bin/sh\necho '{\"v\":1,\"do\":\"accept\",\"log\":null}'\n") },
		"a log of numbers":     func(s *site) { s.write("weft-hook", "#!/bin/sh\necho '{\"v\":1,\"do\":\"accept\",\"log\":[1]}'\n") },
		"a number to say":      func(s *site) { s.write("weft-hook", "#!/bin/sh\necho '{\"v\":1,\"do\":\"offline\",\"say\":5}'\n") },
		"a variable's number": func(s *site) {
			s.write("weft-hook", "#!/bin/sh\necho '{\"v\":1,\"do\":\"accept\",\"set\":{\"SLINGSHOT_VNIS\":7}}'\n")
		},
		"variables in a list":      func(s *site) { s.write("weft-hook", "#!/bin/sh\necho '{\"v\":1,\"do\":\"accept\",\"set\":[1]}'\n") },
		"no UTF-8":                 func(s *site) { s.write("weft-hook", "#!/bin/sh\nprintf '\\377\\376'\n") },
		"silence and a signal":     func(s *site) { s.write("weft-hook", "#!/bin/sh\nkill -9 $$\n") },
		"the configuration is bad": func(s *site) { s.write("n1.json", "{"); s.write("server.json", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1, all)
			spoil(s)
			keep := s.Hook
			if name == "the configuration is bad" {
				s.dir = t.TempDir()
				s.write("weft_hook.py", strings.Replace(install.Script, "json.load(f)", "json.loads('{')", 1))
				keep = s.run
			}
			s.Events = []string{"execjob_begin", "execjob_end"}
			s.Hook = keep
			j := s.Submit(pbstest.Job{})
			s.Schedule()
			s.state(j, "Q", 1, 0)
			for v, comment := range s.last("execjob_begin n1").Offline {
				if v != "n1" || !strings.HasPrefix(comment, "weft: ") {
					t.Errorf("offline %s: %q", v, comment)
				}
			}
			if !s.Host("n1").Vnodes[0].Offline {
				t.Error("a node on which Weft does not answer takes the next job")
			}
			job := map[string]any{"id": "1.pbs1", "euser": userOf(t), "run_count": 1}
			if r := s.event(map[string]any{"event": "execjob_launch", "host": "n1", "job": job}); !r.Rejected {
				t.Error("a task runs without Weft's answer")
			}
			if r := s.event(map[string]any{"event": "runjob", "host": "server", "job": job}); !r.Rejected {
				t.Error("no answer in runjob is no room")
			}
			for _, event := range []string{"execjob_end", "execjob_abort", "jobobit", "exechost_periodic", "exechost_startup"} {
				host := "n1"
				if event == "jobobit" {
					host = "server"
				}
				if r := s.event(map[string]any{"event": event, "host": host, "job": job, "vnodes": map[string]string{"n1": "n1"}}); r.Rejected || len(r.Offline) > 0 {
					t.Errorf("%s: %+v", event, r)
				}
			}
		})
	}
}

// begin: an exception or the alarm with fail_action=offline_vnodes takes the node out; an explicit reject does not. That is what is left when Python itself
// cannot run the hook file.
func TestFailAction(t *testing.T) {
	c := pbstest.New(1)
	c.FailClose = true
	c.Hook = func(e pbstest.Event) pbstest.Result { return pbstest.Result{Failed: e.Name == "execjob_begin"} }
	j := c.Submit(pbstest.Job{})
	c.Schedule()
	if j.State != "Q" || j.Runs != 1 || !c.Host("n1").Vnodes[0].Offline {
		t.Errorf("job %+v, vnode %+v", j, c.Host("n1").Vnodes[0])
	}
	if !strings.Contains(install.NodeEvents, "execjob_begin") {
		t.Error("no hook of Weft's begins")
	}
}

// begin: hang. PBS kills the hook after its alarm; the hook file answers before, and never sleeps.
func TestHanging(t *testing.T) {
	for event, want := range map[string]struct {
		limit    float64
		rejected bool
		offline  int
	}{
		"execjob_begin": {9.5, true, 1}, "execjob_launch": {9.5, true, 0}, "execjob_end": {9.5, false, 0}, "execjob_abort": {9.5, false, 0},
		"exechost_startup": {9.5, false, 0}, "exechost_periodic": {9.5, false, 0}, "runjob": {0.2, true, 0}, "jobobit": {0.2, false, 0},
	} {
		s := newSite(t, 1, all)
		host := "n1"
		if want.limit < 1 {
			host = "server"
		}
		s.event(map[string]any{"event": event, "host": host, "hangs": true, "job": map[string]any{"id": "1.pbs1", "euser": userOf(t), "run_count": 1}, "vnodes": map[string]string{"n1": "n1"}})
		r := s.last(event + " " + host)
		if len(r.Calls) != 1 || r.Calls[0].Limit != want.limit || r.Rejected != want.rejected || len(r.Offline) != want.offline {
			t.Errorf("%s: %+v, want %+v", event, r, want)
		}
	}
}

// Inside pbs_server the hook asks for no user's number: it does not wait for a user database, and for weft-hook no longer than 200 ms.
func TestNoUserDatabaseInTheServer(t *testing.T) {
	for event, asks := range map[string]bool{"runjob": false, "jobobit": false, "execjob_begin": true} {
		s := newSite(t, 1, all)
		s.write("weft_hook.py", strings.Replace(install.Script, "import pwd\n", "class pwd:\n    @staticmethod\n    def getpwnam(_):\n        pbs.logmsg(0, 'asked')\n        raise KeyError\n", 1))
		host := "server"
		if asks {
			host = "n1"
		}
		s.event(map[string]any{"event": event, "host": host, "job": map[string]any{"id": "1.pbs1", "euser": userOf(t), "run_count": 1}, "vnodes": map[string]string{"n1": "n1"}})
		if got := strings.Contains(strings.Join(s.last(event+" "+host).Log, "\n"), "asked"); got != asks {
			t.Errorf("%s asks the user database: %v", event, got)
		}
	}
}

// begin reject on a sister: the mother superior, who had begun, hears abort and end; the sister hears nothing more and has cleaned up by herself.
func TestBeginRejectsOnASister(t *testing.T) {
	s := newSite(t, 2, with(map[string]saying{"execjob_begin n2": {Reason: core.NICFailed}}))
	j := s.Submit(pbstest.Job{Hosts: 2})
	s.Schedule()
	s.state(j, "Q", 1, 0)
	s.past("runjob - 1.pbs1#0", "execjob_begin n1 1.pbs1#1", "execjob_begin n2 1.pbs1#1", "execjob_abort n1 1.pbs1#1", "execjob_end n1 1.pbs1#1", "jobobit - 1.pbs1#1")
	if s.Host("n1").Vnodes[0].Offline || !s.Host("n2").Vnodes[0].Offline {
		t.Error("the sister alone is at fault")
	}
}

// runjob: reject: the job stays queued with the reason as its comment, and no try is lost.
func TestRunjobTellsThatThePoolIsEmpty(t *testing.T) {
	s := newSite(t, 1, with(map[string]saying{"runjob": {Reason: core.PoolEmpty}}))
	j := s.Submit(pbstest.Job{})
	s.Schedule()
	s.state(j, "Q", 0, 0)
	if !strings.HasPrefix(j.Comment, "Not Running: PBS Error: weft: tioga/1.pbs1#1 on server: it is so; `weft vnis` ") {
		t.Errorf("comment %q", j.Comment)
	}
	s.says(all)
	s.Schedule()
	s.state(j, "R", 1, 0)
}

// launch: reject on the mother superior deletes the job with exit status -17; the sister hears abort and never end.
func TestLaunchRejects(t *testing.T) {
	s := newSite(t, 2, with(map[string]saying{"execjob_launch n1": {Reason: core.NoRecord}}))
	j := s.Submit(pbstest.Job{Hosts: 2})
	s.Schedule()
	s.state(j, "F", 1, pbstest.ExitLaunch)
	s.offline(map[string]string{})
	s.past("runjob - 1.pbs1#0", "execjob_begin n1 1.pbs1#1", "execjob_begin n2 1.pbs1#1", "execjob_launch n1 1.pbs1#1", "execjob_abort n1 1.pbs1#1", "execjob_end n1 1.pbs1#1",
		"execjob_abort n2 1.pbs1#1", "jobobit - 1.pbs1#1")
}

// launch: reject on a sister: that task alone fails.
func TestLaunchRejectsOnASister(t *testing.T) {
	s := newSite(t, 2, with(map[string]saying{"execjob_launch n2": {Reason: core.NoRecord}}))
	j := s.Submit(pbstest.Job{Hosts: 2})
	s.Schedule()
	if _, ok := s.Task(j.ID, "n2"); ok {
		t.Error("the task runs")
	}
	s.state(j, "R", 1, 0)
}

// prologue is no barrier and epilogue comes too late to refuse anything: Weft takes part in neither.
func TestNoHookWhereItWouldBeNoBarrier(t *testing.T) {
	for _, e := range strings.Split(install.NodeEvents, ",") {
		if strings.Contains(e, "prologue") || strings.Contains(e, "epilogue") {
			t.Errorf("Weft's hook runs in %s", e)
		}
	}
}

// end: reject is ignored. A fault of the node's takes it out all the same, before the next job comes.
func TestEndTakesTheNodeOffline(t *testing.T) {
	s := newSite(t, 1, with(map[string]saying{"execjob_end": {Reason: core.ServiceLeft}}))
	j := s.Submit(pbstest.Job{})
	s.Schedule()
	s.End(j.ID)
	s.state(j, "F", 1, 0)
	if r := s.last("execjob_end n1"); r.Rejected || len(r.Offline) != 1 {
		t.Errorf("got %+v", r)
	}
}

// qrerun: end and jobobit, then the same id with the next run_count.
func TestRerun(t *testing.T) {
	s := newSite(t, 1, all)
	j := s.Submit(pbstest.Job{})
	s.Schedule()
	s.Forget()
	s.Rerun(j.ID)
	s.Schedule()
	s.state(j, "R", 2, 0)
	s.past("execjob_end n1 1.pbs1#1", "jobobit - 1.pbs1#1", "runjob - 1.pbs1#1", "execjob_begin n1 1.pbs1#2", "execjob_launch n1 1.pbs1#2")
}

// qdel: end on every host, then jobobit. With -W force jobobit comes first, while services are still there.
func TestDelete(t *testing.T) {
	s := newSite(t, 2, all)
	j := s.Submit(pbstest.Job{Hosts: 2})
	s.Schedule()
	s.Forget()
	s.Delete(j.ID)
	s.past("execjob_end n1 1.pbs1#1", "execjob_end n2 1.pbs1#1", "jobobit - 1.pbs1#1")
	j = s.Submit(pbstest.Job{Hosts: 2})
	s.Schedule()
	s.Forget()
	ends := s.Force(j.ID)
	s.past("jobobit - 2.pbs1#1")
	ends()
	s.past("execjob_end n1 2.pbs1#1", "execjob_end n2 2.pbs1#1")
	s.state(j, "F", 1, 271)
}

// MOM's death: without -p each job ends on her host and is requeued; with -p it goes on, and only startup and periodic come.
func TestMOMRestarts(t *testing.T) {
	s := newSite(t, 1, all)
	j := s.Submit(pbstest.Job{})
	s.Schedule()
	s.Forget()
	s.Lose("n1")
	s.Restart("n1", true)
	s.Periodic("n1")
	s.past("exechost_startup n1", "exechost_periodic n1")
	s.state(j, "R", 1, 0)
	s.Lose("n1")
	s.Restart("n1", false)
	s.past("exechost_startup n1", "execjob_end n1 1.pbs1#1", "jobobit - 1.pbs1#1")
	s.state(j, "Q", 1, pbstest.ExitMOMLost)
}

// A sister's MOM dies: no hook runs there, and the job stays until the server gives it up.
func TestSisterIsLost(t *testing.T) {
	s := newSite(t, 2, all)
	j := s.Submit(pbstest.Job{Hosts: 2})
	s.Schedule()
	s.Forget()
	s.Lose("n2")
	s.past()
	s.state(j, "R", 1, 0)
	s.Expire("n2")
	s.past("execjob_end n1 1.pbs1#1", "jobobit - 1.pbs1#1")
	s.state(j, "Q", 1, 0)
}

// A value with commas arrives whole, in grant order: index 2 of SLINGSHOT_VNIS is the data service's, which is where DAOS's client looks. What the
// submitting shell carried is gone, and what is PBS's own stays.
func TestEnvironmentOfATask(t *testing.T) {
	s := newSite(t, 1, all)
	j := s.Submit(pbstest.Job{})
	s.Schedule()
	want := map[string]string{
		"PBS_JOBID": j.ID, "HOME": "/users/tester", "SLINGSHOT_VNIS": "1116,1115,64529", "SLINGSHOT_DEVICES": "cxi0,cxi1", "SLINGSHOT_SVC_IDS": "5,6", "SLINGSHOT_TCS": "0xa",
	}
	if diff := cmp.Diff(want, j.Env); diff != "" {
		t.Errorf("the script's (-want +got):\n%s", diff)
	}
	env, ok := s.Task(j.ID, "n1")
	if diff := cmp.Diff(want, env); diff != "" || !ok {
		t.Errorf("a task's (-want +got):\n%s", diff)
	}
	if got := strings.Split(env["SLINGSHOT_VNIS"], ","); len(got) != 3 || got[2] != "64529" {
		t.Errorf("index 2 is not the service's VNI: %v", got)
	}
}

// What root lets go by goes by, where an agent has never said what the hook is for: exit code 0 and not a word.
func TestBypassWithoutAgent(t *testing.T) {
	nothing := ""
	s := newSite(t, 1, map[string]saying{"execjob_begin": {Raw: &nothing}, "execjob_launch": {Raw: &nothing}, "runjob": {Raw: &nothing}})
	s.Events = []string{"execjob_begin", "execjob_launch"}
	j := s.Submit(pbstest.Job{})
	s.Schedule()
	s.state(j, "R", 1, 0)
	s.Events = []string{"runjob"}
	if r := s.event(map[string]any{"event": "runjob", "host": "server", "job": map[string]any{"id": "1.pbs1"}}); !r.Rejected {
		t.Error("pbs_server takes exit codes away, so that silence is no answer there")
	}
	failed := 3
	s.says(map[string]saying{"execjob_begin": {Raw: &nothing, Code: failed}})
	if r := s.event(map[string]any{"event": "execjob_begin", "host": "n1", "job": map[string]any{"id": "1.pbs1"}, "vnodes": map[string]string{"n1": "n1"}}); !r.Rejected {
		t.Error("silence and a failure")
	}
}

// An event that is not Weft's is accepted without a word.
func TestOtherEvents(t *testing.T) {
	s := newSite(t, 1, all)
	if r := s.event(map[string]any{"event": "queuejob", "host": "server", "job": map[string]any{"id": ""}}); r.Rejected {
		t.Error("rejected")
	}
	if r := s.last("queuejob server"); len(r.Calls) > 0 {
		t.Errorf("it calls %v", r.Calls)
	}
}

// A user who is unknown on a node is the node's or the site's trouble, told where it can be mended.
func TestUnknownUser(t *testing.T) {
	s := newSite(t, 1, all)
	r := s.event(map[string]any{"event": "execjob_begin", "host": "n1", "job": map[string]any{"id": "1.pbs1", "euser": "no-such-user-here", "run_count": 1}, "vnodes": map[string]string{"n1": "n1"}})
	if !r.Rejected || r.Delete || len(r.Offline) > 0 || !strings.Contains(r.Message, `this node knows no user "no-such-user-here"`) {
		t.Errorf("got %+v", r)
	}
}
