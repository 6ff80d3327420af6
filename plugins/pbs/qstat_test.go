package pbs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs/pbstest"
)

// As qstat -f -F dsv of OpenPBS 23.06 writes jobs: times are ctime(3)'s.
const twoJobs = "Job Id: 42.pbs1|Job_Name=STDIN|Job_Owner=ann@login1|job_state=R|queue=7|server=pbs1|Account_Name=1e3" +
	"|ctime=Sat Nov  7 07:26:45 2026|exec_host=n1/0*4+n2/0*4|exec_vnode=(n1:ncpus=4)+(n2:ncpus=4)|Rerunable=True" +
	"|Resource_List.ncpus=8|Resource_List.walltime=26:30:00|Resource_List.place=pack|Resource_List.slingshot_tcs=LOW_LATENCY" +
	"|Resource_List.slingshot_depth=16|Resource_List.slingshot_job_vni=True|stime=Sat Nov  7 07:26:47 2026|substate=42" +
	"|Variable_List=PBS_O_HOME=/users/ann,job_state=F,X=a\\\\b,job_state=F|euser=ann|egroup=staff|run_count=3" +
	"|reserve_ID=R7.pbs1|project=_pbs_project_default\n" +
	"Job Id: 43[].pbs1|Job_Name=a|job_state=B|ctime=Sat Nov  7 07:26:45 2026\n"

func TestReadJobs(t *testing.T) {
	got, err := readJobs([]byte(twoJobs), "|")
	if err != nil {
		t.Fatal(err)
	}
	want := []row{{
		id: "42.pbs1", state: "R", substate: 42, user: "ann", group: "staff", queue: "7", account: "1e3",
		submitted: 1794036405, started: 1794036407, runs: 3, hosts: "n1/0*4+n2/0*4", vnodes: "(n1:ncpus=4)+(n2:ncpus=4)", rerunable: true, reserved: "R7.pbs1",
		walltime: "26:30:00", place: "pack", wanted: map[string]string{"tcs": "LOW_LATENCY", "depth": "16", "job_vni": "True"},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
	if got, err := readJobs(nil, "|"); err != nil || len(got) != 0 {
		t.Errorf("no jobs: %v, %v", got, err)
	}
}

// An answer that cannot be read whole is none: a job that was missed would be taken for gone.
func TestReadJobsRefuses(t *testing.T) {
	const ctime = "|ctime=Sat Nov  7 07:26:45 2026"
	job := func(more string) string { return "Job Id: 42.pbs1|Job_Name=a|job_state=R" + ctime + more + "\n" }
	for name, text := range map[string]string{
		"a newline alone":         "\n",
		"JSON":                    "{}\n",
		"cut in an attribute":     strings.TrimSuffix(job(""), "\n"),
		"cut in a header":         job("") + "Job Id: 43",
		"a header alone":          job("") + "Job Id: 43.pbs1\n",
		"another text behind":     job("") + "qstat: cannot go on\n",
		"another between":         job("") + "qstat: cannot go on\n" + job(""),
		"no name":                 "Job Id: 42.pbs1|job_state=R" + ctime + "\n",
		"a job twice":             job("") + job(""),
		"an attribute twice":      job("|job_state=F"),
		"a resource twice":        job("|Resource_List.place=a|Resource_List.place=b"),
		"an attribute without =":  job("|euser"),
		"no state":                "Job Id: 42.pbs1|Job_Name=a" + ctime + "\n",
		"no time":                 "Job Id: 42.pbs1|Job_Name=a|job_state=R\n",
		"a long state":            "Job Id: 42.pbs1|Job_Name=a|job_state=RR" + ctime + "\n",
		"no id":                   "Job Id: -x|Job_Name=a|job_state=R" + ctime + "\n",
		"a path":                  "Job Id: ../1.pbs1|Job_Name=a|job_state=R" + ctime + "\n",
		"run_count that is none":  job("|run_count=1.5"),
		"a user's name with ^":    job("|euser=^A"),
		"a time that is none":     job("|stime=soon"),
		"a substate that is none": job("|substate=x"),
	} {
		if got, err := readJobs([]byte(text), "|"); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What a user writes freely, and what he can change by qalter, hides no other job and does not hide his own.
func TestWhatAUserWritesSpoilsNoAnswer(t *testing.T) {
	const forged = "\xca" + "Job Id: 9.pbs1|Job_Name=a|job_state=F"
	long := strings.Repeat("x", maxWord+1)
	for name, test := range map[string]struct {
		name, value, odd string
		runs             uint32
	}{
		"a number that is none":       {"Account_Name", "nan", "", 0},
		"a sign before a number":      {"Account_Name", "+5", "", 0},
		"a list":                      {"Account_Name", "[1]", "", 0},
		"an account with é":           {"Account_Name", "projé", "Account_Name", 0},
		"a forged job in an account":  {"Account_Name", forged, "Account_Name", 0},
		"one at the end of a job":     {"project", forged, "", 0},
		"one in the job's name":       {"Job_Name", forged, "", 0},
		"a backslash at the end":      {"project", `x\`, "", 0},
		"one in the path of output":   {"Output_Path", `h:/a\b\`, "", 0},
		"a usual delimiter":           {"Account_Name", "a|job_state=F", "", 0},
		"a byte that is a backslash":  {"Account_Name", "a\x1c", "Account_Name", 0},
		"one at the end of a job's":   {"project", "a\x1c", "", 0},
		"forged by such":              {"Account_Name", "\x1c\x80job_state=F", "Account_Name", 0},
		"a byte that ends the text":   {"project", "a\xc0b", "", 0},
		"a long account":              {"Account_Name", long, "Account_Name", 0},
		"long classes":                {"Resource_List.slingshot_tcs", long, "slingshot_tcs", 0},
		"classes that are no ASCII":   {"Resource_List.slingshot_tcs", "é", "slingshot_tcs", 0},
		"a run_count of no run":       {"run_count", "4294967296", "", 1<<32 - 1},
		"the highest":                 {"run_count", "9223372036854775807", "", 1<<32 - 1},
		"a run_count below 0":         {"run_count", "-1", "", 1<<32 - 1},
		"what qstat writes variables": {"Variable_List", `X=inf,Y=a\,b`, "", 0},
	} {
		job := []pbstest.Attribute{{Name: "Job_Name", Value: "a"}, {Name: "job_state", Value: "R"}}
		job = append(job, pbstest.Attribute{Name: "ctime", Value: "Sat Nov  7 07:26:45 2026"})
		end := delimiter()
		other := pbstest.Printed(end, "43.pbs1", job)
		if i := slices.IndexFunc(job, func(a pbstest.Attribute) bool { return a.Name == test.name }); i >= 0 {
			job[i].Value = test.value
		} else {
			job = append(job, pbstest.Attribute{Name: test.name, Value: test.value})
		}
		got, err := readJobs([]byte(pbstest.Printed(end, "42.pbs1", job)+other), end)
		if err != nil || len(got) != 2 || got[0].id != "42.pbs1" || got[1].id != "43.pbs1" {
			t.Errorf("%s: %+v, %v", name, got, err)
		} else if got[0].odd != test.odd || got[0].runs != test.runs || got[0].state != "R" {
			t.Errorf("%s: %+v", name, got[0])
		}
	}
}

// Whatever bytes users write, each job is found with its own state, and a value that can be told comes out as it was.
func TestEveryJobIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching("[\x1c\\\\^,'\"=a\n]{0,8}"),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return strings.ReplaceAll(string(b), "\x00", "") }),
			rapid.Just("\xcaJob Id: 9.pbs1\x1c\x80Job_Name=x\x1c\x80job_state=F"))
		var out strings.Builder
		var want []row
		end := delimiter()
		for i := range rapid.IntRange(0, 4).Draw(t, "jobs") {
			r := row{id: fmt.Sprintf("%d.pbs1", i), state: string("QRE"[i%3]), submitted: 1794036405}
			account := text.Draw(t, "account")
			all := []pbstest.Attribute{
				{Name: "Job_Name", Value: text.Draw(t, "name")}, {Name: "job_state", Value: r.state}, {Name: "Account_Name", Value: account},
				{Name: "ctime", Value: "Sat Nov  7 07:26:45 2026"}, {Name: "project", Value: text.Draw(t, "project")},
			}
			out.WriteString(pbstest.Printed(end, r.id, all))
			if r.account = account; strings.ContainsFunc(account, func(c rune) bool { return c == '^' || c > 127 || c < 32 && c != '\n' && c != '\t' && c != '\f' }) {
				r.account, r.odd = "", attrAccount
			}
			want = append(want, r)
		}
		got, err := readJobs([]byte(out.String()), end)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzQstat(f *testing.F) {
	f.Add([]byte(twoJobs))
	f.Add([]byte("Job Id: 1[7].a.b|Job_Name=x|job_state=Q|ctime=Sat Nov  7 07:26:45 2026|Resource_List.slingshot_off=True\n"))
	f.Add([]byte("Job Id: 1.a|Job_Name=^\nJob Id: 2.a|job_state=Q|ctime=Sat Nov  7 07:26:45 2026\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := readJobs(text, "|")
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, r := range all {
			if checkJob(r.id) != nil || core.CheckJobID(r.id) != nil || seen[r.id] || len(r.state) != 1 || r.submitted <= 0 || len(r.queue) > maxWord {
				t.Errorf("job %+v", r)
			}
			seen[r.id] = true
			_, _ = placed(r)
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
		_ = counted(strings.Repeat("n1/0*0+", strings.Count(text, "+"))+"n1/0*0", text)
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

// TestCounted: exec_host says no cores of a chunk that has several vnodes.
func TestCounted(t *testing.T) {
	for _, row := range []struct{ hosts, vnodes, want string }{
		{"n1/0*0", "(n1[0]:ncpus=4+n1[1]:ncpus=2)", "n1/0*6"},
		{"n1/0+n2/1*0+n2/2*4", "(n1:ncpus=1)+(n2[0]:mem=1gb:ncpus=4+n2[1]:ncpus=4+n2[2]:mem=1gb)+(odd:ncpus=4)", "n1/0+n2/1*8+n2/2*4"},
		{"n1/0*0+n2/0*0", "n1:ncpus=0+(n2[0]:ncpus=1+n2[1]:ncpus=1)", "n1/0*0+n2/0*2"},
		{"n1/0*0+n2/0*0", "(n1[0]:ncpus=4+n1[1]:ncpus=2)", "n1/0*0+n2/0*0"},
		{"n1/0*4", "", "n1/0*4"},
		{"n1/0*0", "", "n1/0*0"},
	} {
		if got := counted(row.hosts, row.vnodes); got != row.want {
			t.Errorf("%s with %s: %s, want %s", row.hosts, row.vnodes, got, row.want)
		}
	}
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
