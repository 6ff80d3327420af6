package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
)

// open opens a Table whose Gone tells the channel; it is closed with the test.
func open(t testing.TB, o Options) (*Table, chan Entry) {
	t.Helper()
	gone := make(chan Entry, 64)
	if o.Node == "" {
		o.Node = "login1.site"
	}
	o.Gone = func(e Entry) { gone <- e }
	table, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table, gone
}

func begin(t testing.TB, table *Table, c *child) Entry {
	t.Helper()
	e, err := table.Begin(context.Background(), c.peer(), Wish{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestJobLivesAsLongAsItsProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "local.json")
	table, gone := open(t, Options{File: file, Cores: 8})
	c := cat(t, me())
	e, err := table.Begin(t.Context(), c.peer(), Wish{Options: []string{"vnis=2"}})
	if err != nil {
		t.Fatal(err)
	}
	if e.Job != "login1.site.1" || e.UID != me() || e.PID != c.peer().PID || e.Cores != 8 || e.Start == 0 || e.Submitted == 0 || e.User == "" {
		t.Errorf("got %+v", e)
	}
	if got, ok := table.Get(e.Job); !ok || !cmp.Equal(got, e) {
		t.Errorf("got %+v, %v", got, ok)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	c.end()
	if got := <-gone; got.Job != e.Job {
		t.Errorf("%s is gone", got.Job)
	}
	if _, ok := table.Get(e.Job); ok || len(table.Jobs()) != 0 {
		t.Error("the job is still there")
	}
	next := cat(t, me())
	if e := begin(t, table, next); e.Job != "login1.site.2" {
		t.Errorf("the next is %s", e.Job)
	}
}

func TestZombieIsOver(t *testing.T) {
	table, gone := open(t, Options{})
	c := cat(t, me())
	e := begin(t, table, c)
	c.in.Close() // cat ends, and nobody has waited for it
	if got := <-gone; got.Job != e.Job {
		t.Errorf("%s is gone", got.Job)
	}
}

// TestExecKeepsTheJob: `weft run` is a Go program, so the thread that execs is seldom the first.
func TestExecKeepsTheJob(t *testing.T) {
	table, gone := open(t, Options{})
	for range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), execLater+"=1")
		c := spawn(t, cmd)
		e := begin(t, table, c)
		if _, err := c.in.Write([]byte("xhello")); err != nil { // x makes it exec, and hello comes back from cat
			t.Fatal(err)
		}
		b := make([]byte, 5)
		if _, err := c.out.Read(b); err != nil || string(b) != "hello" {
			t.Fatalf("got %q, %v", b, err)
		}
		select {
		case e := <-gone:
			t.Errorf("%s is gone by its exec", e.Job)
		default:
		}
		if now, ok := table.Get(e.Job); !ok || now.Start != e.Start {
			t.Errorf("after the exec it is %+v, %v", now, ok)
		}
		c.end()
		<-gone
	}
}

func TestRestartFindsTheJobsAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "local.json")
	table, gone := open(t, Options{File: file})
	lives, dies, recycled := cat(t, me()), cat(t, me()), cat(t, me())
	a, b, c := begin(t, table, lives), begin(t, table, dies), begin(t, table, recycled)
	table.Close()
	if len(gone) != 0 {
		t.Fatal("closing ended a job")
	}
	dies.end()
	// As if the pid of c were a later process's now.
	f, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Jobs {
		if f.Jobs[i].Job == c.Job {
			f.Jobs[i].Start--
		}
	}
	if err := save(file, f); err != nil {
		t.Fatal(err)
	}

	table, gone = open(t, Options{File: file})
	ended := []string{(<-gone).Job, (<-gone).Job}
	slices.Sort(ended)
	if diff := cmp.Diff([]string{b.Job, c.Job}, ended); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Entry{a}, table.Jobs()); diff != "" {
		t.Error(diff)
	}
	if e := begin(t, table, recycled); e.Job != "login1.site.4" {
		t.Errorf("the next is %s", e.Job)
	}
	lives.end()
	if e := <-gone; e.Job != a.Job {
		t.Errorf("%s is gone", e.Job)
	}
	table.Close()

	table, gone = open(t, Options{File: file, boot: "another"})
	if e := <-gone; e.Job != "login1.site.4" {
		t.Errorf("after a reboot %s is gone", e.Job)
	}
	if jobs := table.Jobs(); len(jobs) != 0 {
		t.Errorf("after a reboot there is %+v", jobs)
	}
}

func TestGoneIsToldAgainAfterACrash(t *testing.T) {
	file := filepath.Join(t.TempDir(), "local.json")
	saved := make(chan []byte, 1)
	o := Options{Node: "n1", File: file, Gone: func(Entry) {
		b, _ := os.ReadFile(file)
		saved <- b
	}}
	table, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	c := cat(t, me())
	e := begin(t, table, c)
	c.end()
	atCrash := <-saved // what a SIGKILL in the middle of Gone leaves
	table.Close()
	if err := os.WriteFile(file, atCrash, 0o600); err != nil {
		t.Fatal(err)
	}
	_, gone := open(t, Options{Node: "n1", File: file})
	if got := <-gone; got.Job != e.Job {
		t.Errorf("%s is gone", got.Job)
	}
}

func TestBeginRefuses(t *testing.T) {
	table, _ := open(t, Options{})
	c := cat(t, me())
	dead := cat(t, me())
	dead.end()
	ctx := t.Context()
	_, err := table.Begin(ctx, dead.peer(), Wish{})
	checkError(t, err, core.Cancelled, "gone")
	_, err = table.Begin(ctx, core.Peer{UID: me() + 1, PID: c.peer().PID}, Wish{})
	checkError(t, err, core.NotAllowed, "is another's")
	_, err = table.Begin(ctx, c.peer(), Wish{Options: []string{"vnis=9"}})
	checkError(t, err, core.BadRequest, "vnis")
	_, err = table.Begin(ctx, c.peer(), Wish{User: "no such user\n"})
	checkError(t, err, core.BadRequest, "no such user")
	_, err = table.Begin(ctx, c.peer(), Wish{}, "other")
	checkError(t, err, core.BadCall, "begins on login1.site")
	_, err = table.Begin(ctx, c.peer(), Wish{}, "login1.site", "../x")
	checkError(t, err, core.BadCall, "not allowed there")
	if jobs := table.Jobs(); len(jobs) != 0 {
		t.Errorf("there is %+v", jobs)
	}
	table.Close()
	_, err = table.Begin(ctx, c.peer(), Wish{})
	checkError(t, err, core.ServerAway, "stopping")
}

func TestUsersAndRoot(t *testing.T) {
	const nobody = 65534
	table, _ := open(t, Options{})
	user := cat(t, nobody)
	e, err := table.Begin(t.Context(), user.peer(), Wish{User: "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	if e.UID != nobody || e.GID != nobody || e.User != "nobody" || !slices.Contains(e.Groups, "60001") {
		t.Errorf("got %+v", e)
	}
	_, err = table.Begin(t.Context(), user.peer(), Wish{User: "root"})
	checkError(t, err, core.NotAllowed, "its own only")
	root := cat(t, 0)
	if e, err = table.Begin(t.Context(), root.peer(), Wish{User: "nobody"}); err != nil || e.UID != nobody || e.User != "nobody" {
		t.Errorf("got %+v, %v", e, err)
	}
	if slices.Contains(e.Groups, "root") {
		t.Errorf("root's groups are not nobody's: %q", e.Groups)
	}
	if e, err = table.Begin(t.Context(), root.peer(), Wish{}); err != nil || e.UID != 0 || e.User != "root" {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestJobsPerUser(t *testing.T) {
	const nobody = 65534
	table, gone := open(t, Options{})
	p := adapter(t, "login", table)
	for _, v := range []any{int64(0), int64(MaxJobs + 1), "2"} {
		err := p.Configure(t.Context(), core.Values{"jobs_per_user": v})
		if pe, ok := errors.AsType[*core.PathError](err); !ok || pe.Path[0] != "jobs_per_user" {
			t.Errorf("%v: got %v", v, err)
		}
	}
	if err := p.Configure(t.Context(), core.Values{"jobs_per_user": int64(2)}); err != nil {
		t.Fatal(err)
	}
	c := cat(t, nobody)
	begin(t, table, c)
	begin(t, table, c)
	_, err := table.Begin(t.Context(), c.peer(), Wish{})
	checkError(t, err, core.JobLimit, "2 jobs run on node login1.site and jobs_per_user allows 2")
	root := cat(t, 0)
	for range 4 {
		begin(t, table, root)
	}
	c.end()
	<-gone
	<-gone
	begin(t, table, cat(t, nobody))
}

func TestNumbersAreNeverToldTwice(t *testing.T) {
	c := cat(t, me())
	d := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		file := filepath.Join(d, strconv.Itoa(n))
		table, _ := open(t, Options{Node: "n1", File: file})
		defer func() { table.Close() }()
		told := map[string]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"begin", "begin together", "crash", "disk full", "disk free"}).Draw(rt, "step") {
			case "begin":
				if e, err := table.Begin(context.Background(), c.peer(), Wish{}); err == nil {
					if told[e.Job] {
						rt.Fatalf("%s twice", e.Job)
					}
					told[e.Job] = true
				} else if !errors.Is(err, core.Unavailable) {
					rt.Fatal(err)
				}
			case "begin together":
				var wg sync.WaitGroup
				ids := make([]string, 4)
				for i := range ids {
					wg.Go(func() {
						if e, err := table.Begin(context.Background(), c.peer(), Wish{}); err == nil {
							ids[i] = e.Job
						}
					})
				}
				wg.Wait()
				for _, id := range ids {
					if id != "" && told[id] {
						rt.Fatalf("%s twice", id)
					}
					told[id] = true
				}
				delete(told, "")
			case "crash":
				table.Close()
				table, _ = open(t, Options{Node: "n1", File: file})
				for id := range told {
					if _, ok := table.Get(id); !ok {
						rt.Fatalf("%s is lost", id)
					}
				}
			case "disk full":
				_ = os.Mkdir(file+".new", 0o700)
				_ = os.WriteFile(filepath.Join(file+".new", "x"), nil, 0o600)
			case "disk free":
				_ = os.RemoveAll(file + ".new")
			}
		}
	})
}

func TestFileThatCannotBeTrusted(t *testing.T) {
	for text, want := range map[string]core.Reason{
		"":                         core.StoreCorrupt,
		"{":                        core.StoreCorrupt,
		"{}":                       core.StoreCorrupt,
		`{"version":1}`:            core.StoreCorrupt,
		`{"version":1,"next":2}{}`: core.StoreCorrupt,
		`{"version":2,"next":2}`:   core.StoreNewer,
		`{"version":1,"next":2,"jobs":[{"job":"../../x.1","pid":7}]}`: core.StoreCorrupt,
		`{"version":1,"next":2,"jobs":[{"job":"n1.1","pid":-7}]}`:     core.StoreCorrupt,
	} {
		file := filepath.Join(t.TempDir(), "local.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(Options{Node: "n1", File: file})
		checkError(t, err, want, file)
	}
	_, err := Open(Options{Node: "../n1"})
	checkError(t, err, core.BadCall, "node")
}

func TestJoin(t *testing.T) {
	n1, gone1 := open(t, Options{Node: "n1"})
	n2, gone2 := open(t, Options{Node: "n2"})
	p := adapter(t, "local", n1, n2)
	first, second := cat(t, me()), cat(t, me())
	e, err := n1.Begin(t.Context(), first.peer(), Wish{}, "n1", "n2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n2.Join(e, second.peer().PID); err != nil {
		t.Fatal(err)
	}
	_, err = n2.Join(e, second.peer().PID)
	checkError(t, err, core.BadCall, "has it already")
	n3, _ := open(t, Options{Node: "n3"})
	_, err = n3.Join(e, second.peer().PID)
	checkError(t, err, core.NotPlaced, "n3")

	told := watch(t, p)
	told.expect(t, "asking")
	told.expect(t, "complete n1.1=running@n1,n2")
	for kept := 0; kept == 0; runtime.Gosched() { // the plugin keeps its answer after it has told it
		p.mu.Lock()
		kept = len(p.told)
		p.mu.Unlock()
	}
	first.end()
	<-gone1
	if err := p.answer(false, func(j core.Jobs) error {
		return fmt.Errorf("told %+v", j)
	}); err != nil {
		t.Errorf("node n2 has the job still: %v", err)
	}
	second.end()
	<-gone2
	told.expect(t, "n1.1=final@n1,n2")
}

// teller gathers what a Watch tells, a line each.
type teller chan string

func watch(t *testing.T, p wired) teller {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	told, done := make(teller), make(chan error, 1)
	go func() {
		done <- p.Watch(ctx, func(j core.Jobs) error {
			line := ""
			if j.Asking {
				line = "asking"
			}
			if j.Complete {
				line = "complete"
			}
			for _, s := range j.Jobs {
				if line != "" {
					line += " "
				}
				line += fmt.Sprintf("%s=%s@%s", s.Job, s.State, s.Hosts)
			}
			select {
			case told <- line:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch: %v", err)
		}
	})
	return told
}

func (told teller) expect(t *testing.T, want string) {
	t.Helper()
	if got := <-told; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}
