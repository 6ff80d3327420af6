package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
	"github.com/weft-hpc/weft/people/peopletest"
)

func TestDescribe(t *testing.T) {
	f := &fake{}
	f.job("7", "Network", "job_vni,tcs=LOW_LATENCY", "Account", "phys", "RestartCnt", "1")
	got, err := f.adapter(t).Describe(t.Context(), key("7", 1), noteOf(t, note{Job: "7", Nodes: "n[1-3]", CPUs: "5,1(x2)"}), root)
	if err != nil {
		t.Fatal(err)
	}
	want := core.Job{
		Run: core.Run{Key: key("7", 1), Fingerprint: core.Fingerprint{UID: 1001, Submitted: 1795836284}},
		GID: 1001, User: "tester", Groups: []string{"domain users", "ops", "tester"}, Account: "phys", Queue: "main",
		Told: core.Told{
			QOS: new("normal"), Reservation: new(""), TimeLimit: new(core.Unlimited), Constraints: new(""),
		},
		Placements: []core.Placement{{Hosts: "n1", Nodes: 1, Cores: 5}, {Hosts: "n[2-3]", Nodes: 2, Cores: 1}},
		Request:    core.Request{JobVNI: true, Classes: core.LowLatency},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A job that is only observed has no note: squeue tells its nodes, and its CPUs are taken to be spread evenly.
func TestDescribeWithoutANote(t *testing.T) {
	f := &fake{}
	f.job("7", "NodeList", "n[1-3]", "NumNodes", "3", "NumCPUs", "12")
	got, err := f.adapter(t).Describe(t.Context(), key("7", 0), nil, root)
	want := []core.Placement{{Hosts: "n[1-3]", Nodes: 3, Cores: 4}}
	if diff := cmp.Diff(want, got.Placements); err != nil || got.UID != 1001 || diff != "" {
		t.Errorf("uid %d, %v\n%s", got.UID, err, diff)
	}
}

// Everything that a user can write into a job is written here as if it were more of the answer.
func TestDescribeOfAForger(t *testing.T) {
	forged := "\n7           N/A         7           N/A                     0           0           RUNNING"
	f := &fake{}
	f.job("7", "Account", "phys"+forged)
	_, err := f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
	checkError(t, err, core.BadRequest, "account")
	f = &fake{}
	f.job("7", "Network", "depth"+forged+"=3")
	got, err := f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
	if err != nil || got.UID != 1001 || !cmp.Equal(got.Request, core.Request{Depth: 3}) {
		t.Errorf("%+v, %v", got, err)
	}
	f = &fake{}
	f.job("7", "Network", "depth=3,"+strings.Repeat(" ", request.MaxBytes))
	_, err = f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
	if err != nil {
		t.Errorf("blanks at the end of --network cannot be told from padding, and say nothing: %v", err)
	}
	f = &fake{}
	f.job("7", "Network", strings.Repeat("depth=3,", 300))
	_, err = f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
	checkError(t, err, core.BadRequest, "--network: it has more than 1024 bytes")
	f = &fake{}
	f.job("7", "UserName", strings.Repeat("a", 300))
	_, err = f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
	checkError(t, err, core.BadRequest, "username is longer")
}

// What squeue cannot show whole, or shows as no time, is unknown, and does not refuse the job by itself.
func TestToldFacts(t *testing.T) {
	for name, c := range map[string]struct {
		more []string
		want core.Told
	}{
		"all": {
			[]string{"QOS", "debug", "Reservation", "maint", "TimeLimit", "1-02:03:04", "Feature", "gpu&nvme"},
			core.Told{QOS: new("debug"), Reservation: new("maint"), TimeLimit: new(int64(93784)), Constraints: new("gpu&nvme")},
		},
		"none": {
			[]string{"QOS", "(null)", "TimeLimit", "0:00"},
			core.Told{QOS: new(""), Reservation: new(""), TimeLimit: new(int64(0)), Constraints: new("")},
		},
		"unknown": {[]string{
			"QOS", strings.Repeat("q", 257), "Reservation", "a\nb", "TimeLimit", "INVALID", "Feature", strings.Repeat("gpu&", 70),
		}, core.Told{}},
		"never set": {
			[]string{"TimeLimit", "NOT_SET"}, core.Told{QOS: new("normal"), Reservation: new(""), Constraints: new("")},
		},
	} {
		f := &fake{}
		f.job("7", c.more...)
		got, err := f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
		if diff := cmp.Diff(c.want, got.Told); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestDescribeSaysWhatIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		more []string
		gone bool
	}{
		"running":               {nil, false},
		"configuring":           {[]string{"State", "CONFIGURING"}, false},
		"suspended":             {[]string{"State", "SUSPENDED"}, false},
		"a state of the future": {[]string{"State", "ENTANGLED"}, false},
		"completing":            {[]string{"State", "COMPLETING"}, true},
		"cancelled":             {[]string{"State", "CANCELLED"}, true},
		"back in the queue":     {[]string{"State", "PENDING", "RestartCnt", "1", "NodeList", "", "NumNodes", "2-4"}, true},
		"runs again":            {[]string{"RestartCnt", "1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			f.job("7", c.more...)
			got, err := f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
			if err != nil || got.Gone != c.gone {
				t.Errorf("gone %v, %v", got.Gone, err)
			}
		})
	}
	f := &fake{}
	_, err := f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
	checkError(t, err, core.JobUnknown, "does not know it")
	f.err = &command.Failure{Command: "squeue", Says: "slurm_load_jobs error: Unable to contact slurm controller (connect failure)", Code: 1}
	_, err = f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
	checkError(t, err, core.SchedulerAway, "Unable to contact")
	_, err = f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), core.Peer{UID: 1001})
	checkError(t, err, core.NotAllowed, "not slurmd")
	_, err = f.adapter(t).Describe(t.Context(), key("7,8", 0), noteOf(t, note{Job: "7"}), root)
	checkError(t, err, core.BadCall, "7,8")
}

// squeue does not tell how CPUs are spread; what the note does not know either is taken to be even, and a note that claims more than the job has is not heard.
func TestSharesWithoutANote(t *testing.T) {
	for name, c := range map[string]struct {
		n    note
		more []string
		want []core.Placement
	}{
		"no lists":    {note{Job: "7"}, nil, []core.Placement{{Hosts: "n[1-3]", Nodes: 3, Cores: 3}}},
		"node added":  {note{Job: "7", Nodes: "n[1-2]", CPUs: "4(x2)"}, []string{"NumCPUs", "12"}, []core.Placement{{Hosts: "n[1-3]", Nodes: 3, Cores: 4}}},
		"node gone":   {note{Job: "7", Nodes: "n[1-4]", CPUs: "4(x2),2,8"}, []string{"NumCPUs", "10"}, []core.Placement{{Hosts: "n[1-2]", Nodes: 2, Cores: 4}, {Hosts: "n3", Nodes: 1, Cores: 2}}},
		"claims much": {note{Job: "7", Nodes: "n[1-3]", CPUs: "1000(x3)"}, nil, []core.Placement{{Hosts: "n[1-3]", Nodes: 3, Cores: 3}}},
		"no CPUs":     {note{Job: "7"}, []string{"NumCPUs", "0"}, []core.Placement{{Hosts: "n[1-3]", Nodes: 3, Cores: 1}}},
		"exclusive": {
			note{Job: "7", Nodes: "n[1-3]", CPUs: "4(x2),2"}, []string{"NumCPUs", "10", "OverSubscribe", "NO"},
			[]core.Placement{{Hosts: "n[1-2]", Nodes: 2, Cores: 4, Total: 4}, {Hosts: "n3", Nodes: 1, Cores: 2, Total: 2}},
		},
		"of one user": {note{Job: "7"}, []string{"OverSubscribe", "USER"}, []core.Placement{{Hosts: "n[1-3]", Nodes: 3, Cores: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			f.job("7", c.more...)
			got, err := f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, c.n), root)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Placements); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// sinfo tells the CPUs of nodes that a job shares, once for many jobs. A list that is cut or cannot be read tells none.
func TestTotals(t *testing.T) {
	f := &fake{}
	for nodes, cpus := range map[string]string{"n[1-2]": "64", "n3": "128", "n[": "9", strings.Repeat("n1,", 64<<10): "7", "n5": "many"} {
		f.nodes = append(f.nodes, map[string]string{"NodeList": nodes, "CPUs": cpus, "OverSubscribe": "NO", "Partition": "debug*"})
	}
	f.job("7", "NumCPUs", "12")
	f.job("8", "NodeList", "n1", "NumCPUs", "1")
	f.job("9", "NumCPUs", "12", "OverSubscribe", "NO")
	f.job("10", "NodeList", "n4", "NumCPUs", "1")
	p := f.adapter(t)
	describe := func(job string, want ...core.Placement) {
		t.Helper()
		got, err := p.Describe(t.Context(), key(job, 0), noteOf(t, note{Job: job}), root)
		if diff := cmp.Diff(want, got.Placements); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	asked := func() (n int) {
		for _, call := range f.calls {
			if strings.HasPrefix(call, "sinfo") {
				n++
			}
		}
		return n
	}
	describe("9", core.Placement{Hosts: "n[1-3]", Nodes: 3, Cores: 4, Total: 4})
	describe("7", core.Placement{Hosts: "n[1-2]", Nodes: 2, Cores: 4, Total: 64}, core.Placement{Hosts: "n3", Nodes: 1, Cores: 4, Total: 128})
	describe("8", core.Placement{Hosts: "n1", Nodes: 1, Cores: 1, Total: 64})
	if asked() != 1 {
		t.Errorf("sinfo was asked %d times", asked())
	}
	describe("10", core.Placement{Hosts: "n4", Nodes: 1, Cores: 1})
}

// TestExclusive: since 26.05 squeue calls a job exclusive in a column of its own, and OverSubscribe is NO of most jobs.
func TestExclusive(t *testing.T) {
	for name, test := range map[string]struct {
		more  []string
		total int
	}{
		"exclusive before 26.05":     {[]string{"OverSubscribe", "NO"}, 2},
		"shared before 26.05":        {[]string{"OverSubscribe", "OK"}, 64},
		"exclusive":                  {[]string{"OverSubscribe", "NO", "Exclusive", "NODE"}, 2},
		"exclusive, with a topology": {[]string{"OverSubscribe", "NO", "Exclusive", "TOPO"}, 2},
		"beside jobs of its user":    {[]string{"OverSubscribe", "NO", "Exclusive", "USER"}, 64},
		"shared":                     {[]string{"OverSubscribe", "NO", "Exclusive", "NO"}, 64},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{nodes: []map[string]string{{"NodeList": "n1", "CPUs": "64", "OverSubscribe": "NO", "Partition": "main*"}}}
			f.job("7", append([]string{"NodeList", "n1", "NumCPUs", "2"}, test.more...)...)
			job, err := f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
			if want := (core.Placement{Hosts: "n1", Nodes: 1, Cores: 2, Total: test.total}); err != nil || !slices.Equal(job.Placements, []core.Placement{want}) {
				t.Errorf("it has %+v, %v; want %+v", job.Placements, err, want)
			}
		})
	}
}

// TestWithoutExclusive: what a squeue before 26.05 says of the unknown column is in no message.
func TestWithoutExclusive(t *testing.T) {
	f := &fake{err: &command.Failure{Command: "squeue", Says: withoutExclusive + " slurm_load_jobs error: Unable to contact slurm controller", Code: 1}}
	_, err := f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
	checkError(t, err, core.SchedulerAway, "squeue: slurm_load_jobs error: Unable to contact")
}

// TestOverSubscribe: what a job is given at most of its node's CPUs, by its own OverSubscribe and that of the node's
// partitions, of which the first is the job's.
func TestOverSubscribe(t *testing.T) {
	for name, test := range map[string]struct {
		job        string
		partitions []string
		total      int
	}{
		"forced":                   {"YES", []string{"FORCE:2"}, 128},
		"asked for":                {"YES", []string{"YES:4"}, 256},
		"asked for in vain":        {"YES", []string{"NO"}, 64},
		"in vain, beside another":  {"YES", []string{"NO", "FORCE:2", "EXCLUSIVE"}, 64},
		"forced, but one":          {"OK", []string{"FORCE:1"}, 64},
		"forced, beside another":   {"OK", []string{"FORCE:1", "FORCE:1"}, 128},
		"allowed, not asked":       {"OK", []string{"YES:4", "FORCE:1"}, 64},
		"alone":                    {"NO", []string{"YES:4"}, 64},
		"called alone":             {"NO", []string{"FORCE:1", "YES:4"}, 320},
		"called alone, and is":     {"NO", []string{"FORCE:1", "NO", "EXCLUSIVE"}, 64},
		"alone beside a forced":    {"NO", []string{"YES:4", "FORCE:1"}, 64},
		"two partitions":           {"YES", []string{"FORCE:2", "YES:4"}, 384},
		"one of two partitions":    {"YES", []string{"FORCE:2", "NO", "EXCLUSIVE"}, 128},
		"a partition that is gone": {"YES", []string{"", "FORCE:2"}, 128},
		"nobody says":              {"YES", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			for i, s := range test.partitions {
				if s != "" {
					f.nodes = append(f.nodes, map[string]string{
						"NodeList": "n1", "CPUs": "64", "OverSubscribe": s, "Partition": fmt.Sprintf("p%d*", i),
					})
				}
			}
			f.job("7", "NodeList", "n1", "NumCPUs", "64", "OverSubscribe", test.job, "Partition", "p0")
			got, err := f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
			want := []core.Placement{{Hosts: "n1", Nodes: 1, Cores: 64, Total: test.total}}
			if diff := cmp.Diff(want, got.Placements); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

// A list of nodes that does not fit is asked for again, never believed half.
func TestDescribeOfALongList(t *testing.T) {
	var names []string
	for i := 0; i < 4000; i += 2 {
		names = append(names, "n"+strconv.Itoa(10000+i))
	}
	f := &fake{}
	f.job("7", "NodeList", strings.Join(names, ","), "NumNodes", "2000", "NumCPUs", "8000")
	got, err := f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
	if err != nil || got.Nodes() != 2000 || len(f.calls) != 5 { // squeue twice, sinfo, getent, id
		t.Errorf("%d nodes after %d commands: %v", got.Nodes(), len(f.calls), err)
	}
	f = &fake{}
	f.job("7", "NodeList", strings.Repeat("n1,", wide))
	_, err = f.adapter(t).Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
	checkError(t, err, core.SchedulerAway, "no list of its nodes")
}

func TestDescribeOfAHetJob(t *testing.T) {
	f := &fake{}
	f.job("7", "HetJobID", "7", "NodeList", "n[1-2]", "NumCPUs", "4", "NumNodes", "2", "Network", "job_vni")
	f.job("8", "HetJobID", "7", "NodeList", "n[2-3]", "NumCPUs", "9", "NumNodes", "2", "Network", "depth=3", "SubmitTime", "1795836285")
	f.job("9", "HetJobID", "7", "State", "CANCELLED", "NodeList", "n9", "Network", "job_vni")
	p := f.adapter(t)
	got, err := p.Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "8", Nodes: "n[2-3]", CPUs: "8,1"}), root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]core.Placement{{Hosts: "n2", Nodes: 1, Cores: 10}, {Hosts: "n1", Nodes: 1, Cores: 2}, {Hosts: "n3", Nodes: 1, Cores: 1}}, got.Placements); diff != "" {
		t.Error(diff)
	}
	want := core.Request{JobVNI: true, Warnings: []string{"--network of component 8 has no effect: the job's first component says what all get"}}
	if diff := cmp.Diff(want, got.Request); diff != "" {
		t.Error(diff)
	}
	if got.Submitted != 1795836284 {
		t.Errorf("submitted %d, which is not the leader's", got.Submitted)
	}
	if got, err := p.Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "9"}), root); err != nil || !got.Gone {
		t.Errorf("a component that is over: %+v, %v", got, err)
	}
	_, err = p.Describe(t.Context(), key("8", 0), noteOf(t, note{Job: "8"}), root)
	checkError(t, err, core.JobUnknown, "component of the het job 7")
	f.job("10")
	_, err = p.Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "10"}), root)
	checkError(t, err, core.JobUnknown, "")
}

// TestMistakeInAComponent: --network of a het job's second component has no effect, but a mistake in it ends the job.
func TestMistakeInAComponent(t *testing.T) {
	for network, says := range map[string]string{
		"depth=0":                       `component 8: --network=depth: "0" is not a number from 1 to 1024`,
		"job_vni=none":                  "component 8: --network=job_vni: it takes no value",
		"disable_rdzv_get":              "component 8: --network=disable_rdzv_get: Weft does not give it",
		strings.Repeat("depth=3,", 300): "component 8: --network: it has more than 1024 bytes",
	} {
		for _, first := range []string{"(null)", "job_vni"} {
			f := &fake{}
			f.job("7", "HetJobID", "7", "NodeList", "n1", "NumCPUs", "1", "Network", first)
			f.job("8", "HetJobID", "7", "NodeList", "n2", "NumCPUs", "1", "Network", network)
			p := f.adapter(t)
			for component, host := range map[string]string{"7": "n1", "8": "n2"} { // whichever node is the first to ask
				_, err := p.Describe(t.Context(), key("7", 0), noteOf(t, note{Job: component, Nodes: host, CPUs: "1"}), root)
				checkError(t, err, core.BadRequest, says)
			}
		}
	}
}

// Groups that nobody can tell may not be missing where policy denies by them.
func TestGroupsThatNobodyKnows(t *testing.T) {
	f := &fake{users: &peopletest.Table{}}
	f.job("7", "GroupName", "")
	describe := func(p wired) (core.Job, error) {
		return p.Describe(t.Context(), key("7", 0), noteOf(t, note{Job: "7"}), root)
	}
	p := f.adapter(t)
	_, err := describe(p)
	checkError(t, err, core.SchedulerAway, "does not have it")
	asked := 0
	for range 3 {
		_, err = describe(p)
		checkError(t, err, core.SchedulerAway, "does not have it")
	}
	for _, c := range f.calls {
		if strings.HasPrefix(c, "getent") {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the database was asked %d times within a minute", asked)
	}
	f.users = nil
	p = f.adapter(t)
	if got, err := describe(p); err != nil || !slices.Contains(got.Groups, "1001") || !slices.Contains(got.Groups, "ops") {
		t.Errorf("%v, %v", got.Groups, err)
	}
	p = f.adapter(t)
	f.hold = func(_ context.Context, line string) error {
		if strings.HasPrefix(line, "id ") {
			return errors.New("the database is away")
		}
		return nil
	}
	_, err = describe(p)
	checkError(t, err, core.SchedulerAway, "the database is away")
}

// slurmstepd knows neither the restart count nor a het job's leader: see parse.go.
func TestDescribeForAStep(t *testing.T) {
	f := &fake{}
	f.job("7", "RestartCnt", "2", "HetJobID", "7")
	f.job("8", "HetJobID", "7")
	for _, own := range []string{"7", "8"} {
		got, err := f.adapter(t).Describe(t.Context(), key(own, core.AnyGeneration), noteOf(t, note{Job: own}), root)
		if err != nil || got.Gone || got.Key != key("7", 2) {
			t.Errorf("component %s: %+v, %v", own, got, err)
		}
	}
	_, err := f.adapter(t).Describe(t.Context(), key("8", 0), noteOf(t, note{Job: "8"}), root)
	checkError(t, err, core.JobUnknown, "component of the het job 7")
}
