package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/gatetest"
	"github.com/weft-hpc/weft/dev/liartest"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// TestKills kills server, agents and plugins at random, and cuts the network between them, while jobs start and end under two schedulers, of which one lies.
// It sees at every moment that no VNI is in two runs and that no run loses its services, and at the end that everything is accounted for, with nobody's
// help. WEFT_KILLS says how many kills, WEFT_SEED which ones; the moments are the machine's.
func TestKills(t *testing.T) {
	t.Parallel()
	kills := int(fromEnv(t, "WEFT_KILLS", 30))
	seed := fromEnv(t, "WEFT_SEED", rand.Uint64())
	t.Logf("WEFT_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	// Few VNIs and a short quarantine, so that each comes around many times.
	d := newDaemons(t, "2000-2039", "", "n1", "n2", "n3")
	d.gates = map[string]*gatetest.Gate{}
	for _, n := range d.nodes {
		d.gates[n] = gatetest.New(t, "127.0.0.1:0", fmt.Sprintf("127.0.0.1:%d", d.port))
	}
	w := &witness{d: d, live: map[string]*task{}, given: map[string]int{}, node: map[*task]string{}, wide: map[string]*wide{}}
	w.liar = liartest.New(t, d.path("run", "liar.sock"), seed)
	program, err := filepath.EvalSymlinks(mustLook(t, "weft-liar"))
	d.must(err)
	d.more = w.liar.Block(program)
	d.configure()
	d.up()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer w.finishAll()
	defer stop()
	all.Go(func() { w.look(ctx) })
	for i, node := range d.nodes {
		all.Go(func() { w.work(ctx, node, rand.New(rand.NewPCG(seed, uint64(i)+1))) })
	}
	c := &controller{w: w, random: rand.New(rand.NewPCG(seed, 50))}
	if os.Geteuid() == 0 { // only root may prepare jobs of others
		all.Go(func() { c.work(ctx) })
	} else {
		t.Log("NOT RUN: the jobs of the scheduler that lies, since only root can prepare them")
	}
	killed := map[string]int{}
	for done := 0; done < kills; {
		if err := w.failure(); err != nil {
			t.Fatal(err)
		}
		pause(random, 600*time.Millisecond)
		for _, n := range d.nodes {
			if random.IntN(3) == 0 {
				d.gates[n].Open(random.IntN(2) == 0)
			}
		}
		what := d.strike(random)
		killed[what]++
		if what != "network" {
			if done++; done%50 == 0 {
				t.Logf("%d of %d kills", done, kills)
			}
		}
	}
	cuts := 0
	for _, g := range d.gates {
		cuts += g.Shuts()
		g.Open(false)
	}
	d.attached()
	// What went on while daemons died must go on now that none does: each node starts one more job.
	before := w.begun()
	d.until("each node starts a job again", func() (bool, string) {
		now := w.begun()
		for _, n := range d.nodes {
			if now[n] <= before[n] {
				return false, fmt.Sprint(before, now, w.lastWhy())
			}
		}
		return true, ""
	})
	stop()
	all.Wait()
	w.finishAll()
	w.liar.Quiet()
	c.finish()
	if err := w.failure(); err != nil {
		t.Fatal(err)
	}
	d.clean()
	for _, n := range d.nodes {
		if left, _ := filepath.Glob(filepath.Join(d.run(n).Environs(), "*", "*")); len(left) > 0 {
			t.Errorf("environments are left on %s: %v", n, left)
		}
	}
	if drains := w.liar.Drains(); len(drains) > 0 {
		t.Errorf("nothing was wrong with a node, and these were drained: %v", drains)
	}
	given := w.givenOut()
	again := 0
	for _, n := range given {
		if n > 1 {
			again++
		}
	}
	t.Logf("killed %v, %d partitions; jobs %v, refused %d; of the scheduler that lies %v, its lies %v; %d VNIs were given, %d of them more than once; the NICs were looked at %d times",
		killed, cuts, w.begun(), w.refused, c.count, w.liar.Lies(), len(given), again, w.looks)
}

func fromEnv(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// maxDeaths is how often a plugin is killed under one daemon: one time more within ten minutes, and it starts again slowly.
const maxDeaths = 4

// strike kills a daemon or one of its plugins, or cuts a node's network, and says which.
func (d *daemons) strike(random *rand.Rand) string {
	d.t.Helper()
	node := d.nodes[random.IntN(len(d.nodes))]
	target, kind := node, ""
	switch random.IntN(9) {
	case 0, 1:
		target = theServer
	case 2, 3:
	case 4, 5:
		kind = "driver"
	case 6:
		kind = "scheduler"
		if random.IntN(2) == 0 {
			target = theServer
		}
	default:
		d.gates[node].Shut()
		return "network"
	}
	if kind != "" {
		if r, err := d.pluginRow(target, kind); err == nil && r.PID > 0 && r.Deaths < maxDeaths && syscall.Kill(r.PID, syscall.SIGKILL) == nil {
			return kind
		}
	}
	d.kill(target)
	pause(random, 50*time.Millisecond)
	d.start(target)
	if target != theServer {
		target = "agent"
	}
	return target
}

// pause lets the daemons work for a random while: when a kill comes is what is tried out here.
func pause(random *rand.Rand, most time.Duration) {
	<-time.After(time.Duration(random.Int64N(int64(most))))
}

// witness starts and ends jobs, and knows which VNIs live processes have.
type witness struct {
	d    *daemons
	liar *liartest.Liar

	mu      sync.Mutex
	live    map[string]*task // by VNI
	wide    map[string]*wide // the same of the scheduler that lies
	node    map[*task]string
	jobs    map[string]int // begun, by node
	given   map[string]int // VNIs, how often
	refused int
	looks   int
	why     string
	wrong   error
}

func (w *witness) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wrong == nil {
		w.wrong = fmt.Errorf(format, args...)
	}
}

func (w *witness) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrong
}

func (w *witness) begun() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.jobs)
}

func (w *witness) givenOut() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.given)
}

func (w *witness) lastWhy() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.why
}

// work starts and ends jobs on one node until ctx ends.
func (w *witness) work(ctx context.Context, node string, random *rand.Rand) {
	var mine []*task
	for ctx.Err() == nil && w.failure() == nil {
		pause(random, 100*time.Millisecond)
		if len(mine) > 0 && (len(mine) == 3 || random.IntN(2) == 0) {
			i := random.IntN(len(mine))
			w.end(mine[i], random.IntN(3) == 0)
			mine = slices.Delete(mine, i, i+1)
			continue
		}
		k, err := w.d.begin(node)
		if err != nil {
			if !errors.Is(err, errNoJob) {
				w.fail("node %s: %w", node, err)
			}
			w.mu.Lock()
			w.refused++
			w.why = err.Error()
			w.mu.Unlock()
			continue
		}
		w.begin(k, node)
		mine = append(mine, k)
	}
}

func (w *witness) begin(k *task, node string) {
	w.mu.Lock()
	other := w.live[k.vnis]
	w.live[k.vnis], w.node[k] = k, node
	w.given[k.vnis]++
	if w.jobs == nil {
		w.jobs = map[string]int{}
	}
	w.jobs[node]++
	where := w.node[other]
	w.mu.Unlock()
	w.unused(k.vnis, "job "+k.job+" of "+node)
	if other != nil {
		w.fail("VNI %s was given to job %s of %s while job %s of %s runs with it", k.vnis, k.job, node, other.job, where)
	}
	if _, err := core.ParseVNI(k.vnis); err != nil {
		w.fail("job %s: SLINGSHOT_VNIS=%s", k.job, k.vnis)
	}
	// The NICs must agree with what the job was told.
	all, err := nicServices(w.d.t.Context(), w.d.path(node+".nic"))
	if err != nil {
		w.fail("node %s: %w", node, err)
		return
	}
	if got := len(only(all, k.vnis)); got != 2 {
		w.fail("job %s runs with VNI %s, and %d NICs have a service for it", k.job, k.vnis, got)
	}
}

// end ends a job's process, by itself or by force.
func (w *witness) end(k *task, force bool) {
	w.mu.Lock()
	delete(w.live, k.vnis)
	delete(w.node, k)
	w.mu.Unlock()
	if force {
		_ = k.cmd.Process.Kill()
	}
	k.finish()
}

func (w *witness) finishAll() {
	w.mu.Lock()
	left := slices.Collect(maps.Values(w.live))
	w.mu.Unlock()
	for _, k := range left {
		w.end(k, false)
	}
}

// look compares what all NICs and the server hold, again and again.
func (w *witness) look(ctx context.Context) {
	for ctx.Err() == nil && w.failure() == nil {
		began := time.Now()
		wides := w.wides()
		where := map[core.VNI]map[string][]core.Service{} // by VNI and node
		for _, node := range w.d.nodes {
			all, err := nicServices(ctx, w.d.path(node+".nic"))
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				w.fail("node %s: %w", node, err)
				return
			}
			w.compare(node, all, wides)
			seen := map[string]bool{}
			for _, s := range all {
				for _, v := range s.VNIs {
					at := fmt.Sprint(s.Device, " ", v)
					if seen[at] {
						w.fail("VNI %d has two services on %s of %s: %+v", v, s.Device, node, all)
					}
					seen[at] = true
					if where[v] == nil {
						where[v] = map[string][]core.Service{}
					}
					where[v][node] = append(where[v][node], s)
				}
			}
		}
		// In the least quarantine, 1 s, a VNI cannot go from a job to another: what is on two nodes in one look is on both at once.
		if time.Since(began) < 500*time.Millisecond {
			for v, nodes := range where {
				owners := map[core.Owner]bool{}
				for _, all := range nodes {
					for _, s := range all {
						owners[s.Owner] = true
					}
				}
				if len(owners) > 1 || len(nodes) > 1 && owners[core.UID(uint32(os.Geteuid()))] {
					w.fail("VNI %d is in two runs at once: each user has one job, but for jobs of %d, which have one node: %+v", v, os.Geteuid(), nodes)
				}
			}
		}
		w.ask(ctx)
		w.mu.Lock()
		w.looks++
		w.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ask sees that the server holds each VNI once, and that of every job that runs. A server that is dead is asked the next time.
func (w *witness) ask(ctx context.Context) {
	w.mu.Lock()
	live, wides := maps.Clone(w.live), maps.Clone(w.wide)
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	rows, err := hook.List[server.VNIRow](ctx, w.d.socket(), "vnis", nil)
	if err != nil {
		return
	}
	holder := map[string]server.VNIRow{}
	for _, r := range rows {
		if other, twice := holder[fmt.Sprint(r.VNI)]; twice {
			w.fail("the server holds VNI %d twice: %+v and %+v", r.VNI, r, other)
		}
		holder[fmt.Sprint(r.VNI)] = r
	}
	for v, p := range wides {
		r := holder[v]
		if (r.State != "active" || r.Job != p.run.JobID.String()) && w.still(v, p) {
			w.fail("run %v has VNI %s, of which the server says %+v", p.run, v, r)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for v, k := range live {
		if r := holder[v]; w.live[v] == k && (r.State != "active" || r.Job != k.job && r.Job != "local/"+k.job) && w.wrong == nil {
			w.wrong = fmt.Errorf("job %s runs with VNI %s, of which the server says %+v", k.job, v, r)
		}
	}
}
