package pbs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

// As qstat of OpenPBS 23.06 writes a job: what reads as JSON is not quoted, times are ctime(3)'s.
const oneJob = `{
    "timestamp":1795836300,
    "pbs_version":"23.06.06",
    "pbs_server":"pbs1",
    "Jobs":{
        "42.pbs1":{
            "Job_Name":"STDIN",
            "Job_Owner":"ann@login1",
            "job_state":"R",
            "queue":7,
            "server":"pbs1",
            "Account_Name":"1234",
            "ctime":"Sat Nov  7 07:26:45 2026",
            "exec_host":"n1/0*4+n2/0*4",
            "exec_vnode":"(n1:ncpus=4)+(n2:ncpus=4)",
            "Rerunable":"True",
            "reserve_ID":"R7.pbs1",
            "Resource_List":{
                "ncpus":8,
                "walltime":"26:30:00",
                "select":"2:ncpus=4",
                "slingshot_tcs":"LOW_LATENCY",
                "slingshot_depth":16,
                "slingshot_job_vni":"True"
            },
            "stime":"Sat Nov  7 07:26:47 2026",
            "substate":42,
            "Variable_List":{
                "PBS_O_HOME":"/users/ann",
                "job_state":"F",
                "X":{"job_state":"F"}
            },
            "euser":"ann",
            "egroup":"staff",
            "run_count":3
        },
        "43[].pbs1":{"job_state":"B","ctime":"Sat Nov  7 07:26:45 2026"}
    }
}`

func TestReadJobs(t *testing.T) {
	got, err := readJobs([]byte(oneJob))
	if err != nil {
		t.Fatal(err)
	}
	want := []row{{
		id: "42.pbs1", state: "R", substate: 42, user: "ann", group: "staff", queue: "7", account: "1234", submitted: 1794036405, started: 1794036407, runs: 3,
		hosts: "n1/0*4+n2/0*4", rerunable: true, reserved: "R7.pbs1", walltime: "26:30:00", wanted: map[string]string{"tcs": "LOW_LATENCY", "depth": "16", "job_vni": "True"},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
	if got, err := readJobs([]byte(`{"timestamp":1,"pbs_version":"23.06.06","pbs_server":"pbs1"}`)); err != nil || len(got) != 0 {
		t.Errorf("no jobs: %v, %v", got, err)
	}
}

// An answer that cannot be read whole is none: a job that was missed would be taken for gone.
func TestReadJobsRefuses(t *testing.T) {
	job := func(more string) string {
		return `{"Jobs":{"42.pbs1":{"job_state":"R","ctime":"Sat Nov  7 07:26:45 2026"` + more + `}}}`
	}
	for name, text := range map[string]string{
		"nothing":            "",
		"cut short":          oneJob[:len(oneJob)-3],
		"more behind it":     oneJob + "{}",
		"a list":             "[]",
		"jobs in a list":     `{"Jobs":[]}`,
		"jobs twice":         `{"Jobs":{},"Jobs":{}}`,
		"a job twice":        `{"Jobs":{"43[].pbs1":{},"43[].pbs1":{}}}`,
		"an attribute twice": job(`,"job_state":"F"`),
		"no state":           `{"Jobs":{"42.pbs1":{"ctime":"Sat Nov  7 07:26:45 2026"}}}`,
		"no time":            `{"Jobs":{"42.pbs1":{"job_state":"R"}}}`,
		"a long state":       `{"Jobs":{"42.pbs1":{"job_state":"RR","ctime":"Sat Nov  7 07:26:45 2026"}}}`,
		"no id":              `{"Jobs":{"-x":{}}}`,
		"a path":             `{"Jobs":{"../1.pbs1":{}}}`,
		"run_count below 0":  job(`,"run_count":-1`),
		"half a run":         job(`,"run_count":1.5`),
		"hosts in a list":    job(`,"exec_host":["n1/0"]`),
		"no user's name":     job(`,"euser":{"a":1}`),
		"resources":          job(`,"Resource_List":"ncpus=1"`),
		"stime":              job(`,"stime":"soon"`),
		"an error in it":     job(`,"x":tru`),
	} {
		if got, err := readJobs([]byte(text)); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What a user writes freely, and what he can raise by qalter, hides no other job and does not hide his own.
func TestWhatAUserWritesSpoilsNoAnswer(t *testing.T) {
	long := `"` + strings.Repeat("x", maxWord+1) + `"`
	for name, test := range map[string]struct {
		more, odd string
		runs      uint32
	}{
		"an account that reads as a list":  {`"Account_Name":[1],"run_count":3`, "Account_Name", 3},
		"one that reads as nothing":        {`"Account_Name":null,"run_count":3`, "Account_Name", 3},
		"one that reads as an object":      {`"Account_Name":{"job_state":"F"},"run_count":3`, "Account_Name", 3},
		"a long account":                   {`"Account_Name":` + long + `,"run_count":3`, "Account_Name", 3},
		"classes that read as a list":      {`"Resource_List":{"slingshot_tcs":[1]},"run_count":3`, "slingshot_tcs", 3},
		"classes that read as nothing":     {`"Resource_List":{"slingshot_tcs":null},"run_count":3`, "slingshot_tcs", 3},
		"long classes":                     {`"Resource_List":{"slingshot_tcs":` + long + `},"run_count":3`, "slingshot_tcs", 3},
		"a run_count that no run ever has": {`"run_count":4294967296`, "", 1<<32 - 1},
		"one that qstat writes shorter":    {`"run_count":9.2233720368547758e+18`, "", 1<<32 - 1},
	} {
		got, err := readJobs([]byte(`{"Jobs":{"42.pbs1":{"job_state":"R","ctime":"Sat Nov  7 07:26:45 2026",` + test.more + `},"43.pbs1":{"job_state":"R","ctime":"Sat Nov  7 07:26:45 2026"}}}`))
		if err != nil || len(got) != 2 || got[0].odd != test.odd || got[0].runs != test.runs || got[0].state != "R" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzQstat(f *testing.F) {
	f.Add([]byte(oneJob))
	f.Add([]byte(`{"Jobs":{"1[7].a.b":{"job_state":"Q","ctime":"Sat Nov  7 07:26:45 2026","Resource_List":{"slingshot_off":true}}}}`))
	f.Add([]byte(`{"Jobs":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := readJobs(text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, r := range all {
			if checkJob(r.id) != nil || core.CheckJobID(r.id) != nil || seen[r.id] || len(r.state) != 1 || r.submitted <= 0 || len(r.queue) > maxWord {
				t.Errorf("job %+v", r)
			}
			seen[r.id] = true
			_, _ = placed(r.id, r.hosts)
			_, _ = parseWanted(r.wanted)
		}
	})
}

func FuzzVnodes(f *testing.F) {
	f.Add("(n1[0]:ncpus=2:mem=1gb+n1[1]:ncpus=2)+(n2:ncpus=4)")
	f.Add("(n1)")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		chunks, err := vnodes(text)
		if err != nil {
			return
		}
		n := 0
		for _, s := range grouped(chunks) {
			n += s.Nodes
			if s.Cores < 1 {
				t.Errorf("%q: %+v", text, s)
			}
		}
		if n != len(chunks) || n == 0 {
			t.Errorf("%q: %d hosts of %d", text, n, len(chunks))
		}
	})
}

func TestVnodes(t *testing.T) {
	got, err := vnodes("(n1[0]:ncpus=2:mem=1gb+n1[1]:ncpus=2)+(n2:ncpus=4)+(n3)")
	if err != nil {
		t.Fatal(err)
	}
	want := []core.Placement{{Hosts: "n[1-2]", Nodes: 2, Cores: 4}, {Hosts: "n3", Nodes: 1, Cores: 1}}
	if diff := cmp.Diff(want, grouped(got)); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "()", "(:ncpus=1)", "(n1:ncpus=x)", "(n1:ncpus=-1)", "(n1:ncpus=99999999999)", "(n 1)"} {
		if got, err := vnodes(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestJobIDs(t *testing.T) {
	for _, good := range []string{"42.pbs1", "1.pbs1.example.org", "43[7].pbs1", "43[0].a", "999999999999.x"} {
		if err := checkJob(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "42", "x.pbs1", "42.", ".pbs1", "43[].pbs1", "43[1-3].pbs1", "43[7.pbs1", "43]7[.pbs1", "-1.pbs1", "42.pbs1 -W force", "42./etc", "42.pbs1\n", "4 2.pbs1", "42.-x",
		"1234567890123.a", "42." + strings.Repeat("a", 256), "42.pbs1@other",
	} {
		if err := checkJob(bad); err == nil {
			t.Errorf("%q is taken for a job's id", bad)
		}
	}
}

func TestParseWanted(t *testing.T) {
	n := func(v uint16) *uint16 { return &v }
	var want core.Request
	want.VNIs, want.JobVNI, want.Classes, want.Depth, want.Collectives = 2, true, core.LowLatency|core.BulkData, 16, true
	want.Limits[0] = core.LimitRequest{PerCore: n(2), Reserved: n(8), Max: n(16)}
	name := core.Resource(0).String()
	got, err := parseWanted(map[string]string{
		"vnis": "2", "job_vni": "True", "tcs": "LOW_LATENCY:TC_bulk_data", "depth": "16", "collectives": "true", "off": "False", "def_" + name: "2", "res_" + name: "8", "max_" + name: "16",
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := parseWanted(map[string]string{"job_vni": "1", "collectives": "0"}); err != nil || !got.JobVNI || got.Collectives {
		t.Errorf("booleans as runjob shows them: %+v, %v", got, err)
	}
	if got, err := parseWanted(map[string]string{"off": "True", "depth": "3"}); err != nil || !got.Off || len(got.Warnings) != 1 {
		t.Errorf("off beside another: %+v, %v", got, err)
	}
	for wanted, says := range map[string]string{
		"colour=blue": "option \"-l slingshot_colour\": there is no such option", "vnis=0": `slingshot_vnis: "0" is not a number from 1`, "depth=2000": "from 1 to 1024", "depth=": "-l slingshot_depth: its value is missing; write -l slingshot_depth=1..1024", "tcs=FAST": `"FAST" is no traffic class`,
		"tcs=": "its value is missing", "job_vni=2": "neither true nor false", "max_" + name + "=65536": "from 0 to 65535",
	} {
		key, value, _ := strings.Cut(wanted, "=")
		_, err := parseWanted(map[string]string{key: value})
		if e := core.AsError(err); e == nil || e.Reason != core.BadRequest || !strings.Contains(e.Line(), says) {
			t.Errorf("%s: %v", wanted, err)
		}
	}
	if _, err := parseWanted(map[string]string{"res_" + name: "9", "max_" + name: "8"}); err == nil {
		t.Error("a reserve above the ceiling")
	}
}
