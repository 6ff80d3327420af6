package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority is a server in a test's hands.
type authority struct {
	mu      sync.Mutex
	err     error
	next    core.VNI
	vnis    map[core.Key]core.VNI
	reports []core.Report
	down    bool
	mute    bool        // it takes the first report and answers nothing
	refusal *core.Error // while it is down; nil: it is away
	tried   []time.Time // sessions while it was down
	orders  chan core.Orders
	cut     chan error    // ends a session
	slow    time.Duration // that a reservation takes
	limits  core.Limits   // of each grant; zero: a few
	share   core.Share
	warns   []string // of each grant
}

func (a *authority) Reserve(ctx context.Context, _ string, ask core.Intent, _ core.Peer) (core.Grant, error) {
	a.mu.Lock()
	slow := a.slow
	a.mu.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return core.Grant{}, ctx.Err()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return core.Grant{}, a.err
	}
	if a.vnis == nil {
		a.vnis, a.next = map[core.Key]core.VNI{}, 1024
	}
	if a.vnis[ask.Key] == 0 {
		a.vnis[ask.Key] = a.next
		a.next++
	}
	return core.Grant{
		Run: core.Run{Key: ask.Key, Fingerprint: core.Fingerprint{UID: ask.UID, Submitted: 1}}, GID: ask.UID, VNIs: []core.VNI{a.vnis[ask.Key]}, Classes: core.BestEffort,
		Share: a.share, Warnings: a.warns, Request: &core.Request{},
		Limits: cmp.Or(a.limits, core.Limits{core.TXQ: {Max: 64, Reserved: 4}, core.PTE: {Max: 64, Reserved: 4}}),
	}, nil
}

func (a *authority) Attend(ctx context.Context, _ string, first core.Report, next <-chan core.Report, told func(core.Orders)) error {
	a.mu.Lock()
	if a.down {
		a.tried = append(a.tried, time.Now())
		err := a.refusal
		a.mu.Unlock()
		if err != nil {
			return err
		}
		return core.Errorf(core.ServerAway, "server: down")
	}
	a.reports = append(a.reports, first)
	mute := a.mute
	a.mu.Unlock()
	if mute {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	told(core.Orders{Head: core.Head{Store: "x", Epoch: 1, Revision: 1}})
	for {
		select {
		case r := <-next:
			a.mu.Lock()
			a.reports = append(a.reports, r)
			a.mu.Unlock()
		case o := <-a.orders:
			told(o)
		case err := <-a.cut:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (a *authority) said() []core.Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]core.Report(nil), a.reports...)
}

// driver lets a test hang the creations of one owner.
type driver struct {
	core.NICDriver
	hung uint32
	free chan struct{}
}

func (d *driver) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	if d.free != nil && specs[0].Owner.ID == d.hung {
		select {
		case <-d.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return d.NICDriver.Create(ctx, specs)
}

// broken is a store that fails while it says so.
type broken struct {
	node.Store
	mu  sync.Mutex
	err error
}

func (b *broken) Commit(ctx context.Context, r []node.Record) error {
	if err := b.get(); err != nil {
		return err
	}
	return b.Store.Commit(ctx, r)
}

func (b *broken) Load(ctx context.Context, tell func(node.Record) error) error {
	if err := b.get(); err != nil {
		return err
	}
	return b.Store.Load(ctx, tell)
}

func (b *broken) get() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

func (b *broken) set(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

type rig struct {
	*agent.Agent
	server *authority
	driver *driver
	store  *broken
	dir    string
	rundir rundir.Dir
	log    *slog.Logger
	stop   func()
}

func start(t *testing.T) *rig {
	t.Helper()
	r := &rig{
		server: &authority{orders: make(chan core.Orders)}, driver: &driver{NICDriver: sim.New(sim.Options{NICs: 2, Boot: "b"})},
		store: &broken{Store: &storetest.Ledger{}}, dir: t.TempDir(),
	}
	r.begin(t)
	return r
}

// begin starts the rig's agent, or starts it again on what it left.
func (r *rig) begin(t *testing.T) {
	t.Helper()
	r.Agent, r.stop = run(t, agent.Needs{
		Driver: r.driver, Authority: r.server, Store: r.store, Environ: r.dir, Rundir: r.rundir, Log: r.log,
		Machine: node.Config{SelfService: []string{"local"}},
	})
}

// run runs an agent of n1 until the test ends or stop is called. Needs that name none get two NICs, an empty ledger and
// a log that nobody reads.
func run(t *testing.T, needs agent.Needs) (a *agent.Agent, stop func()) {
	t.Helper()
	needs.Node, needs.Boot = "n1", "b"
	if needs.Driver == nil {
		needs.Driver = sim.New(sim.Options{NICs: 2, Boot: "b"})
	}
	if needs.Store == nil {
		needs.Store = &storetest.Ledger{}
	}
	if needs.Log == nil {
		needs.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	a, err := agent.New(t.Context(), needs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.Run(ctx)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	synctest.Wait()
	return a, stop
}

func ask(action core.Action, scheduler, job string, uid uint32) core.Intent {
	return core.Intent{Action: action, Key: core.Key{JobID: core.JobID{Scheduler: scheduler, Job: job}}, UID: uid, Began: time.Now().UnixNano()}
}

var root = core.Peer{}

func (r *rig) own(t *testing.T) int {
	t.Helper()
	services, err := r.driver.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range services {
		if !s.System && !s.Default {
			n++
		}
	}
	return n
}

func TestAJobComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		out := r.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root)
		if out.Err != nil {
			t.Fatal(out.Err)
		}
		if r.own(t) != 2 {
			t.Errorf("%d services stand, want one a NIC", r.own(t))
		}
		path := rundir.EnvironPath(r.dir, core.JobID{Scheduler: "s", Job: "1"})
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o400 {
			t.Errorf("the environment has mode %v: others could read a token", info.Mode())
		}
		var e rundir.Environ
		text, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(text, &e) != nil || len(e.Variables) != len(out.Environment) {
			t.Errorf("the file has %s, %v", text, err)
		}
		r.stop()
		half := filepath.Join(filepath.Dir(path), ".2.weft-7") // of a kill while it was written
		if err := os.WriteFile(half, []byte("token"), 0o600); err != nil {
			t.Fatal(err)
		}
		r.begin(t) // a restart finds it again
		if _, err := os.Stat(half); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("half an environment is left: %v", err)
		}
		if out := r.Do(t.Context(), ask(core.Environment, "s", "1", 7), core.Peer{UID: 7}); out.Err != nil || len(out.Environment) == 0 {
			t.Errorf("the owner's environment after a restart: %v, %v", out.Environment, out.Err)
		}
		if out := r.Do(t.Context(), ask(core.CleanUp, "s", "1", 7), root); out.Err != nil || out.Pending {
			t.Errorf("clean-up: %+v", out)
		}
		if r.own(t) != 0 {
			t.Errorf("%d services are left", r.own(t))
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the environment is left: %v", err)
		}
	})
}

func TestWhoMayDoWhat(t *testing.T) {
	owner, other := core.Peer{UID: 7}, core.Peer{UID: 8}
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		for _, job := range []string{"s", "local"} {
			if out := r.Do(t.Context(), ask(core.Prepare, job, "1", 7), root); out.Err != nil {
				t.Fatal(out.Err)
			}
		}
		tests := []struct {
			who       string
			peer      core.Peer
			action    core.Action
			scheduler string
			uid       uint32
			may       bool
		}{
			{"the owner", owner, core.Environment, "s", 7, true},
			{"another", other, core.Environment, "s", 7, false},
			{"another who says that he is the owner", other, core.Environment, "local", 7, false},
			{"the owner", owner, core.Prepare, "s", 7, false},
			{"the owner", owner, core.CleanUp, "s", 7, false},
			{"another", other, core.CleanUp, "s", 7, false},
			{"another who says that he is the owner", other, core.Prepare, "local", 7, false},
			{"another who says that it is his", other, core.CleanUp, "local", 8, false},
			{"the owner", owner, core.Prepare, "local", 7, true},
			{"the owner", owner, core.CleanUp, "local", 7, true},
			{"root", root, core.CleanUp, "s", 7, true},
		}
		for _, tt := range tests {
			a := ask(tt.action, tt.scheduler, "1", tt.uid)
			out := r.Do(t.Context(), a, tt.peer)
			if may := out.Err == nil; may != tt.may {
				t.Errorf("%s, %s of a job of %q: %v, want allowed: %v", tt.who, tt.action, tt.scheduler, out.Err, tt.may)
			}
			if !tt.may && len(out.Environment) > 0 {
				t.Errorf("%s was refused and told %v", tt.who, out.Environment)
			}
		}
	})
}

// An id without its scheduler is the caller's own job's, whoever else has one of that id.
func TestEnvironmentByTheIDAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		for scheduler, uid := range map[string]uint32{"s": 7, "local": 8} {
			if out := r.Do(t.Context(), ask(core.Prepare, scheduler, "1", uid), root); out.Err != nil {
				t.Fatal(out.Err)
			}
		}
		verbs := &agent.Verbs{Agent: r.Agent}
		for uid, want := range map[uint32]core.Reason{0: core.BadCall, 7: "", 8: "", 9: core.NoRecord} {
			rows, err := verbs.Handle(t.Context(), core.Peer{UID: uid}, hook.Request{Verb: "env", Body: []byte(`{"job":"1"}`)})
			if core.ReasonOf(err) != want || (want == "") != (rows != nil) {
				t.Errorf("uid %d: %v, %v; want reason %q", uid, rows, err, want)
			}
		}
	})
}

// TestEnvironmentByAShortID: qstat takes 12[3] for 12[3].pbs1, and so does `weft env`. The whole id of another job
// comes first.
func TestEnvironmentByAShortID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		for _, job := range []string{"12[3].pbs1", "17.pbs1", "17"} {
			if out := r.Do(t.Context(), ask(core.Prepare, "s", job, 7), root); out.Err != nil {
				t.Fatal(out.Err)
			}
		}
		verbs := &agent.Verbs{Agent: r.Agent}
		env := func(args string) string {
			got, err := verbs.Handle(t.Context(), core.Peer{UID: 7}, hook.Request{Verb: "env", Body: []byte(args)})
			return fmt.Sprint(got, err)
		}
		for short, whole := range map[string]string{
			`{"job":"12[3]"}`: `{"job":"12[3].pbs1"}`, `{"job":"12[3]","scheduler":"s"}`: `{"job":"12[3].pbs1"}`, `{"job":"17"}`: `{"job":"17","scheduler":"s"}`,
		} {
			if got, want := env(short), env(whole); got != want || !strings.Contains(got, "SLINGSHOT_VNIS") {
				t.Errorf("%s: %s, want %s", short, got, want)
			}
		}
	})
}

func TestAHungCreationCostsItsOwnJobOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.driver.hung, r.driver.free = 7, make(chan struct{})
		late := make(chan core.Outcome, 1)
		began := time.Now()
		go func() { late <- r.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root) }()
		synctest.Wait()
		if out := r.Do(t.Context(), ask(core.Prepare, "s", "2", 8), root); out.Err != nil {
			t.Errorf("the other job: %v", out.Err)
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("the other job waited %s", d)
		}
		out := <-late
		if out.Err == nil {
			t.Error("a creation that hangs was answered as done")
		}
		if d := time.Since(began); d > agent.DefaultLimits.Hook {
			t.Errorf("its hook waited %s", d)
		}
		close(r.driver.free)
		synctest.Wait()
		if out := r.Do(t.Context(), ask(core.CleanUp, "s", "1", 7), root); out.Err != nil || out.Pending {
			t.Errorf("clean-up of what came late: %+v", out)
		}
		if r.own(t) != 2 {
			t.Errorf("%d services stand, want the other job's two", r.own(t))
		}
	})
}

func TestARefusalLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.server.err = core.Errorf(core.PolicyDenied, "policy: no")
		out := r.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root)
		if out.Err == nil || out.Err.Reason != core.PolicyDenied {
			t.Errorf("got %v", out.Err)
		}
		r.server.err = errors.New("connection reset")
		out = r.Do(t.Context(), ask(core.Prepare, "s", "2", 7), root)
		if out.Err == nil || out.Err.Scope() != core.ScopeSystem {
			t.Errorf("a server that is away gives %v, want scope system", out.Err)
		}
		var held int
		if err := r.Look(t.Context(), func(m *node.Machine) { held = len(m.Entries()) }); err != nil || held != 0 {
			t.Errorf("%d entries are held after refusals, %v", held, err)
		}
		for _, rep := range r.server.said() {
			if rep.Fault != "" {
				t.Errorf("a refusal became a fault of the node: %s", rep.Fault)
			}
		}
	})
}

func TestAStoreThatFailsFailsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.store.set(core.Errorf(core.StoreCorrupt, "ledger: it was cut").WithRemedy("move it away"))
		out := r.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root)
		if out.Err == nil || out.Err.Reason != core.StoreFailed || r.own(t) != 0 {
			t.Errorf("got %v with %d services", out.Err, r.own(t))
		}
		if out.Err.Remedy != "move it away" {
			t.Errorf("the remedy is %q, and not the ledger's", out.Err.Remedy)
		}
		err := r.Look(t.Context(), func(*node.Machine) {})
		if e := core.AsError(err); e == nil || strings.Contains(e.Remedy, "server") {
			t.Errorf("the node's store is no matter of the server: %v", err)
		}
		r.store.set(nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if out := r.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root); out.Err != nil {
			t.Errorf("after the store is back: %v", out.Err)
		}
	})
}

// TestALookThatNobodyWaitsFor: who asked has given up by the time the batch fails, and the writer goes on.
func TestALookThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		if out := r.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root); out.Err != nil {
			t.Fatal(out.Err)
		}
		gate := make(chan struct{})
		go func() { _ = r.Look(t.Context(), func(*node.Machine) { <-gate }) }()
		synctest.Wait()
		// These two come in one batch, since the writer waits at the gate.
		ctx, giveUp := context.WithCancel(t.Context())
		go func() { _ = r.Look(ctx, func(*node.Machine) { giveUp(); synctest.Wait() }) }()
		outs := make(chan core.Outcome)
		go func() { outs <- r.Do(t.Context(), ask(core.CleanUp, "s", "1", 7), root) }() // is written down in its first step
		synctest.Wait()
		r.store.set(errors.New("no space left on device"))
		close(gate)
		if out := <-outs; out.Err == nil || out.Err.Reason != core.StoreFailed {
			t.Errorf("got %v", out.Err)
		}
		r.store.set(nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if out := r.Do(t.Context(), ask(core.CleanUp, "s", "1", 7), root); out.Err != nil || r.own(t) != 0 {
			t.Errorf("after the store is back: %v", out.Err)
		}
	})
}

func TestEverySessionBeginsWithAFullReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		if out := r.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root); out.Err != nil {
			t.Fatal(out.Err)
		}
		synctest.Wait()
		first := r.server.said()
		if len(first) == 0 || !first[0].Full || first[0].Number != 1 || len(first[0].Devices) != 2 {
			t.Fatalf("the first report is %+v", first)
		}
		r.stop()
		r.begin(t)
		again := r.server.said()[len(first):]
		if len(again) == 0 || !again[0].Full || again[0].Number != 1 || len(again[0].Held) != 1 || again[0].Held[0].State != core.HeldReady {
			t.Errorf("after a restart the first report is %+v", again)
		}
		if again[0].Seen.Store != "x" {
			t.Errorf("the restart forgot the head that it saw: %+v", again[0].Seen)
		}
		run := again[0].Held[0].Run
		r.server.orders <- core.Orders{Head: core.Head{Store: "x", Epoch: 1, Revision: 2}, Clean: []core.Clean{{Run: run, VNIs: []core.VNI{1024}}}}
		synctest.Wait()
		last := r.server.said()
		if got := last[len(last)-1]; len(got.Held) != 1 || got.Held[0].State != core.HeldClean || r.own(t) != 0 {
			t.Errorf("after the order to clean the node says %+v with %d services", got, r.own(t))
		}
	})
}

func TestAnotherRunsEnvironmentStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		path := rundir.EnvironPath(r.dir, core.JobID{Scheduler: "s", Job: "1"})
		if out := r.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root); out.Err != nil {
			t.Fatal(out.Err)
		}
		later, err := json.Marshal(rundir.Environ{Generation: 1, UID: 7, Submitted: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, later, 0o400); err != nil {
			t.Fatal(err)
		}
		if out := r.Do(t.Context(), ask(core.CleanUp, "s", "1", 7), root); out.Err != nil {
			t.Fatal(out.Err)
		}
		if _, err := os.Stat(filepath.Clean(path)); err != nil {
			t.Errorf("the environment of a later run went with the earlier one: %v", err)
		}
	})
}
