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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// TestKills kills server, agents and driver plugins at random while jobs start and end, and sees at every moment that no VNI is in two runs, and at the end
// that everything is accounted for. WEFT_KILLS says how many kills, WEFT_SEED which ones; the moments are the machine's.
func TestKills(t *testing.T) {
	t.Parallel()
	kills := 30
	if text := os.Getenv("WEFT_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatalf("WEFT_KILLS: %v", err)
		}
	}
	seed := rand.Uint64()
	if text := os.Getenv("WEFT_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("WEFT_SEED: %v", err)
		}
	}
	t.Logf("WEFT_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	// Few VNIs and a short quarantine, so that each comes around many times.
	d := newDaemons(t, "2000-2015", "", "n1", "n2", "n3")
	d.up()
	w := &witness{d: d, live: map[string]*task{}, given: map[string]int{}, node: map[*task]string{}}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer w.finishAll()
	defer stop()
	all.Go(func() { w.look(ctx) })
	for i, node := range d.nodes {
		all.Go(func() { w.work(ctx, node, rand.New(rand.NewPCG(seed, uint64(i)+1))) })
	}
	killed := map[string]int{}
	targets := append([]string{theServer}, d.nodes...)
	for done := 0; done < kills; {
		if err := w.failure(); err != nil {
			t.Fatal(err)
		}
		pause(random, 600*time.Millisecond)
		target := targets[random.IntN(len(targets))]
		if target != theServer && random.IntN(2) == 0 {
			if pid, _ := d.plugin(target); pid > 0 {
				done++
				killed["driver"]++
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			w.mend()
			continue
		}
		d.kill(target)
		done++
		killed[strings.TrimRight(target, "123")]++
		pause(random, 50*time.Millisecond)
		d.start(target)
	}
	d.attached()
	// What went on while daemons died must go on now that none does: each node starts one more job.
	before := w.begun()
	d.until("each node starts a job again", func() (bool, string) {
		w.mend()
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
	if err := w.failure(); err != nil {
		t.Fatal(err)
	}
	d.clean()
	for _, n := range d.nodes {
		if left, _ := filepath.Glob(filepath.Join(d.run(n).Environs(), "*", "*")); len(left) > 0 {
			t.Errorf("environments are left on %s: %v", n, left)
		}
	}
	given := w.givenOut()
	again := 0
	for _, n := range given {
		if n > 1 {
			again++
		}
	}
	t.Logf("killed %v; jobs %v, refused %d; %d VNIs were given, %d of them more than once; the NICs were looked at %d times", killed, w.begun(), w.refused, len(given), again, w.looks)
}

// pause lets the daemons work for a random while: when a kill comes is what is tried out here.
func pause(random *rand.Rand, most time.Duration) {
	<-time.After(time.Duration(random.Int64N(int64(most))))
}

// witness starts and ends jobs, and knows which VNIs live processes have.
type witness struct {
	d *daemons

	mu      sync.Mutex
	live    map[string]*task // by VNI
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

// mend does what an administrator would: it starts a driver anew that died too often in ten minutes, and takes a node back whose driver died while it made
// services, for which Weft drains it.
func (w *witness) mend() {
	rows, _ := hook.List[server.NodeRow](w.d.t.Context(), w.d.socket(), "nodes", nil)
	for _, r := range rows {
		if _, state := w.d.plugin(r.Node); state == "failed" {
			_ = w.d.ask(r.Node, "restart-plugin", daemon.PluginArgs{Kind: "driver", Name: "sim"}, nil)
		}
		if r.Drained != "" {
			_ = hook.Call(w.d.t.Context(), w.d.socket(), "resume", server.NodeArgs{Nodes: r.Node}, nil)
		}
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
		where := map[string]map[string]bool{} // node of each VNI
		for _, node := range w.d.nodes {
			all, err := nicServices(ctx, w.d.path(node+".nic"))
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				w.fail("node %s: %w", node, err)
				return
			}
			seen := map[string]bool{}
			for _, s := range all {
				for _, v := range s.VNIs {
					at := fmt.Sprint(s.Device, " ", v)
					if seen[at] {
						w.fail("VNI %d has two services on %s of %s: %+v", v, s.Device, node, all)
					}
					seen[at] = true
					if where[fmt.Sprint(v)] == nil {
						where[fmt.Sprint(v)] = map[string]bool{}
					}
					where[fmt.Sprint(v)][node] = true
				}
			}
		}
		// In the least quarantine, 1 s, a VNI cannot go from a node to another: what is on both in one look is on both at once.
		if time.Since(began) < 500*time.Millisecond {
			for v, nodes := range where {
				if len(nodes) > 1 {
					w.fail("VNI %s is on nodes %v at once, and every job has one node", v, slices.Sorted(maps.Keys(nodes)))
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
	live := maps.Clone(w.live)
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
	w.mu.Lock()
	defer w.mu.Unlock()
	for v, k := range live {
		if r := holder[v]; w.live[v] == k && (r.State != "active" || r.Job != k.job && r.Job != "local/"+k.job) && w.wrong == nil {
			w.wrong = fmt.Errorf("job %s runs with VNI %s, of which the server says %+v", k.job, v, r)
		}
	}
}
