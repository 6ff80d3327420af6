package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/rpc/rpctest"
)

func key(job string) core.Key { return core.Key{JobID: core.JobID{Scheduler: "login", Job: job}} }

// bare is a plugin whose methods give way to those of a wired one.
type bare struct{ *Plugin }

// wired is a plugin that tests call through rpc, as a daemon does.
type wired struct {
	*rpctest.Adapter
	bare
}

func adapter(t testing.TB, name string, tables ...*Table) wired {
	p := New(name, tables...)
	return wired{rpctest.Wire(t, p), bare{p}}
}

func TestDescribeGoesByTheTable(t *testing.T) {
	table, gone := open(t, Options{Cores: 4})
	p := adapter(t, "login", table)
	c := cat(t, me())
	e, err := table.Begin(t.Context(), c.peer(), Wish{Options: []string{"vnis=2"}})
	if err != nil {
		t.Fatal(err)
	}
	k := key(e.Job)
	k.Generation = 7
	got, err := p.Describe(t.Context(), k, []byte(`{"uid":0,"groups":["ops"]}`), c.peer())
	if err != nil {
		t.Fatal(err)
	}
	want := core.Job{
		Run: core.Run{Key: key(e.Job), Fingerprint: core.Fingerprint{UID: me(), Submitted: e.Submitted}},
		GID: e.GID, User: e.User, Groups: e.Groups, Placements: []core.Placement{{Hosts: "login1.site", Nodes: 1, Cores: 4, Total: 4}}, Request: core.Request{VNIs: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, err = p.Describe(t.Context(), key(e.Job), nil, core.Peer{UID: 4711})
	checkError(t, err, core.NotAllowed, "not uid 4711's")
	_, err = p.Describe(t.Context(), key("login1.site.99"), nil, c.peer())
	checkError(t, err, core.JobUnknown, "no process")
	c.end()
	<-gone
	_, err = p.Describe(t.Context(), key(e.Job), nil, core.Peer{})
	checkError(t, err, core.JobUnknown, "no process")
}

func TestDescribeGoesByTheNoteWhereThereIsNoTable(t *testing.T) {
	p := adapter(t, "login")
	note := func(change func(*Note)) []byte {
		n := Note{UID: 1000, GID: 100, User: "alice", Groups: []string{"users"}, Hosts: []string{"n1"}, Cores: 8, Submitted: 1700000000, Options: []string{"job_vni"}}
		if change != nil {
			change(&n)
		}
		b, err := n.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	alice := core.Peer{UID: 1000, Node: "n1"}
	got, err := p.Describe(t.Context(), key("n1.3"), note(nil), alice)
	if err != nil || got.UID != 1000 || got.User != "alice" || got.Nodes() != 1 || !got.Request.JobVNI || got.Submitted != 1700000000 {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, test := range map[string]struct {
		job  string
		note []byte
		from core.Peer
		want core.Reason
		says string
	}{
		"another's":         {"n1.3", note(nil), core.Peer{UID: 1001, Node: "n1"}, core.NotAllowed, "not uid 1001's"},
		"of another node":   {"n1.3", note(nil), core.Peer{UID: 1000, Node: "n2"}, core.NotPlaced, "node n2"},
		"id of another":     {"n2.3", note(nil), alice, core.BadCall, "not one that an agent makes"},
		"no id":             {"n1", note(nil), alice, core.BadCall, "no id of a local job"},
		"no note":           {"n1.3", nil, alice, core.BadCall, "note"},
		"no user":           {"n1.3", note(func(n *Note) { n.User = "" }), alice, core.BadCall, "not one"},
		"nobody's":          {"n1.3", note(func(n *Note) { n.UID = core.NoUID }), alice, core.BadCall, "not one"},
		"no time":           {"n1.3", note(func(n *Note) { n.Submitted = 0 }), alice, core.BadCall, "not one"},
		"options":           {"n1.3", note(func(n *Note) { n.Options = []string{"vni=1"} }), alice, core.BadRequest, "did you mean vnis?"},
		"host with a comma": {"n1.3", note(func(n *Note) { n.Hosts = append(n.Hosts, "n2,n3") }), alice, core.BadCall, "not allowed there"},
		"too long":          {"n1.3", append(note(nil), strings.Repeat(" ", core.MaxNote)...), alice, core.BadCall, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Describe(t.Context(), key(test.job), test.note, test.from)
			checkError(t, err, test.want, test.says)
		})
	}
	checkError(t, p.Watch(t.Context(), nil), core.NotSupported, "no table")
	checkError(t, p.Fail(t.Context(), key("n1.3"), "x"), core.NotSupported, "n1.3")
	checkError(t, p.Drain(t.Context(), "n1", "x"), core.NotSupported, "n1")
}

func TestNoteThatIsTooLongIsRefusedNotCut(t *testing.T) {
	var n Note
	for i := range 9000 {
		n.Groups = append(n.Groups, fmt.Sprintf("group%05d", i))
	}
	_, err := n.Encode()
	checkError(t, err, core.BadRequest, "there may be 65536")
}

func TestSplitJob(t *testing.T) {
	for _, good := range []string{"n1.1", "login1.site.example.42", "x1000c0s0b0n0.18446744073709551615"} {
		node, n, err := splitJob(good)
		if err != nil || jobName(node, n) != good {
			t.Errorf("%q: %q, %d, %v", good, node, n, err)
		}
	}
	for _, bad := range []string{"", "n1", "n1.", ".1", "n1.0", "n1.01", "n1.+1", "n1.-1", "../n1.1", "n1\n.1", "n1.1 ", "-n.1", "n1.18446744073709551616"} {
		if node, n, err := splitJob(bad); !errors.Is(err, core.Invalid) {
			t.Errorf("%q: %q, %d, %v", bad, node, n, err)
		}
	}
}

func TestParse(t *testing.T) {
	table, _ := open(t, Options{Node: "n1"})
	c := cat(t, me())
	e := begin(t, table, c)
	with, without := adapter(t, "login", table), adapter(t, "login")
	note, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	owner, root, other := core.Peer{UID: 1000}, core.Peer{UID: 0}, core.Peer{UID: 1001}
	mine := core.Peer{UID: me()}
	ask := func(a core.Action, job string, uid uint32, note []byte) core.Intent {
		return core.Intent{Action: a, Key: key(job), UID: uid, Note: note, Began: 5, Call: "c1"}
	}
	for name, test := range map[string]struct {
		p     wired
		phase string
		stdin string
		peer  core.Peer
		want  core.Intent
		err   core.Reason
		says  string
	}{
		"prepare":               {with, "prepare", `{"job":"n1.1"}`, mine, ask(core.Prepare, "n1.1", me(), note), "", ""},
		"prepare, no table":     {without, "prepare", `{"job":"n1.7"}`, owner, ask(core.Prepare, "n1.7", 1000, nil), "", ""},
		"prepare of none":       {with, "prepare", `{"job":"n1.7"}`, owner, core.Intent{}, core.JobUnknown, "n1.7"},
		"prepare of another's":  {with, "prepare", `{"job":"n1.1"}`, core.Peer{UID: me() + 1}, core.Intent{}, core.NotAllowed, "n1.1"},
		"claims another's uid":  {without, "prepare", `{"job":"n1.7","uid":0}`, owner, core.Intent{}, core.NotAllowed, "not uid 0's"},
		"root for another":      {without, "prepare", `{"job":"n1.7","uid":1000}`, root, ask(core.Prepare, "n1.7", 1000, nil), "", ""},
		"root, wrong owner":     {with, "cleanup", `{"job":"n1.1","uid":4711}`, root, core.Intent{}, core.NotAllowed, "4711"},
		"nobody":                {without, "prepare", `{"job":"n1.7","uid":4294967295}`, root, core.Intent{}, core.BadCall, "nobody"},
		"environment":           {without, "environment", `{"job":"n1.7"}`, owner, ask(core.Environment, "n1.7", 1000, nil), "", ""},
		"environment, another":  {with, "environment", `{"job":"n1.1"}`, core.Peer{UID: me() + 1}, core.Intent{}, core.NotAllowed, "n1.1"},
		"clean-up after death":  {with, "cleanup", `{"job":"n1.7"}`, other, ask(core.CleanUp, "n1.7", 1001, nil), "", ""},
		"phase":                 {with, "prolog", `{"job":"n1.1"}`, owner, core.Intent{}, core.BadCall, "use prepare, environment, cleanup"},
		"no input":              {with, "prepare", ``, owner, core.Intent{}, core.BadCall, "input"},
		"trailing":              {with, "prepare", `{"job":"n1.1"}{}`, owner, core.Intent{}, core.BadCall, "input"},
		"forged facts":          {without, "prepare", `{"job":"n1.7","groups":["ops"],"gid":0}`, owner, ask(core.Prepare, "n1.7", 1000, nil), "", ""},
		"id of a path":          {with, "prepare", `{"job":"../n1.1"}`, owner, core.Intent{}, core.BadCall, "no job id can have"},
		"id of another adapter": {with, "prepare", `{"job":"4034"}`, owner, core.Intent{}, core.BadCall, "NODE.N"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.p.Parse(t.Context(), core.HookCall{ID: "c1", Scheduler: "login", Phase: test.phase, Stdin: []byte(test.stdin), Peer: test.peer, Began: 5})
			if test.err != "" {
				checkError(t, err, test.err, test.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("prepare", []byte(`{"job":"n1.7","uid":1000}`), uint32(1000))
	f.Add("cleanup", []byte(`{"job":"n1.7","uid":7}`), uint32(0))
	p := New("local")
	f.Fuzz(func(t *testing.T, phase string, in []byte, uid uint32) {
		ask, err := p.Parse(context.Background(), core.HookCall{Scheduler: "local", Phase: phase, Stdin: in, Peer: core.Peer{UID: uid}})
		if err != nil {
			if !errors.Is(err, core.Invalid) && !errors.Is(err, core.Denied) {
				t.Errorf("got %s", describe(err))
			}
			return
		}
		if uid != 0 && ask.UID != uid {
			t.Errorf("uid %d asks for uid %d", uid, ask.UID)
		}
		if core.CheckJobID(ask.Key.Job) != nil || ask.Note != nil {
			t.Errorf("got %+v", ask)
		}
	})
}

func TestRender(t *testing.T) {
	p := adapter(t, "local")
	for name, test := range map[string]struct {
		o           core.Outcome
		stdout, err string
		exit        int
	}{
		"environment": {core.Outcome{Key: key("n1.7"), Environment: []core.Variable{
			{Name: "SLINGSHOT_VNIS", Unset: true}, {Name: "SLINGSHOT_VNIS", Value: "1026"}, {Name: "SLINGSHOT_DEVICES", Value: "cxi0,cxi1"},
		}, Warnings: []string{"cxi0: les scaled\nFAKE\x1b[2J\u202e"}},
			`{"job":"n1.7","unset":["SLINGSHOT_VNIS"],"set":[{"name":"SLINGSHOT_VNIS","value":"1026"},{"name":"SLINGSHOT_DEVICES","value":"cxi0,cxi1"}]}` + "\n",
			"weft: warning: cxi0: les scaled FAKE?[2J?\n", 0},
		"error": {core.Outcome{Key: key("n1.7"), Err: core.Errorf(core.PoolEmpty, "pool jobs: no VNI is free").WithRemedy("wait")},
			"", "weft: pool jobs: no VNI is free; wait\n", ExitFailed},
		"pending": {core.Outcome{Key: key("n1.7"), Action: core.CleanUp, Pending: true},
			`{"job":"n1.7"}` + "\n", "weft: warning: job n1.7: its services are still in use; the node goes on removing them\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := p.Render(t.Context(), core.HookCall{}, test.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{test.stdout, test.err, test.exit}, []any{string(got.Stdout), string(got.Stderr), got.Exit}); diff != "" {
				t.Error(diff)
			}
			var a Answer
			if got.Exit == 0 && json.Unmarshal(got.Stdout, &a) != nil {
				t.Error("nobody can read it")
			}
		})
	}
}

func TestWatchTellsWhatChanges(t *testing.T) {
	table, gone := open(t, Options{Node: "n1"})
	a, b := cat(t, me()), cat(t, me())
	begin(t, table, a)
	told := watch(t, adapter(t, "local", table))
	told.expect(t, "asking")
	told.expect(t, "complete n1.1=running@n1")
	begin(t, table, b)
	told.expect(t, "n1.2=running@n1")
	a.end()
	<-gone
	told.expect(t, "n1.1=final@n1")
	c := cat(t, me())
	begin(t, table, c)
	told.expect(t, "n1.3=running@n1")
	b.end()
	<-gone
	told.expect(t, "n1.2=final@n1")
}

func TestWatchAsksAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, _ := open(t, Options{Node: "n1"})
		defer table.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		var told []string
		err := adapter(t, "local", table).Watch(ctx, func(j core.Jobs) error {
			told = append(told, fmt.Sprint(j.Asking, j.Complete))
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if got := strings.Join(told, ", "); got != strings.TrimSuffix(strings.Repeat("true false, false true, ", 3), ", ") {
			t.Errorf("told %s", got)
		}
		stop := errors.New("enough")
		if err := adapter(t, "local", table).Watch(t.Context(), func(core.Jobs) error { return stop }); !errors.Is(err, stop) {
			t.Error(err)
		}
	})
}

// A job's end that no listener heard is told by the next Watch: the server was away meanwhile.
func TestWatchTellsAnEndThatWasLost(t *testing.T) {
	table, gone := open(t, Options{Node: "n1"})
	job, p := cat(t, me()), adapter(t, "local", table)
	begin(t, table, job)
	lost := errors.New("there is no session")
	err := p.Watch(t.Context(), func(j core.Jobs) error {
		if j.Complete {
			job.end()
			<-gone
		}
		if !j.Asking && !j.Complete {
			return lost
		}
		return nil
	})
	if !errors.Is(err, lost) {
		t.Fatal(err)
	}
	told := watch(t, p)
	told.expect(t, "asking")
	told.expect(t, "complete")
	told.expect(t, "n1.1=final@n1")
}

func BenchmarkBegin(b *testing.B) {
	table, _ := open(b, Options{Node: "n1", File: b.TempDir() + "/local.json"})
	c := cat(b, me())
	peer := c.peer()
	for b.Loop() {
		e, err := table.Begin(context.Background(), peer, Wish{})
		if err != nil {
			b.Fatal(err)
		}
		table.mu.Lock()
		table.jobs[e.Job].process.Close() // its watch ends, and it does not fill the table
		delete(table.jobs, e.Job)
		table.mu.Unlock()
	}
}
