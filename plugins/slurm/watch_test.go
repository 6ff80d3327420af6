package slurm

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

func status(job string, generation uint32, state core.JobState, hosts string) core.JobStatus {
	s := core.JobStatus{Run: core.Run{Key: key(job, generation), Fingerprint: core.Fingerprint{UID: 1001, Submitted: 1795836284}}, State: state, Hosts: hosts}
	if state == core.JobRunning {
		s.Started = 1795836290
	}
	return s
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.job("7")
		f.job("8", "State", "PENDING", "RestartCnt", "1", "NodeList", "", "StartTime", "N/A")
		f.job("9", "State", "SUSPENDED")
		f.job("10", "State", "COMPLETING", "NodeList", "n1")
		f.job("11", "State", "TIMEOUT")
		f.job("12", "State", "RESIZING")
		f.job("14", "ArrayJobID", "13", "ArrayTaskID", "1", "NodeList", "n1")
		f.job("13", "ArrayJobID", "13", "ArrayTaskID", "2-8%1", "State", "PENDING", "NodeList", "")
		enough := errors.New("enough")
		var got []core.Jobs
		err := f.adapter(t).Watch(t.Context(), func(j core.Jobs) error {
			if got = append(got, j); len(got) == 4 {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Fatal(err)
		}
		answer := core.Jobs{Complete: true, Jobs: []core.JobStatus{
			status("7", 0, core.JobRunning, "n[1-3]"), status("8", 1, core.JobQueued, ""), status("9", 0, core.JobRunning, "n[1-3]"), status("10", 0, core.JobRunning, "n1"),
			status("11", 0, core.JobFinal, "n[1-3]"), status("12", 0, core.JobRunning, "n[1-3]"), status("14", 0, core.JobRunning, "n1"), status("13", 0, core.JobQueued, ""),
		}}
		if diff := cmp.Diff([]core.Jobs{{Asking: true}, answer, {Asking: true}, answer}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// A het job is there for as long as one of its components is.
func TestWatchOfHetJobs(t *testing.T) {
	f := &fake{}
	f.job("8", "HetJobID", "7", "NodeList", "n3")
	f.job("7", "HetJobID", "7", "State", "COMPLETED", "NodeList", "n1")
	f.job("10", "HetJobID", "9", "State", "COMPLETED", "NodeList", "n3")
	f.job("9", "HetJobID", "9", "NodeList", "n1")
	f.job("11", "HetJobID", "11", "NodeList", "n1")
	f.job("12", "HetJobID", "11", "NodeList", "n2")
	f.job("13", "HetJobID", "13", "State", "PENDING", "RestartCnt", "1", "NodeList", "")
	f.job("14", "HetJobID", "13", "State", "COMPLETING", "NodeList", "n2") // of the run before
	f.job("16", "HetJobID", "15")                                          // its leader is forgotten
	got, err := f.adapter(t).list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []core.JobStatus{
		status("7", 0, core.JobRunning, "n3"), status("9", 0, core.JobRunning, "n1"), status("11", 0, core.JobRunning, "n1,n2"), status("13", 1, core.JobQueued, ""),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// An answer that is not whole frees nothing.
func TestWatchTellsNothingOfABrokenAnswer(t *testing.T) {
	for name, f := range map[string]*fake{
		"command fails":  {err: &command.Failure{Command: "squeue", Says: "Unable to contact slurm controller", Code: 1}},
		"no such number": {jobs: []map[string]string{{"JobID": "7", "HetJobID": "", "UserID": "tester", "State": "RUNNING", "SubmitTime": "1795836284", "StartTime": "N/A", "RestartCnt": "0", "NodeList": ""}}},
		"no such time":   {jobs: []map[string]string{{"JobID": "7", "HetJobID": "", "UserID": "1001", "State": "RUNNING", "SubmitTime": "Unknown", "StartTime": "N/A", "RestartCnt": "0", "NodeList": ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := f.adapter(t).list(t.Context()); err == nil || got != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestMoments(t *testing.T) {
	for text, want := range map[string]int64{"1795836284": 1795836284, "2026-11-28T03:24:44": 1795836284, "0": 0, "N/A": 0, "1970-01-01T00:00:00": 0, "-5": 0} {
		got, err := moment(text)
		if want == 0 && err != nil {
			continue
		}
		if got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

// A list of nodes of which only the beginning is shown is told as none.
func TestWatchLeavesOutHostsThatAreCut(t *testing.T) {
	f := &fake{}
	long := ""
	for i := range 100 {
		long += "n" + strconv.Itoa(2*i) + ","
	}
	f.job("7", "NodeList", long)
	got, err := f.adapter(t).list(t.Context())
	if err != nil || len(got) != 1 || got[0].Hosts != "" {
		t.Errorf("%v, %v", got, err)
	}
}
