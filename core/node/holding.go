package node

import (
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// activity is what the node does for a run outside the machine; there is at most one at a time.
type activity uint8

const (
	idle activity = iota
	reserving
	looking
	creating
	destroying
)

// holding is an Entry with what need not outlive the process. The slices of the Entry are never changed in place: records share them.
type holding struct {
	Entry
	waiters  []waiter   // prepares
	cleaners []*cleaner // clean-ups that wait for it

	origin    string // the id of the hook's call that it works for
	activity  activity
	flight    Attempt
	looked    time.Duration      // looking, creating: since when
	stalled   bool               // creating: for so long that the node says so
	patience  time.Duration      // reserving: until when
	hook      Hook               // reserving: on whose behalf
	link      uint64             // reserving: in which session it was asked
	sent      []core.ServiceSpec // creating
	sentGone  []core.Service     // destroying
	cancelled bool               // Asking: what is granted is to be cleaned

	devices []core.Device // Making: as last read
	refits  map[lack]int
	claims  []core.Service // that the driver said it made, and no reading has shown
	died    bool           // Making: the driver did, during a Create

	err      *core.Error // why the prepare failed
	waits    string      // Cleaning: what it waits for
	busy     bool        // Cleaning: a NIC says busy
	claimed  bool        // Cleaning: the driver said that all is gone
	since    time.Duration
	backoff  time.Duration
	retry    time.Duration // when to look again
	drainAt  time.Duration // when a NIC has kept the run for too long
	drained  bool
	dirty    bool      // the server is to be told
	readyAt  Attempt   // Ready: surveys after it should show the services
	unfit    string    // Ready: why its tasks cannot begin
	lost     string    // Ready: why one did not; empty: all did
	unlisted int64     // Making, Ready: when the list began that did not have it; 0: the last had it
	life     core.Life // not told yet
	later    *Hook     // Asking: who waits longer than the present Reserve

	steps map[string]*step // that asked for a VNI of their own, by the scheduler's id
}

// lack is a resource of which a NIC had too little.
type lack struct {
	device   string
	resource core.Resource // NumResources: the NIC named none
}

// waiter is a prepare that waits.
type waiter struct {
	call  uint64
	key   core.Key
	until time.Duration
	step  *Hook // of a step; nil: of none
}

// networked reports whether the run has services at all. One without is between the node and its hooks: the server holds nothing for it.
func (r *holding) networked() bool { return len(r.Grant.VNIs) > 0 }

func (m *Machine) add(r *holding) {
	m.runs = append(m.runs, r)
	m.jobs[r.Key.JobID] = append(m.jobs[r.Key.JobID], r)
}

// name gives a run its key, once it is known.
func (m *Machine) name(r *holding, key core.Key) {
	if key.JobID != r.Key.JobID {
		m.unlist(r)
		m.jobs[key.JobID] = append(m.jobs[key.JobID], r)
	}
	r.Key = key
}

// unlist takes a run from those of its job.
func (m *Machine) unlist(r *holding) {
	id := r.Key.JobID
	m.jobs[id] = slices.DeleteFunc(m.jobs[id], func(o *holding) bool { return o == r })
	if len(m.jobs[id]) == 0 {
		delete(m.jobs, id)
	}
}

// drop forgets a run.
func (m *Machine) drop(r *holding) {
	if r.flight != 0 {
		delete(m.flights, r.flight)
		r.flight, r.activity = 0, idle
	}
	if i, found := slices.BinarySearchFunc(m.runs, r.ID, func(r *holding, id uint64) int { return int(r.ID) - int(id) }); found {
		m.runs = slices.Delete(m.runs, i, i+1)
	}
	m.unlist(r)
	r.dirty = false
	m.cleanersDone(r)
}

// find the run by its identity.
func (m *Machine) find(id core.Run) *holding {
	for _, r := range m.jobs[id.JobID] {
		if r.State != Asking && r.Grant.Run == id {
			return r
		}
	}
	return nil
}

// start begins an activity of the run and gives its number.
func (m *Machine) start(r *holding, c activity) Attempt {
	m.attempt++
	r.activity, r.flight, r.retry = c, m.attempt, never
	m.flights[m.attempt] = r
	return m.attempt
}

// end finds the run whose activity ended; nil when none awaits it.
func (m *Machine) end(a Attempt, c activity) *holding {
	r := m.flights[a]
	if r == nil || r.activity != c {
		return nil
	}
	delete(m.flights, a)
	r.activity, r.flight = idle, 0
	return r
}

func (m *Machine) look(r *holding) {
	m.act(Look{Attempt: m.start(r, looking), Run: r.Grant.Run, Origin: r.origin})
	r.looked = m.now
	m.due = min(m.due, m.overdue())
}

// again looks at the NICs once more after a while.
func (m *Machine) again(r *holding) {
	most := backoffMost
	if r.drained {
		most = backoffDrained
	}
	r.backoff = min(max(2*r.backoff, backoffLeast), most)
	r.retry = m.now + r.backoff
	m.due = min(m.due, r.retry)
}

// watch begins to count how long the NICs keep the run.
func (m *Machine) watch(r *holding) {
	r.since, r.drainAt, r.drained, r.backoff = m.now, m.now+m.cfg.BusyDrain, false, 0
	m.due = min(m.due, r.drainAt)
}

// rest is the end of watch.
func (r *holding) rest() {
	r.retry, r.drainAt, r.devices, r.claims, r.busy, r.waits, r.claimed = never, never, nil, nil, false, "", false
}

// wait adds a prepare to those that wait for the run.
func (m *Machine) wait(r *holding, h Hook) {
	if len(r.waiters) >= m.cfg.MaxWaiters {
		m.refuse(h, core.Errorf(core.Overloaded, "prepare of %v: %d hooks wait for it already", h.Ask.Key, len(r.waiters)))
		return
	}
	r.Began = max(r.Began, h.Ask.Began)
	if r.activity == reserving && h.Until > r.patience && (r.later == nil || h.Until > r.later.Until) {
		r.later = &h
	}
	r.waiters = append(r.waiters, waiter{h.Call, h.Ask.Key, h.Until, stepOf(h)})
	m.due = min(m.due, h.Until)
}

// answer ends every prepare that waits: with the environment, or with err.
func (m *Machine) answer(r *holding, err *core.Error) {
	for _, w := range r.waiters {
		m.answerOne(w, r, err)
	}
	r.waiters = nil
}

func (m *Machine) answerOne(w waiter, r *holding, err *core.Error) {
	if err == nil && w.step != nil && r.Grant.Steps > 0 {
		m.prepareStep(r, *w.step)
		return
	}
	o := core.Outcome{Action: core.Prepare, Key: w.key, Err: err}
	if w.key.Generation == core.AnyGeneration {
		o.Key = r.Key
	}
	if err == nil {
		o.Environment = Environment(r.Entry)
		o.Warnings = r.allWarnings()
		m.refusals.drop(w.key.JobID)
	} else {
		m.refused(w.key.JobID, r.UID, err)
	}
	m.reply(w.call, o)
}

func (m *Machine) publish(r *holding) {
	p := Publish{Run: r.Grant.Run, GID: r.Grant.GID, Environment: Environment(r.Entry), Signs: r.signs(), Warnings: r.allWarnings()}
	p.Stepped = r.Grant.Steps > 0
	m.act(p)
}

func (m *Machine) withdraw(r *holding) { m.act(Withdraw{Run: r.Grant.Run}) }
