package server

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// spent is the processor time of this thread: other work on the machine is not in it.
func spent() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// reader is a server whose writer only looks, and remembers the processor time of each look.
type reader struct {
	*Verbs
	mu    sync.Mutex
	looks []time.Duration
}

// policyText is longer than a reply.
var policyText = strings.Repeat("# a comment, größer\n", 100_000)

// read makes a server for readers of a system with so many nodes. Two jobs run on all of them, others on one each. Each
// job has its own user.
// Unknown services hold so many VNIs, jobs' among them. Some nodes say long reasons why they keep the first job.
func read(tb testing.TB, nodes, jobs, held int) *reader {
	tb.Helper()
	pools := []allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: 11, Last: 65535}}}}
	alloc, err := allocator.New(pools)
	if err != nil {
		tb.Fatal(err)
	}
	head := core.Head{Store: "s", Epoch: 1, Incarnation: 1, Revision: 1}
	records := []engine.Record{engine.Meta{Head: head, Serial: uint64(jobs + 3)}}
	cfg := engine.Config{
		Schedulers: []string{"s"}, System: engine.System{Nodes: nodes},
		Pools: []engine.Pool{{Name: "jobs", Quarantine: time.Minute, Contains: pools[0].Contains}},
	}
	for i := range nodes {
		cfg.Nodes = append(cfg.Nodes, fmt.Sprintf("n%05d", i))
		nics := []string{"cxi0", "cxi1", "cxi2", "cxi3"}
		records = append(records, engine.Node{Name: cfg.Nodes[i], Boot: "b", Inventory: nics})
	}
	records = append(records, engine.Text{Hash: "p", Text: policyText})
	reserve := func(serial int, first, vnis int, on []string) {
		join := engine.Join{Serial: uint64(serial), Node: on[0], Boot: "b"}
		r := engine.Reservation{Serial: uint64(serial), Made: time.Unix(1, 0), First: join}
		r.Job.Key = key(serial)
		for _, n := range on {
			r.Job.Placements = append(r.Job.Placements, core.Placement{Hosts: n, Nodes: 1, Cores: 8})
		}
		r.Grant.Limits, r.Grant.Policy = make([]core.Limits, len(on)), "p"
		r.Grant.Quotas = []engine.Quota{{Name: "user", Subject: fmt.Sprint("user ", serial), Most: 8}}
		for v := range vnis {
			r.VNIs = append(r.VNIs, engine.Taken{VNI: core.VNI(first + v), Pool: "jobs", Name: "app"})
		}
		if r.Unknown = vnis > core.MaxVNIs; r.Unknown {
			r.Job.Key = core.Key{JobID: core.JobID{Job: "unknown:" + on[0]}}
		}
		records = append(records, r)
		for _, n := range on {
			records = append(records, engine.Join{Serial: r.Serial, Node: n, Boot: "b"})
		}
		states := []engine.State{engine.Active, engine.Active, engine.Draining, engine.Held}
		if state := states[serial%4]; state != engine.Active {
			records = append(records, engine.Transition{Serial: r.Serial, State: state})
		}
	}
	reserve(1, 11, core.MaxVNIs, cfg.Nodes)
	reserve(2, 11+core.MaxVNIs, core.MaxVNIs, cfg.Nodes)
	reserve(3, 11, held, cfg.Nodes[:1])
	for i := range jobs {
		reserve(4+i, 11+2*core.MaxVNIs+i, 1, cfg.Nodes[i%nodes:i%nodes+1])
	}
	now := core.Moment{Uptime: time.Second, Wall: time.Unix(2, 0)}
	m, _ := engine.New(cfg, alloc, records, engine.Start{Incarnation: 2, Witness: head}, now)
	if m.Recovering() {
		tb.Fatal("the store is new to its machine")
	}
	busy := core.Held{
		Run: core.Run{Key: key(1)}, State: core.HeldBusy, VNIs: []core.VNI{11}, Why: strings.Repeat("\x01", 10_000),
	}
	for i := 1; i < nodes; i += 16 {
		rep := core.Report{Number: 1, Full: true, Boot: "b", Held: []core.Held{busy}}
		m.Step(now, engine.Report{Node: cfg.Nodes[i], Session: 1, Report: rep})
	}
	s := &Server{
		queue: make(chan work, 1), done: make(chan struct{}), began: time.Now(),
		schedulers: map[string]core.SchedulerClient{"s": nil},
	}
	r := &reader{Verbs: &Verbs{Server: s, Sizes: func() map[string]int { return allocator.Sizes(pools) }}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		for w := range s.queue {
			r.mu.Lock()
			began := spent()
			w.look(m)
			r.looks = append(r.looks, spent()-began)
			r.mu.Unlock()
		}
	}()
	tb.Cleanup(func() { close(s.queue); <-ended })
	return r
}

// each are the reading verbs with their arguments.
var each = []struct {
	name, verb string
	args       JobArgs
}{
	{"status", "status", JobArgs{}},
	{"jobs", "jobs", JobArgs{}},
	{"nodes", "nodes", JobArgs{}},
	{"vnis", "vnis", JobArgs{}},
	{"one VNI", "vnis", JobArgs{VNI: 11}},
	{"the largest job", "job", JobArgs{Job: "s/1"}},
	{"explain it", "explain", JobArgs{Job: "s/1"}},
}

func key(serial int) core.Key {
	return core.Key{JobID: core.JobID{Scheduler: "s", Job: fmt.Sprint(serial)}}
}

// least is for each look of a verb the shortest time of two tries: a look may pay for the collection of garbage.
func least(a, b []time.Duration) []time.Duration {
	if a == nil {
		return b
	}
	for i := range min(len(a), len(b)) {
		a[i] = min(a[i], b[i])
	}
	return a
}

// timed is the processor time of each look of f.
func (r *reader) timed(f func()) []time.Duration {
	r.mu.Lock()
	r.looks = nil
	r.mu.Unlock()
	f()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.looks
}

// unreserved looks which of the first so many jobs on one node each, and of one more, have no reservation.
func (r *reader) unreserved(tb testing.TB, jobs int) (looks []time.Duration) {
	tb.Helper()
	var a answered
	for i := range jobs + 1 {
		a.jobs = append(a.jobs, core.JobStatus{Run: core.Run{Key: key(4 + i)}})
	}
	return r.timed(func() {
		err := r.Server.unreserved(tb.Context(), &a)
		if err != nil || len(a.jobs) != 1 || a.jobs[0].Key != key(4+jobs) {
			tb.Errorf("%d jobs have none: %v", len(a.jobs), err)
		}
	})
}

// ask asks for so many pages of a verb, and gives the time of each look. A page that is longer than a reply fails.
func (r *reader) ask(
	tb testing.TB, verb string, args JobArgs, pages int,
) (looks []time.Duration, rows []json.RawMessage) {
	tb.Helper()
	looks = r.timed(func() { rows = r.rows(tb, verb, args, pages) })
	return looks, rows
}

func (r *reader) rows(tb testing.TB, verb string, args JobArgs, pages int) (rows []json.RawMessage) {
	tb.Helper()
	body, _ := json.Marshal(args)
	for req := (hook.Request{Verb: verb, Body: body}); pages > 0; pages-- {
		out, err := r.Handle(tb.Context(), core.Peer{}, req)
		if err != nil {
			tb.Fatal(err)
		}
		p, ok := out.(listener.Page)
		if !ok {
			p.Body = out
		}
		text, err := json.Marshal(p.Body)
		if err != nil || len(text) > listener.DefaultReply {
			tb.Fatalf("%s %+v: a reply of %d bytes, and it may have %d: %v", verb, args, len(text), listener.DefaultReply, err)
		}
		var some []json.RawMessage
		_ = json.Unmarshal(text, &some) // status is no list
		rows = append(rows, some...)
		if req.Cursor = p.Next; p.Next == "" {
			break
		}
	}
	return rows
}

// No verb keeps the writer for long: it looks at large things in parts. The processor time of one look at everything is
// the measure, and of several tries the shortest counts.
func TestNoReaderKeepsTheWriter(t *testing.T) {
	r := read(t, 2784, 10_000, 20_000)
	all := time.Hour
	for range 3 {
		one := r.timed(func() {
			err := r.Server.Look(t.Context(), func(m *engine.Machine) {
				for range m.Reservations(0) {
				}
				for range m.Nodes("") {
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		all = min(all, one[0])
	}
	for _, e := range each {
		t.Run(e.name, func(t *testing.T) {
			var looks []time.Duration
			for range 8 {
				again, rows := r.ask(t, e.verb, e.args, 1)
				looks = least(looks, again)
				if len(rows) > lookRows*len(looks) {
					t.Fatalf("%d rows in %d looks", len(rows), len(looks))
				}
			}
			if most := slices.Max(looks); most > all/4 {
				t.Errorf("one look of %d takes %s, and a look at everything %s", len(looks), most, all)
			}
			if e.verb == "status" && len(looks) < (2784+10_000)/2048 {
				t.Errorf("%d looks", len(looks))
			}
		})
	}
	if looks := r.unreserved(t, 10_000); len(looks) < 10_000/lookRows {
		t.Errorf("%d looks at the jobs of a scheduler's answer", len(looks))
	}
}

// A job of every node and a holding of nearly all VNIs fit into replies, and nothing of them is lost.
func TestLargeAnswersComeInParts(t *testing.T) {
	const nodes, held = 11_136, 64_000
	r := read(t, nodes, 0, held)
	for _, c := range []struct {
		verb string
		args JobArgs
		rows int
	}{
		{"jobs", JobArgs{}, 3}, {"nodes", JobArgs{}, nodes}, {"vnis", JobArgs{}, held + 2*core.MaxVNIs},
		{"vnis", JobArgs{VNI: 11}, 2}, {"job", JobArgs{Job: "unknown:n00000"}, 1},
	} {
		_, rows := r.ask(t, c.verb, c.args, 1000)
		all := len(rows)
		if c.verb == "vnis" { // a row may be of several
			all = 0
			for _, row := range rows {
				var v VNIRow
				if err := json.Unmarshal(row, &v); err != nil {
					t.Fatal(err)
				}
				all += int(max(v.VNI, v.Last)-v.VNI) + 1
			}
			if len(rows) > 100 {
				t.Errorf("%s %+v: %d rows, though most VNIs follow one another", c.verb, c.args, len(rows))
			}
		}
		if all != c.rows {
			t.Errorf("%s %+v: %d rows, want %d", c.verb, c.args, all, c.rows)
		}
	}
	_, rows := r.ask(t, "job", JobArgs{Job: "s/1"}, 1000)
	details := make([]JobDetail, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row, &details[i]); err != nil {
			t.Fatal(err)
		}
	}
	jobs := Joined(details)
	if len(jobs) != 1 {
		t.Fatalf("%d jobs in %d rows", len(jobs), len(rows))
	}
	where, shares := jobs[0].Where, jobs[0].Shares
	if len(where) != nodes || len(shares) != nodes || where[nodes-1].Node != "n11135" {
		t.Errorf("it has %d nodes and %d shares in %d rows", len(where), len(shares), len(rows))
	}
	_, rows = r.ask(t, "explain", JobArgs{Job: "s/1"}, 1000)
	facts := make([]Facts, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row, &facts[i]); err != nil {
			t.Fatal(err)
		}
	}
	facts = JoinedFacts(facts)
	if len(facts) != 1 || facts[0].Text != policyText || len(facts[0].Facts.Placements) != nodes {
		t.Errorf("%d jobs are explained in %d rows", len(facts), len(rows))
	}
}

// BenchmarkLook measures the longest time for which one look of a reading verb keeps the writer.
func BenchmarkLook(b *testing.B) {
	for _, size := range []struct{ nodes, jobs, held int }{{111, 380, 640}, {11136, 37_700, 64_000}} {
		r := read(b, size.nodes, size.jobs, size.held)
		measure := func(name string, looksOf func(tb testing.TB) []time.Duration) {
			b.Run(fmt.Sprintf("joins=%d/%s", 2*size.nodes+size.jobs, name), func(b *testing.B) {
				var looks []time.Duration
				for b.Loop() {
					looks = least(looks, looksOf(b))
				}
				b.ReportMetric(slices.Max(looks).Seconds()*1000, "ms-look")
				b.ReportMetric(1, "budget-ms-look")
				b.ReportMetric(float64(len(looks)), "looks")
			})
		}
		for _, e := range each {
			measure(e.name, func(tb testing.TB) []time.Duration {
				looks, _ := r.ask(tb, e.verb, e.args, 1000)
				return looks
			})
		}
		measure("first start", func(tb testing.TB) []time.Duration { return r.unreserved(tb, size.jobs) })
	}
}
