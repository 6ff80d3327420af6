package pbs_test

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs/pbstest"
)

// submitted is the event of a job that a user writes.
func submitted(event, account string, resources map[string]any) map[string]any {
	job := map[string]any{"id": "", "resources": resources}
	if account != "" {
		job["Account_Name"] = account
	}
	return map[string]any{"event": event, "host": "server", "job": job}
}

// TestBadValuesAreRefusedAtOnce: qsub and qalter show the message. Only a job that asks something of Weft costs a call.
func TestBadValuesAreRefusedAtOnce(t *testing.T) {
	s := newSite(t, 1, all)
	for _, row := range []struct {
		account   string
		resources map[string]any
		calls     int
		says      string // "": it is accepted
	}{
		{"", nil, 0, ""},
		{"phys.42", map[string]any{"ncpus": "8"}, 0, ""},
		{"", map[string]any{"slingshot_tcs": "LOW_LATENCY"}, 1, ""},
		{"", map[string]any{"slingshot_tcs": "FAST"}, 1, `slingshot_tcs: "FAST" is no`},
		{"", map[string]any{"slingshot_depth": "9999"}, 1, `slingshot_depth: "9999" is not`},
		{"", map[string]any{"slingshot_depth": "2x"}, 1, `slingshot_depth: "2x" is not`},
		{"phys 42", nil, 1, ""},
		{"projé", nil, 1, "account"},
		{"a^b", nil, 1, "account"},
	} {
		for _, event := range []string{"queuejob", "modifyjob"} {
			got := s.event(submitted(event, row.account, row.resources))
			if got.Rejected != (row.says != "") || !strings.Contains(got.Message, row.says) {
				t.Errorf("%s %+v: %+v", event, row, got)
			}
			if n := len(s.last(event + " server").Calls); n != row.calls {
				t.Errorf("%s %+v: %d calls of weft-hook", event, row, n)
			}
		}
	}
}

// TestNoJobIsRefusedWhileWeftIsAway: its text is read again when the job starts.
func TestNoJobIsRefusedWhileWeftIsAway(t *testing.T) {
	s := newSite(t, 1, all)
	job := submitted("queuejob", "", map[string]any{"slingshot_tcs": "FAST"})
	job["hangs"] = true
	if got := s.event(job); got.Rejected {
		t.Errorf("weft-hook hangs: %+v", got)
	}
	delete(job, "hangs")
	s.write("weft-hook", "")
	if got := s.event(job); got.Rejected {
		t.Errorf("weft-hook is gone: %+v", got)
	}
}

// TestBeginLeavesTheEndToRunjob: PBS writes its own comment over any reason of a job that a hook deletes.
func TestBeginLeavesTheEndToRunjob(t *testing.T) {
	for why, deleted := range map[core.Reason]bool{
		core.PolicyDenied: false, core.PolicyFault: false, core.BadRequest: false, core.OverQuota: false,
		core.BelowFloor: true, core.ClassMissing: true,
	} {
		s := newSite(t, 1, with(map[string]saying{"execjob_begin": {Reason: why}}))
		s.room = true
		job := map[string]any{"id": "1.pbs1", "euser": userOf(t), "run_count": 1}
		s.event(map[string]any{"event": "execjob_begin", "host": "n1", "job": job, "vnodes": map[string]string{"n1": "n1"}})
		if r := s.last("execjob_begin n1"); r.Deleted != deleted || !r.Rejected || len(r.Offline) > 0 {
			t.Errorf("%s: %+v", why, r)
		}
	}
}

// TestFailOfAJobThatWaits: runjob refused its next run.
func TestFailOfAJobThatWaits(t *testing.T) {
	c := pbstest.New(1)
	p := adapter(t, c.Command)
	j := c.Submit(pbstest.Job{})
	for _, run := range []uint32{0, 2} {
		if err := p.Fail(t.Context(), key(j.ID, run), "no"); err != nil || j.State != "Q" {
			t.Errorf("run %d: %v, %s", run, err, j.State)
		}
	}
	if err := p.Requeue(t.Context(), key(j.ID, 1), "later"); err != nil || j.State != "Q" || j.Comment != "" {
		t.Errorf("requeued: %v, %s %q", err, j.State, j.Comment)
	}
	err := p.Fail(t.Context(), key(j.ID, 1), "no")
	if err != nil || j.State != "F" || j.Comment != "weft: no" || len(j.Messages) > 0 {
		t.Errorf("%v, %s %q %q", err, j.State, j.Comment, j.Messages)
	}
}

// TestFailOfAJobThatBegins: MOM waits for its execjob_begin and hears nothing else, so PBS's commands would wait too.
func TestFailOfAJobThatBegins(t *testing.T) {
	c := pbstest.New(1)
	p := adapter(t, c.Command)
	c.Hook = func(e pbstest.Event) pbstest.Result {
		if e.Name != "execjob_begin" {
			return pbstest.Result{}
		}
		for _, end := range []func() error{
			func() error { return p.Fail(t.Context(), key(e.Job.ID, 1), "no") },
			func() error { return p.Requeue(t.Context(), key(e.Job.ID, 1), "no") },
		} {
			err := end()
			if j := e.Job; err != nil || j.State != "R" || strings.HasPrefix(j.Comment, "weft") || len(j.Messages) > 0 {
				t.Errorf("%v, %+v", err, j)
			}
		}
		return pbstest.Result{}
	}
	c.Submit(pbstest.Job{Rerunable: true})
	c.Schedule()
}
