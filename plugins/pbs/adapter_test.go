package pbs_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/pbs/pbstest"
	"github.com/weft-hpc/weft/rpc/rpctest"
)

func key(job string, generation uint32) core.Key {
	return core.Key{JobID: core.JobID{Scheduler: "tioga", Job: job}, Generation: generation}
}

// bare is a plugin whose methods give way to those of a wired one.
type bare struct{ *pbs.Plugin }

// wired is a plugin that tests call through rpc, as a daemon does.
type wired struct {
	*rpctest.Adapter
	bare
}

func adapter(t testing.TB, run command.Runner) wired {
	p := pbs.NewWith("tioga", run)
	return wired{rpctest.Wire(t, p), bare{p}}
}

// asked is what execjob_begin leaves for Describe.
func asked(t *testing.T, j *pbstest.Job, runs uint32) core.Intent {
	t.Helper()
	ask, err := pbs.New("tioga").Parse(t.Context(), core.HookCall{
		Scheduler: "tioga", Phase: "execjob_begin", Began: 5, Stdin: []byte(`{"v":1,"job":"` + j.ID + `","user":"tester","uid":1001,"run_count":` + string('0'+rune(runs)) + `}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return ask
}

func reason(err error) core.Reason {
	if err == nil {
		return ""
	}
	return core.AsError(err).Reason
}

// answers are the complete answers of a Watch, one for each time that it asks.
func answer1(t *testing.T, p wired) map[string]core.JobStatus {
	t.Helper()
	var got map[string]core.JobStatus
	enough := errors.New("enough")
	err := p.Watch(t.Context(), func(jobs core.Jobs) error {
		if !jobs.Complete {
			return nil
		}
		got = map[string]core.JobStatus{}
		for _, j := range jobs.Jobs {
			got[j.Job] = j
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	return got
}

func TestDescribe(t *testing.T) {
	c := pbstest.New(3)
	p := adapter(t, c.Command)
	j := c.Submit(pbstest.Job{Hosts: 2, Cores: 4, Queue: "large", Account: "42", Reserved: "R7.pbs1", Resources: map[string]string{"walltime": "26:30:00", "slingshot_tcs": "LOW_LATENCY", "slingshot_depth": "8"}})
	c.Schedule()
	ask := asked(t, j, 1)
	got, err := p.Describe(t.Context(), ask.Key, ask.Note, core.Peer{Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	want := core.Job{
		Run: core.Run{Key: key(j.ID, 1), Fingerprint: core.Fingerprint{UID: 1001, Submitted: j.Submitted}}, GID: 1001, User: "tester", Groups: []string{"staff", "tester"},
		Account: "42", Queue: "large", Placements: []core.Placement{{Hosts: "n[1-2]", Nodes: 2, Cores: 4}},
		Told:    core.Told{Reservation: new("R7.pbs1"), TimeLimit: new(int64(95400))},
		Request: core.Request{Classes: core.LowLatency, Depth: 8},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err = p.Describe(t.Context(), ask.Key, nil, core.Peer{}); err != nil { // no hook has spoken of it
		t.Error(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for walltime, limit := range map[string]*int64{"": new(core.Unlimited), "00:10:00": new(int64(600)), "soon": nil} {
		j.Reserved, j.Resources["walltime"] = "", walltime
		got, err := p.Describe(t.Context(), ask.Key, ask.Note, core.Peer{Node: "n1"})
		if diff := cmp.Diff(core.Told{Reservation: new(""), TimeLimit: limit}, got.Told); diff != "" || err != nil {
			t.Errorf("walltime %q: %v %s", walltime, err, diff)
		}
	}
}

// A run that is over, is overtaken, or never was gets nothing.
func TestDescribeOfWhatIsOver(t *testing.T) {
	c := pbstest.New(1)
	p := adapter(t, c.Command)
	j := c.Submit(pbstest.Job{})
	c.Schedule()
	first := asked(t, j, 1)
	c.Rerun(j.ID)
	if got, err := p.Describe(t.Context(), first.Key, first.Note, core.Peer{}); err != nil || !got.Gone {
		t.Errorf("back in the queue: %+v, %v", got, err)
	}
	c.Schedule()
	if got, err := p.Describe(t.Context(), first.Key, first.Note, core.Peer{}); err != nil || !got.Gone || got.Generation != 2 {
		t.Errorf("overtaken: %+v, %v", got, err)
	}
	second := asked(t, j, 2)
	if got, err := p.Describe(t.Context(), second.Key, second.Note, core.Peer{}); err != nil || got.Gone {
		t.Errorf("the second run: %+v, %v", got, err)
	}
	c.End(j.ID)
	if got, err := p.Describe(t.Context(), second.Key, second.Note, core.Peer{}); err != nil || !got.Gone {
		t.Errorf("ended: %+v, %v", got, err)
	}
	if _, err := p.Describe(t.Context(), key("9.pbs1", 1), second.Note, core.Peer{}); reason(err) != core.JobUnknown {
		t.Errorf("a job that never was: %v", err)
	}
}

// TestDescribeWithoutHistory: a PBS that keeps no job that has finished tells those that live.
func TestDescribeWithoutHistory(t *testing.T) {
	c := pbstest.New(1)
	c.Forgets = true
	p := adapter(t, c.Command)
	j := c.Submit(pbstest.Job{})
	c.Schedule()
	key := core.Key{JobID: core.JobID{Scheduler: "aurora", Job: j.ID}, Generation: 1}
	if job, err := p.Describe(t.Context(), key, nil, core.Peer{}); err != nil || job.Gone || len(job.Placements) != 1 {
		t.Errorf("a job that runs: %+v, %v", job, err)
	}
	c.Delete(j.ID)
	if _, err := p.Describe(t.Context(), key, nil, core.Peer{}); reason(err) != core.JobUnknown {
		t.Errorf("a job that has finished: %v", err)
	}
}

func TestDescribeRefuses(t *testing.T) {
	c := pbstest.New(1)
	p := adapter(t, c.Command)
	j := c.Submit(pbstest.Job{Resources: map[string]string{"slingshot_tcs": "FAST"}})
	c.Schedule()
	ask := asked(t, j, 1)
	if _, err := p.Describe(t.Context(), ask.Key, ask.Note, core.Peer{}); reason(err) != core.BadRequest {
		t.Errorf("a class that is none: %v", err)
	}
	if _, err := p.Describe(t.Context(), ask.Key, ask.Note, core.Peer{UID: 1001}); reason(err) != core.NotAllowed {
		t.Errorf("a user: %v", err)
	}
	facts := []byte(`{"v":1,"facts":{"user":"tester","queue":"vip"}}`)
	if _, err := p.Describe(t.Context(), ask.Key, facts, core.Peer{Node: "n1"}); reason(err) != core.NotAllowed {
		t.Errorf("a node that tells a job's facts: %v", err)
	}
	for _, note := range []string{"", "{", `{"v":0}`, `{"v":2}`, `{"v":1,"x":"` + strings.Repeat("x", core.MaxNote) + `"}`} {
		if _, err := p.Describe(t.Context(), ask.Key, []byte(note), core.Peer{}); err == nil {
			t.Errorf("note %.20q", note)
		}
	}
	stranger := c.Submit(pbstest.Job{User: "mallory"})
	c.End(j.ID)
	c.Schedule()
	ask = asked(t, stranger, 1)
	if _, err := p.Describe(t.Context(), ask.Key, ask.Note, core.Peer{}); reason(err) != core.SchedulerAway || !strings.Contains(err.Error(), "mallory") {
		t.Errorf("a user whom this host does not know: %v", err)
	}
	if got := answer1(t, p); len(got) != 0 {
		t.Errorf("one such job spoils the answer about others: %v", got)
	}
	c.End(stranger.ID)
	odd := c.Submit(pbstest.Job{Account: "projé"})
	c.Schedule()
	ask = asked(t, odd, 1)
	if _, err := p.Describe(t.Context(), ask.Key, ask.Note, core.Peer{}); reason(err) != core.BadRequest || !strings.Contains(err.Error(), "Account_Name") {
		t.Errorf("an account that is no ASCII: %v", err)
	}
}

// What runjob and jobobit tell is all that can be known while pbs_server waits for them.
func TestFactsOfTheServersHooks(t *testing.T) {
	asked := 0
	p := adapter(t, func(ctx context.Context, name string, args ...string) ([]byte, error) {
		if name != "getent" && name != "id" {
			asked++
		}
		return pbstest.New(1).Command(ctx, name, args...)
	})
	stdin := []byte(`{"v":1,"job":"43[7].pbs1","user":"tester2","uid":1002,"group":"tester","queue":"large","account":"a1","submitted":1795836284,"run_count":null,
		"exec_vnode":"(n1[0]:ncpus=2+n1[1]:ncpus=2)+(n2:ncpus=4)","resources":{"slingshot_tcs":"BULK_DATA","ncpus":"8"}}`)
	for phase, generation := range map[string]uint32{"runjob": 1, "jobobit": 0} {
		ask, err := p.Parse(t.Context(), core.HookCall{Scheduler: "tioga", Phase: phase, Stdin: stdin})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Describe(t.Context(), ask.Key, ask.Note, core.Peer{})
		if err != nil {
			t.Fatal(err)
		}
		want := core.Job{
			Run: core.Run{Key: key("43[7].pbs1", generation), Fingerprint: core.Fingerprint{UID: 1002, Submitted: 1795836284}}, GID: 1001, User: "tester2",
			Groups: []string{"staff", "tester", "tester2"}, Account: "a1", Queue: "large", Placements: []core.Placement{{Hosts: "n[1-2]", Nodes: 2, Cores: 4}},
			Request: core.Request{Classes: core.BulkData},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", phase, diff)
		}
	}
	if asked > 0 {
		t.Error("pbs_server was asked, which waits for the hook")
	}
}

func TestWatchTellsWhereJobsStand(t *testing.T) {
	c := pbstest.New(2)
	p := adapter(t, c.Command)
	run, wait := c.Submit(pbstest.Job{Hosts: 2}), c.Submit(pbstest.Job{Hosts: 2, User: "tester3", Group: "tester3"})
	task := c.Submit(pbstest.Job{ID: "43[7].pbs1", Hosts: 2})
	c.Submit(pbstest.Job{ID: "43[].pbs1", Hosts: 99})
	c.Schedule()
	got := answer1(t, p)
	status := func(j *pbstest.Job, uid uint32, runs uint32, state core.JobState, hosts string, started int64) core.JobStatus {
		return core.JobStatus{Run: core.Run{Key: key(j.ID, runs), Fingerprint: core.Fingerprint{UID: uid, Submitted: j.Submitted}}, State: state, Hosts: hosts, Started: started}
	}
	want := map[string]core.JobStatus{
		run.ID: status(run, 1001, 1, core.JobRunning, "n1,n2", run.Submitted+5), wait.ID: status(wait, 1003, 0, core.JobQueued, "", 0), task.ID: status(task, 1001, 0, core.JobQueued, "", 0),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// Requeued: the run that was is over, since the same generation is back in the queue.
	c.Rerun(run.ID)
	if got := answer1(t, p)[run.ID]; got.State != core.JobQueued || got.Generation != 1 {
		t.Errorf("requeued: %+v", got)
	}
	// Lost sister: the job is there until PBS gives it up.
	c.Schedule()
	c.Lose("n2")
	if got := answer1(t, p)[run.ID]; got.State != core.JobRunning || got.Generation != 2 || got.Hosts != "n1,n2" {
		t.Errorf("a lost sister: %+v", got)
	}
	c.Expire("n2")
	if got := answer1(t, p)[run.ID]; got.State != core.JobQueued || got.Generation != 2 {
		t.Errorf("given up: %+v", got)
	}
	c.Delete(run.ID)
	if _, there := answer1(t, p)[run.ID]; there {
		t.Error("a job that ended is in the answer")
	}
}

// While pbs_server sends a run to MOM, stime is that of the run before.
func TestWatchOfARunThatBegins(t *testing.T) {
	c := pbstest.New(1)
	p := adapter(t, c.Command)
	seen := core.JobStatus{}
	c.Hook = func(e pbstest.Event) pbstest.Result {
		if e.Name == "execjob_begin" {
			seen = answer1(t, p)[e.Job.ID]
		}
		return pbstest.Result{}
	}
	j := c.Submit(pbstest.Job{})
	c.Schedule()
	if seen.State != core.JobRunning || seen.Generation != 1 || seen.Started != 0 || seen.Submitted != j.Submitted {
		t.Errorf("while it begins: %+v", seen)
	}
}

func TestWatchTellsNothingThatItCouldNotRead(t *testing.T) {
	for name, says := range map[string]string{
		"an error": "qstat: connection refused\n", "half": "Job Id: 1.pbs1|Job_Name=a|job_st", "JSON": `{"Jobs":[]}`,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		p := adapter(t, func(context.Context, string, ...string) ([]byte, error) {
			cancel()
			return []byte(says), nil
		})
		err := p.Watch(ctx, func(jobs core.Jobs) error {
			if jobs.Complete {
				t.Errorf("%s: it tells %v", name, jobs)
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWatchOfAnOrdinaryUser: qstat exits 0 without the jobs of others, which is no complete answer.
func TestWatchOfAnOrdinaryUser(t *testing.T) {
	c := pbstest.New(1)
	p := adapter(t, c.Command)
	c.Submit(pbstest.Job{})
	c.Schedule()
	c.Hides = true
	enough := errors.New("enough")
	err := p.Watch(t.Context(), func(jobs core.Jobs) error {
		if jobs.Asking {
			return nil
		}
		if jobs.Complete || !strings.Contains(jobs.Blind, "query_other_jobs = True") {
			t.Errorf("told %+v", jobs)
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}

func TestFail(t *testing.T) {
	c := pbstest.New(1)
	p := adapter(t, c.Command)
	j := c.Submit(pbstest.Job{})
	c.Schedule()
	if err := p.Fail(t.Context(), key(j.ID, 9), "another run"); err != nil || j.State != "R" {
		t.Errorf("another run: %v, %s", err, j.State)
	}
	if err := p.Fail(t.Context(), key(j.ID, 1), "DEDICATED_ACCESS \"needs\"\nmembership, of ops"); err != nil || j.State != "F" {
		t.Errorf("%v, %s", err, j.State)
	}
	const says = "weft: DEDICATED_ACCESS 'needs' membership, of ops"
	if j.Comment != says || len(j.Messages) != 1 || !strings.Contains(j.Messages[0], "membership, of ops") {
		t.Errorf("the user is told %q and %q", j.Comment, j.Messages)
	}
	for range 2 { // over, and never known
		if err := p.Fail(t.Context(), key(j.ID, 1), "again"); err != nil {
			t.Error(err)
		}
		j.ID = "9.pbs1"
	}
	if err := p.Fail(t.Context(), key("-W force", 1), "x"); reason(err) != core.BadCall {
		t.Errorf("an id that is an option: %v", err)
	}
}

// A job that is gone takes no comment any more, and has nobody's terminal: whoever ends it says why first.
func TestTheReasonComesBeforeTheEnd(t *testing.T) {
	for end, by := range map[string]func(wired, core.Key) error{
		"qdel":   func(p wired, k core.Key) error { return p.Fail(t.Context(), k, "no") },
		"qrerun": func(p wired, k core.Key) error { return p.Requeue(t.Context(), k, "no") },
	} {
		c := pbstest.New(1)
		var ran []string
		p := adapter(t, func(ctx context.Context, name string, args ...string) ([]byte, error) {
			if name == "qalter" || name == "qmsg" || name == end {
				ran = append(ran, name)
			}
			return c.Command(ctx, name, args...)
		})
		j := c.Submit(pbstest.Job{Rerunable: true})
		c.Schedule()
		if err := by(p, key(j.ID, 1)); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"qalter", "qmsg", end}, ran); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRequeue(t *testing.T) {
	c := pbstest.New(1)
	p := adapter(t, c.Command)
	j := c.Submit(pbstest.Job{Rerunable: true})
	c.Schedule()
	if err := p.Requeue(t.Context(), key(j.ID, 1), "pool jobs: no VNI is free"); err != nil || j.State != "Q" || j.Comment != "weft: pool jobs: no VNI is free" {
		t.Errorf("%v, %s %q", err, j.State, j.Comment)
	}
	// Its own execjob_begin may have sent it back, or PBS started it anew meanwhile: neither is touched.
	for range 2 {
		runs := j.Runs
		if err := p.Requeue(t.Context(), key(j.ID, 1), "late"); err != nil || j.Runs != runs || strings.Contains(j.Comment, "late") {
			t.Errorf("%v, %+v", err, j)
		}
		c.Schedule()
	}
	once := c.Submit(pbstest.Job{})
	c.End(j.ID)
	c.Schedule()
	if err := p.Requeue(t.Context(), key(once.ID, 1), "no VNI is free"); err != nil || once.State != "F" {
		t.Errorf("a job that may not run twice: %v, %s", err, once.State)
	}
}

func TestDrain(t *testing.T) {
	c := pbstest.New(2)
	c.Split("n1", 2)
	p := adapter(t, c.Command)
	long := "cxi1 is göne: " + strings.Repeat("x", 200)
	for _, why := range []string{"cxi0 is gone", long} {
		if err := p.Drain(t.Context(), "n1", why); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range c.Host("n1").Vnodes {
		if !v.Offline || !strings.HasPrefix(v.Comment, "weft: cxi1 is g?ne: x") || len(v.Comment) > 79 || !strings.HasSuffix(v.Comment, "...") {
			t.Errorf("%+v", v)
		}
	}
	if c.Host("n2").Vnodes[0].Offline {
		t.Error("another node went too")
	}
	if got, err := p.Drained(t.Context()); err != nil || len(got) != 1 || got[0].Hosts != "n1" || !got[0].Ours() {
		t.Errorf("%+v %v", got, err)
	}
	if err := p.Resume(t.Context(), "n1"); err != nil || c.Host("n1").Vnodes[0].Offline {
		t.Errorf("a reason that PBS cut is not Weft's any more: %v", err)
	}
	c.Host("n1").Vnodes[0].Down, c.Host("n1").Vnodes[1].Down = true, true
	if got, err := p.Drained(t.Context()); err != nil || got != nil {
		t.Errorf("a host that is down is drained: %+v %v", got, err)
	}
	v := c.Host("n2").Vnodes[0]
	for _, comment := range []string{"", "ann: memory is tested", "ann: der Lüfter „rattert“"} {
		v.Offline, v.Comment = true, comment
		if err := p.Drain(t.Context(), "n2", "cxi0 is gone"); err != nil || v.Comment != comment {
			t.Errorf("%v, %q", err, v.Comment)
		}
		if err := p.Resume(t.Context(), "n2"); err != nil || !v.Offline {
			t.Errorf("a person has it offline, %q, and it is in service: %v", v.Comment, err)
		}
		if got, err := p.Drained(t.Context()); err != nil || len(got) != 1 || got[0].Hosts != "n2" || got[0].Ours() {
			t.Errorf("%+v %v", got, err)
		}
	}
	if err := p.Drain(t.Context(), "n9", "x"); reason(err) != core.NotSupported {
		t.Errorf("a node that PBS does not have: %v", err)
	}
	if err := p.Drain(t.Context(), "-C", "x"); reason(err) != core.BadCall {
		t.Errorf("an option: %v", err)
	}
}

func TestResume(t *testing.T) {
	c := pbstest.New(2)
	c.Split("n1", 2)
	p := adapter(t, c.Command)
	one, two := c.Host("n1").Vnodes[0], c.Host("n1").Vnodes[1]
	check := func(what string, offline bool, comment string) {
		t.Helper()
		if err := p.Resume(t.Context(), "n1"); err != nil || one.Offline != offline || one.Comment != comment {
			t.Errorf("%s: %v, %+v, %+v", what, err, one, two)
		}
	}
	check("in service", false, "")
	if err := p.Drain(t.Context(), "n1", "cxi0 is gone"); err != nil {
		t.Fatal(err)
	}
	two.Comment = "ann: memory is tested"
	check("an administrator has one of them too", false, "")
	if !two.Offline || two.Comment != "ann: memory is tested" {
		t.Errorf("an administrator's: %+v", two)
	}
	if got, err := p.Drained(t.Context()); err != nil || got != nil {
		t.Errorf("a host with a vnode in service: %+v, %v", got, err)
	}
	for range 2 {
		if err := p.Drain(t.Context(), "n1", `"cxi0" is gone`); err != nil {
			t.Fatal(err)
		}
		if !one.Offline || one.Comment != "weft: 'cxi0' is gone" || two.Comment != "ann: memory is tested" {
			t.Errorf("beside an administrator's vnode: %+v, %+v", one, two)
		}
	}
	one.Down = true // the states of its vnodes differ
	if got, err := p.Drained(t.Context()); err != nil || len(got) != 1 || !got[0].Ours() {
		t.Errorf("a drained host is not in the list: %+v, %v", got, err)
	}
	one.Down, two.Comment = false, one.Comment
	check("drained by Weft", false, "")
	if two.Offline || two.Comment != "" {
		t.Errorf("%+v", two)
	}
	one.Offline, one.Comment = true, ""
	check("no reason", true, "")
	if err := p.Resume(t.Context(), "n9"); reason(err) != core.NotSupported {
		t.Errorf("a node that PBS does not have: %v", err)
	}
	if err := p.Resume(t.Context(), "-C"); reason(err) != core.BadCall {
		t.Errorf("an option: %v", err)
	}
}

func TestDown(t *testing.T) {
	c := pbstest.New(2)
	c.Split("n1", 2)
	p := adapter(t, c.Command)
	for _, v := range c.Host("n1").Vnodes {
		if err := p.Down(t.Context(), "n1"); reason(err) != core.NotAllowed {
			t.Errorf("a vnode is up: %v", err)
		}
		v.Down = true
	}
	if err := p.Down(t.Context(), "n1"); err != nil {
		t.Error(err)
	}
	if err := p.Down(t.Context(), "n9"); reason(err) != core.NotSupported {
		t.Errorf("a node that PBS does not have: %v", err)
	}
}
