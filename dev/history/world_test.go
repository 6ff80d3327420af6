package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/schedulertest"
)

const (
	numNodes = 3
	numNICs  = 2
	numCores = 16 // of a node
	fewJobs  = 4  // as many as have cores of their own on a node
	label    = "tioga"
	poolName = "jobs"
	firstVNI = 100
	steps    = 220 // of a history, before it is healed

	unknownVNIs = 3    // that the unknown services of a node may hold: less than any pool has
	dataServer  = "n1" // is a server of a data service
	firstServed = 200  // of the VNIs of its block
	lastServed  = 203
)

// rests are the quarantines that pools have: the shipped one, and one that is shorter than any hook's patience, so that a VNI is granted again while
// messages about its last holder are still under way.
var rests = [...]time.Duration{60 * time.Second, time.Second}

// world is one history.
type world struct {
	seed uint64
	rng  *rand.Rand
	step int
	now  time.Duration // real time since the world began: every process' running time is a difference of it
	skew time.Duration // by which the wall clock is wrong
	calm bool          // healing: no more faults, no more lies

	restarted bool   // a NIC has
	reloaded  bool   // the agent of dataServer knows that it is one, too
	half      string // the node where the scheduler's half runs; empty: it runs in the server
	question  *question
	shown     map[string]core.Drain // the scheduler's drains, by node
	hidden    uint32                // uid whose jobs complete answers lack; 0: they have all
	trace     *trace

	cfg    engine.Config
	pool   allocator.Pool
	rest   time.Duration // the pool's quarantine
	sched  *schedulertest.Model
	srv    *server
	boxes  []*box
	hooks  []*hook
	calls  uint64
	stepds []*stepd
	stepID int

	drawable  int // VNIs that steps of a job draw from; 0: policy gives them none
	processes uint64
	forks     int            // other servers that were on a copy of the store
	copies    map[string]int // by node, how often a copy of its host has booted
	pending   []pending      // reused
	law       *law

	toServer   []*call
	describing []*call
	replies    []*call
}

// broken is how a rule that does not hold ends a history.
type broken struct{ text string }

func (w *world) fail(format string, args ...any) { panic(broken{fmt.Sprintf(format, args...)}) }

func (w *world) say(format string, args ...any) {
	if w.trace != nil {
		w.trace.add(w, fmt.Sprintf(format, args...))
	}
}

// chance is true n times in a thousand, and never in calm.
func (w *world) chance(n int) bool { return !w.calm && w.rng.IntN(1000) < n }

// odds is chance in calm too.
func (w *world) odds(n int) bool { return w.rng.IntN(1000) < n }

func newWorld(seed uint64, t *trace) *world {
	w := &world{seed: seed, rng: rand.New(rand.NewPCG(seed, 0x5765_6674)), trace: t, now: time.Millisecond, copies: map[string]int{}, shown: map[string]core.Drain{}}
	w.drawable = max(0, w.rng.IntN(5)-2)
	size := 4 + w.rng.IntN(8) + 6*w.drawable
	w.pool = allocator.Pool{Name: poolName, Ranges: []allocator.Range{{First: firstVNI, Last: core.VNI(firstVNI + size - 1)}}}
	w.rest = rests[w.rng.IntN(len(rests))]
	w.cfg = engine.Config{
		System: engine.System{Nodes: numNodes},
		Pools: []engine.Pool{
			{Name: poolName, Quarantine: w.rest, Contains: w.inPool},
			{Name: "daos", Quarantine: w.rest, Contains: served, Serves: func(node string) bool { return node == dataServer }},
		},
		Schedulers: []string{label},
		Policy:     engine.Text{Hash: "p1", Text: "policy"},
		Rules:      engine.Rules{VanishCount: 2, Unknown: unknownVNIs},
	}
	w.reloaded = w.odds(500)
	w.sched = schedulertest.New(label, numCores/fewJobs)
	w.sched.Total = numCores * w.rng.IntN(2) // or the node counts
	w.law = newLaw(w)
	for i := range numNodes {
		b := newBox(w, i)
		w.boxes = append(w.boxes, b)
		w.cfg.Nodes = append(w.cfg.Nodes, b.name)
	}
	if w.odds(150) {
		w.half = w.boxes[w.rng.IntN(numNodes)].name
	}
	w.srv = newServer(w)
	w.srv.start(core.Head{})
	for _, b := range w.boxes {
		b.start()
	}
	if w.odds(850) { // most begin with a system at work
		w.calm = true
		w.settle()
		w.calm = false
	}
	if w.odds(100) { // the asker is an ordinary user, and nothing says so
		w.hidden = firstUID
	}
	return w
}

func (w *world) inPool(v core.VNI) bool {
	r := w.pool.Ranges[0]
	return r.First <= v && v <= r.Last
}

// served reports whether v is of the data service's block.
func served(v core.VNI) bool { return firstServed <= v && v <= lastServed }

// allServed reports whether a service with vnis on dataServer is the data service's own.
func allServed(vnis []core.VNI) bool {
	return !slices.ContainsFunc(vnis, func(v core.VNI) bool { return !served(v) })
}

// wall is what people's clocks show.
func (w *world) wall() time.Time { return time.Unix(1_800_000_000, 0).Add(w.now + w.skew) }

// run lives one history. It returns what broke, or nil.
func (w *world) run() (err *broken) {
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(broken)
			if !ok {
				panic(fmt.Sprintf("seed %d, step %d: %v", w.seed, w.step, r))
			}
			err = &b
		}
	}()
	for w.step = 1; w.step <= steps; w.step++ {
		w.now += time.Duration(1+w.rng.IntN(3000)) * time.Microsecond
		w.once()
	}
	w.heal()
	return nil
}

// once lets one thing happen.
func (w *world) once() {
	switch p := w.rng.IntN(1000); {
	case p < 720:
		for range 1 + w.rng.IntN(4) {
			if !w.deliver() {
				break
			}
		}
	case p < 845:
		w.life()
	case p < 905:
		w.pass(w.jump())
	case p < 925:
		w.hurt()
	case p < 982:
		w.mend()
	case p < 992:
		w.plant()
	default:
		w.operate()
	}
}

// jump is how long nothing happens: mostly moments, sometimes longer than any patience.
func (w *world) jump() time.Duration {
	switch w.rng.IntN(16) {
	case 0, 1, 2, 3, 4, 5, 6, 7:
		return time.Duration(w.rng.IntN(1000)) * time.Millisecond
	case 8, 9, 10, 11:
		return time.Duration(w.rng.IntN(12_000)) * time.Millisecond
	case 12, 13, 14:
		return time.Duration(w.rng.IntN(90)) * time.Second
	}
	return time.Duration(w.rng.IntN(700)) * time.Second
}

// pass lets time pass; the wall clock may jump, both ways. What is due is noticed, but each process in its own time.
func (w *world) pass(d time.Duration) {
	w.srv.flush() // no batch waits as long as that
	w.mirror()
	w.now += d
	if w.chance(150) {
		w.skew += time.Duration(w.rng.IntN(7200)-3600) * time.Second
	}
	if w.trace != nil {
		w.say("%v pass; wall clock wrong by %v", d, w.skew)
	}
	for _, b := range w.boxes {
		b.expireAsks()
		if b.agent.up && (w.calm || w.odds(850)) {
			b.input(tick)
			w.missKeepers(b)
		}
	}
	if w.srv.up && (w.calm || w.odds(850)) {
		w.srv.input(engine.Tick{})
		w.srv.flush()
	}
}
