package slurm

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

func TestFailAndRequeue(t *testing.T) {
	told := func(raw, name string, more ...string) []string {
		return append([]string{"scontrol notify " + raw + " weft: no VNI is left", "scontrol update JobId=" + name + " AdminComment=weft: no VNI is left"}, more...)
	}
	for name, c := range map[string]struct {
		more          []string
		fail, requeue []string
	}{
		"batch job":         {nil, told("7", "7", "scancel 7"), told("7", "7", "scontrol requeue 7")},
		"srun or salloc":    {[]string{"BatchFlag", "0"}, told("7", "7", "scancel 7"), told("7", "7", "scancel 7")},
		"may not come back": {[]string{"Requeue", "0"}, told("7", "7", "scancel 7"), told("7", "7", "scancel 7")},
		// The id of the array is the id of its last task.
		"array's task": {[]string{"ArrayJobID", "7", "ArrayTaskID", "8"}, told("7", "7_8", "scancel 7_8"), told("7", "7_8", "scontrol requeue 7_8")},
		"forged task":  {[]string{"ArrayJobID", "7", "ArrayTaskID", "1 -u alice"}, told("7", "7", "scancel 7"), told("7", "7", "scontrol requeue 7")},
		"over":         {[]string{"State", "COMPLETED"}, nil, nil},
		"failed":       {[]string{"State", "FAILED"}, nil, told("7", "7", "scontrol requeue 7")},
		"failed srun":  {[]string{"State", "FAILED", "BatchFlag", "0"}, nil, nil},
		"failed later": {[]string{"State", "FAILED", "RestartCnt", "1"}, nil, nil},
		"cancelled":    {[]string{"State", "CANCELLED"}, nil, nil},
		"completing":   {[]string{"State", "COMPLETING", "Requeue", "0"}, nil, nil},
		"waiting":      {[]string{"State", "PENDING", "RestartCnt", "1"}, nil, nil},
		"a newer run":  {[]string{"RestartCnt", "1"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, act := range []struct {
				of   func(wired) func(context.Context, core.Key, string) error
				want []string
			}{
				{func(p wired) func(context.Context, core.Key, string) error { return p.Fail }, c.fail},
				{func(p wired) func(context.Context, core.Key, string) error { return p.Requeue }, c.requeue},
			} {
				f := &fake{}
				f.job("7", c.more...)
				if err := act.of(f.adapter(t))(t.Context(), key("7", 0), "no VNI\nis left\x1b"); err != nil {
					t.Fatal(err)
				}
				var want []string
				want = append(want, act.want...)
				if diff := cmp.Diff(want, append([]string(nil), f.did()...)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// That a job cannot be told is no reason to let it run; that it is over already is what was wanted.
// TestRefusedBatchJobEndsInItsTask: where slurm.conf names Weft's TaskProlog, that ends the script of a refused batch
// job, and scancel comes only after a while. Every other job is cancelled at once.
func TestRefusedBatchJobEndsInItsTask(t *testing.T) {
	const weft = "TaskProlog              = /etc/weft/slurm/taskprolog\n"
	comment := "scontrol update JobId=7 AdminComment=weft: denied"
	notify := "scontrol notify 7 weft: denied"
	for name, c := range map[string]struct {
		config    string
		more      []string
		now, then []string
	}{
		"its task runs on":          {weft, nil, []string{comment}, []string{comment, "scancel 7"}},
		"srun":                      {weft, []string{"BatchFlag", "0"}, []string{notify, comment, "scancel 7"}, nil},
		"no TaskProlog":             {"TaskProlog = (null)\n", nil, []string{notify, comment, "scancel 7"}, nil},
		"a TaskProlog of others":    {"TaskProlog = /etc/slurm/taskprolog\n", nil, []string{notify, comment, "scancel 7"}, nil},
		"no answer of slurm.conf's": {"", nil, []string{notify, comment, "scancel 7"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{config: c.config}
				f.job("7", c.more...)
				p := NewWith("tioga", f.run)
				if err := p.Fail(t.Context(), key("7", 0), "denied"); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.now, f.did()); diff != "" {
					t.Error(diff)
				}
				time.Sleep(backstop + time.Second)
				if c.then == nil {
					c.then = c.now
				}
				if diff := cmp.Diff(c.then, f.did()); diff != "" {
					t.Errorf("later: %s", diff)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{config: weft}
		f.job("7")
		if err := NewWith("tioga", f.run).Fail(t.Context(), key("7", 0), "denied"); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.jobs[0]["State"] = "FAILED"
		f.mu.Unlock()
		time.Sleep(backstop + time.Second)
		if diff := cmp.Diff([]string{comment}, f.did()); diff != "" {
			t.Errorf("it has ended: %s", diff)
		}
	})
}

// TestRequeueOfAJobThatCompletes: how it ends decides whether it is put back.
func TestRequeueOfAJobThatCompletes(t *testing.T) {
	f := &fake{}
	f.job("7", "State", "COMPLETING")
	checkError(t, f.adapter(t).Requeue(t.Context(), key("7", 0), "why"), core.SchedulerAway, "job 7: it is completing")
	if did := f.did(); len(did) > 0 {
		t.Error(did)
	}
}

func TestFailGoesOn(t *testing.T) {
	f := &fake{}
	f.job("7")
	f.hold = func(_ context.Context, line string) error {
		switch {
		case strings.HasPrefix(line, "scontrol"):
			return &command.Failure{Command: "scontrol", Says: "Access/permission denied", Code: 1}
		case strings.HasPrefix(line, "scancel"):
			return &command.Failure{Command: "scancel", Says: "scancel: error: Kill job error on job id 7: Invalid job id specified", Code: 60}
		}
		return nil
	}
	if err := f.adapter(t).Fail(t.Context(), key("7", 0), "why"); err != nil {
		t.Error(err)
	}
	f.hold = func(_ context.Context, line string) error {
		if strings.HasPrefix(line, "scancel") {
			return &command.Failure{Command: "scancel", Says: "Access/permission denied", Code: 1}
		}
		return nil
	}
	checkError(t, f.adapter(t).Fail(t.Context(), key("7", 0), "why"), core.SchedulerAway, "Access/permission denied")
	checkError(t, f.adapter(t).Fail(t.Context(), key("7 8", 0), "why"), core.BadCall, "")
	if err := f.adapter(t).Fail(t.Context(), key("99", 0), "why"); err != nil {
		t.Error(err)
	}
}

func TestDrain(t *testing.T) {
	node := func(state, reason string) map[string]string {
		return map[string]string{"NodeList": "n1", "StateLong": state, "Reason": reason}
	}
	want := []string{"scontrol update NodeName=n1 State=DRAIN Reason=weft: cxi1: no service can be made"}
	for name, c := range map[string]struct {
		node map[string]string
		want []string
	}{
		"idle":                  {node("idle", "none"), want},
		"running jobs":          {node("mixed", "none"), want},
		"Slurm's own reason":    {node("drained", "Prolog error"), want},
		"ours of before":        {node("draining", "weft: cxi0: it is gone"), want},
		"an administrator's":    {node("drained", "memory is being replaced"), nil},
		"no reason":             {node("drained", ""), nil},
		"no reason, as shown":   {node("drained", "none"), nil},
		"an old reason, in use": {node("idle", "memory was replaced"), want},
		"a reason with records": {node("drained", "x\nn1"+strings.Repeat(" ", 40)+"idle"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{nodes: []map[string]string{c.node, c.node}} // once a partition
			if err := f.adapter(t).Drain(t.Context(), "n1", "cxi1: no service\ncan be made"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, append([]string(nil), f.did()...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	// A reason for Slurm's own drain drains no node.
	for reason, want := range map[string][]string{
		"Prolog error": {"scontrol update NodeName=n1 State=DRAIN Reason=weft: " + core.AwayPrefix + "x"}, "Kill task failed": nil, "memory is being replaced": nil, "weft: fan": nil,
	} {
		for _, state := range []string{"drained", "idle"} {
			f := &fake{nodes: []map[string]string{node(state, reason)}}
			if err := f.adapter(t).Drain(t.Context(), "n1", core.AwayPrefix+"x"); err != nil {
				t.Fatal(err)
			}
			if state == "idle" {
				want = nil
			}
			if diff := cmp.Diff(want, append([]string(nil), f.did()...)); diff != "" {
				t.Errorf("%s %s: %s", state, reason, diff)
			}
		}
	}
	f := &fake{}
	checkError(t, f.adapter(t).Drain(t.Context(), "n9", "x"), core.NotSupported, "has no node of that name")
	checkError(t, f.adapter(t).Drain(t.Context(), "n[1-9]", "x"), core.BadCall, "n[1-9]")
	checkError(t, f.adapter(t).Drain(t.Context(), "-a", "x"), core.BadCall, "-a")
	f.err = &command.Failure{Command: "sinfo", Says: "Unable to contact slurm controller", Code: 1}
	checkError(t, f.adapter(t).Drain(t.Context(), "n1", "x"), core.SchedulerAway, "Unable to contact")
}

// TestResume: only what Drain did is lifted.
func TestResume(t *testing.T) {
	want := []string{"scontrol update NodeName=n1 State=UNDRAIN"}
	for name, c := range map[string]struct {
		state, reason string
		want          []string
	}{
		"drained by Weft":          {"drained", "weft: cxi0: it is gone", want},
		"with jobs":                {"draining", "weft: cxi0: it is gone", want},
		"in service, an old text":  {"idle", "weft: cxi0: it is gone", nil},
		"down":                     {"down", "weft: cxi0: it is gone", nil},
		"an administrator's":       {"drained", "memory is being replaced", nil},
		"Slurm's own":              {"drained", "Prolog error", nil},
		"one that only names Weft": {"drained", "not weft: x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{nodes: []map[string]string{{"NodeList": "n1", "StateLong": c.state, "Reason": c.reason}}}
			if err := f.adapter(t).Resume(t.Context(), "n1"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, append([]string(nil), f.did()...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	f := &fake{}
	checkError(t, f.adapter(t).Resume(t.Context(), "n9"), core.NotSupported, "has no node of that name")
	checkError(t, f.adapter(t).Resume(t.Context(), "-a"), core.BadCall, "-a")
	f.err = &command.Failure{Command: "sinfo", Says: "Unable to contact slurm controller", Code: 1}
	checkError(t, f.adapter(t).Resume(t.Context(), "n1"), core.SchedulerAway, "Unable to contact")
}

// TestDrained: a node counts once, however many partitions it is in, and Weft's own drain is nobody's.
func TestDrained(t *testing.T) {
	node := func(name, state, user, since, reason string) map[string]string {
		return map[string]string{"NodeList": name, "StateLong": state, "User": user, "Timestamp": since, "Reason": reason}
	}
	f := &fake{nodes: []map[string]string{
		node("n1", "drained", "ann", "1795836284", "memory is tested"), node("n1", "drained", "ann", "1795836284", "memory is tested"),
		node("n2", "draining", "root", "1795836285", "weft: cxi0: it is gone"), node("n3", "idle", "root", "Unknown", "none"),
		node("n4", "drained", "Unknown", "Unknown", "none"),
		node("n5", "drained", "ann", "1795836286", "Prolog error"), node("n6", "drained", "slurm", "1795836286", "Epilog error"),
		node("n7", "drained", "root", "1795836286", "batch job complete failure"), node("n8", "drained", "slurm", "1795836286", "Not responding"),
		node("n9", "drained", "root", "1795836286", "weft: "+core.AwayPrefix+"x"),
	}, config: "SlurmUser               = slurm(64030)\n"}
	got, err := f.adapter(t).Drained(t.Context())
	want := []core.Drained{
		{Hosts: "n1", Drain: core.Drain{Reason: "memory is tested", By: "ann", Since: 1795836284}},
		{Hosts: "n2", Drain: core.Drain{Reason: "weft: cxi0: it is gone", Since: 1795836285}},
		{Hosts: "n4", Drain: core.Drain{Reason: "none"}},
		{Hosts: "n5", Drain: core.Drain{Reason: "Prolog error", By: "ann", Since: 1795836286}},
		{Hosts: "n6", Drain: core.Drain{Reason: "Epilog error", By: "slurm", Since: 1795836286}, Hook: true},
		{Hosts: "n7", Drain: core.Drain{Reason: "batch job complete failure", By: "root", Since: 1795836286}, Hook: true},
		{Hosts: "n8", Drain: core.Drain{Reason: "Not responding", By: "slurm", Since: 1795836286}},
		{Hosts: "n9", Drain: core.Drain{Reason: "weft: " + core.AwayPrefix + "x", By: "root", Since: 1795836286}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || !got[1].Ours() || got[0].Ours() {
		t.Error(err, diff)
	}
	f.err = &command.Failure{Command: "sinfo", Says: "Unable to contact slurm controller", Code: 1}
	_, err = f.adapter(t).Drained(t.Context())
	checkError(t, err, core.SchedulerAway, "Unable to contact")
}

func TestDown(t *testing.T) {
	for name, c := range map[string]struct {
		states []string
		want   core.Reason
	}{
		"down":                     {[]string{"down"}, ""},
		"down and silent":          {[]string{"down*"}, ""},
		"in service":               {[]string{"idle"}, core.NotAllowed},
		"drained":                  {[]string{"drained"}, core.NotAllowed},
		"silent":                   {[]string{"idle*"}, core.NotAllowed},
		"powered off":              {[]string{"powered_down"}, core.NotAllowed},
		"differs by the partition": {[]string{"down", "idle"}, core.NotAllowed},
		"of no cluster":            {nil, core.NotSupported},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			for _, s := range c.states {
				f.nodes = append(f.nodes, map[string]string{"NodeList": "n1", "StateLong": s, "Reason": "Not responding"})
			}
			if got := core.ReasonOf(f.adapter(t).Down(t.Context(), "n1")); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	f := &fake{err: &command.Failure{Command: "sinfo", Says: "Unable to contact slurm controller", Code: 1}}
	checkError(t, f.adapter(t).Down(t.Context(), "n1"), core.SchedulerAway, "Unable to contact")
}
