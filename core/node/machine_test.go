package node

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"pgregory.net/rapid"
)

// world is the model: NICs as a list, a server as a map, and what is on its way between them and the machine.
type world struct {
	t     *rapid.T
	cfg   Config
	m     *Machine
	books books
	nics  *nics
	now   time.Duration
	boot  int64 // CLOCK_BOOTTIME

	open    map[uint64]Hook // calls without reply
	call    uint64
	effects []*effect
	makers  map[string]core.Run // "cxi0/7" → whose it truly is
	foreign map[string]bool

	granted map[core.Run]core.Grant
	recur   map[core.Key]int64 // submit time that the scheduler tells now
	nextVNI core.VNI
	clean   map[core.Run]bool    // confirmed
	over    map[core.Run]bool    // durably being cleaned, or clean
	stamps  map[core.JobID]int64 // newest clean-up by root that this process has answered
	number  uint64
	up      bool
	spare   []core.Device
}

// effect is an action under way. done counts how much of it the driver has done; a result is delivered only when all is.
type effect struct {
	action  Action
	done    int
	results []core.Created
	errs    []*core.Error
	result  Input
}

func newWorld(t *rapid.T) *world {
	w := &world{
		t: t, nics: newNICs(rapid.IntRange(1, 3).Draw(t, "nics")), boot: 1,
		cfg:  Config{Node: "n1", Boot: "boot-1", SelfService: []string{"local"}, Refits: 2, MaxWaiters: 3},
		open: map[uint64]Hook{}, makers: map[string]core.Run{}, foreign: map[string]bool{},
		granted: map[core.Run]core.Grant{}, recur: map[core.Key]int64{}, nextVNI: 100, clean: map[core.Run]bool{},
		over: map[core.Run]bool{}, stamps: map[core.JobID]int64{},
	}
	w.restart()
	return w
}

// restart is a new process on what is committed. Who called the old one is gone.
func (w *world) restart() {
	for _, e := range w.effects { // a driver's call that was begun ends, or does not
		for range rapid.IntRange(0, 2).Draw(w.t, "rest of the call") {
			w.advance(e)
		}
	}
	w.effects, w.up, w.number = nil, false, 0
	clear(w.open)
	clear(w.stamps) // the machine forgets them too: then the server refuses what comes late
	m, records, actions := New(w.cfg, w.books.all(), core.Moment{Uptime: w.now})
	w.m = m
	w.books.commit(records)
	w.take(actions)
}

// step may crash before the commit, or between it and the actions.
func (w *world) step(in Input) { w.stepCrash(in, rapid.IntRange(0, 60).Draw(w.t, "crash")-58) }

// rare is true about once in twelve times; rapid prefers small numbers.
func (w *world) rare(what string) bool { return rapid.IntRange(0, 11).Draw(w.t, what) == 11 }

func (w *world) stepCrash(in Input, crash int) {
	records, actions := w.m.Step(core.Moment{Uptime: w.now}, in)
	if crash == 1 {
		w.restart()
		return
	}
	w.books.commit(records)
	if crash == 2 {
		w.restart()
		return
	}
	w.take(actions)
}

func (w *world) take(actions []Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case Reply:
			w.replied(a)
		case Tell:
			w.told(a.Report)
		case Reserve, Look:
			w.effects = append(w.effects, &effect{action: a})
		case Create:
			w.checkCreate(a)
			w.effects = append(w.effects, &effect{action: a})
		case Destroy:
			w.checkDestroy(a)
			w.effects = append(w.effects, &effect{action: a})
		case Publish:
			if e := w.durable(a.Run); e == nil || e.State != Ready {
				w.t.Fatalf("published %v, which is not durably ready: %+v", a.Run, e)
			}
		}
	}
}

// durable is the committed entry of a run.
func (w *world) durable(run core.Run) *Entry {
	for _, r := range w.books.all() {
		if e, ok := r.(Entry); ok && e.Grant.Run == run {
			return &e
		}
	}
	return nil
}

func (w *world) replied(r Reply) {
	h, ok := w.open[r.Call]
	if !ok {
		w.t.Fatalf("call %d was answered twice, or never made", r.Call)
	}
	delete(w.open, r.Call)
	if h.Ask.Action == core.CleanUp && h.Peer.Root() && r.Outcome.Err == nil {
		w.stamps[h.Ask.Key.JobID] = max(w.stamps[h.Ask.Key.JobID], h.Ask.Began)
	}
	if h.Until < w.now && h.Ask.Action != core.Environment {
		w.t.Fatalf("call %d was answered at %v, after %v", r.Call, w.now, h.Until)
	}
	if r.Outcome.Err != nil || len(r.Outcome.Environment) == 0 {
		return
	}
	i := slices.IndexFunc(w.m.Entries(), func(e Entry) bool {
		return e.State == Ready && e.Key.JobID == h.Ask.Key.JobID && slices.Equal(Environment(e), r.Outcome.Environment)
	})
	if i < 0 {
		w.t.Fatalf("call %d about %v was given what is not the environment of a run of it that is ready: %v", r.Call, h.Ask.Key, r.Outcome.Environment)
	}
	e := w.m.Entries()[i]
	if h.Peer.UID != 0 && h.Peer.UID != e.Grant.UID {
		w.t.Fatalf("uid %d was given the environment of uid %d", h.Peer.UID, e.Grant.UID)
	}
	if h.Ask.Action == core.Prepare && h.Ask.UID != e.Grant.UID {
		w.t.Fatalf("a prepare for uid %d was given the job of uid %d", h.Ask.UID, e.Grant.UID)
	}
	if d := w.durable(e.Grant.Run); d == nil || d.State != Ready {
		w.t.Fatalf("call %d was answered before its run was durable", r.Call)
	}
}

func (w *world) told(r core.Report) {
	if !w.up {
		w.t.Fatalf("a report without a session")
	}
	if r.Number != w.number+1 || r.Full != (r.Number == 1) {
		w.t.Fatalf("report %d after %d, full: %v", r.Number, w.number, r.Full)
	}
	w.number++
	for _, h := range r.Held {
		if h.State == core.HeldClean {
			w.confirmed(h)
		}
	}
	for _, u := range r.Unknown {
		if u.System || u.Default {
			w.t.Fatalf("a system service was told as unknown: %+v", u)
		}
	}
}

// confirmed: nothing of the run is on any NIC, shown or not, and nothing on its way can put it there.
func (w *world) confirmed(h core.Held) {
	for _, s := range w.nics.services {
		if w.makers[at(s)] == h.Run {
			w.t.Fatalf("%v was confirmed clean, and %s holds its service %d", h.Run, s.Device, s.ID)
		}
	}
	for _, e := range w.effects {
		if c, ok := e.action.(Create); ok && c.Run == h.Run && e.done < len(c.Specs) {
			w.t.Fatalf("%v was confirmed clean while a Create of it is under way", h.Run)
		}
	}
	w.clean[h.Run] = true
}

func at(s core.Service) string { return fmt.Sprintf("%s/%d", s.Device, s.ID) }

func (w *world) checkCreate(c Create) {
	e := w.durable(c.Run)
	if e == nil || e.State != Making {
		w.t.Fatalf("Create of %v without a durable entry: %+v", c.Run, e)
	}
	g := w.granted[c.Run]
	for _, s := range c.Specs {
		if !slices.ContainsFunc(e.Specs, func(t core.ServiceSpec) bool {
			return t.Device == s.Device && t.Limits == s.Limits && t.Owner == s.Owner && slices.Equal(t.VNIs, s.VNIs)
		}) {
			w.t.Fatalf("Create of %v with a spec that is not durable: %+v", c.Run, s)
		}
		if s.Owner != core.UID(g.UID) || !slices.Equal(s.VNIs, g.VNIs) {
			w.t.Fatalf("Create of %v with what it was not granted: %+v", c.Run, s)
		}
	}
	if w.clean[c.Run] {
		w.t.Fatalf("Create of %v, which was confirmed clean", c.Run)
	}
	w.oneCall(c.Run)
}

func (w *world) oneCall(run core.Run) {
	for _, e := range w.effects {
		if c, ok := e.action.(Create); ok && c.Run == run {
			w.t.Fatalf("%v has two driver calls under way", run)
		}
		if c, ok := e.action.(Destroy); ok && c.Run == run {
			w.t.Fatalf("%v has two driver calls under way", run)
		}
	}
}

func (w *world) checkDestroy(d Destroy) {
	e := w.durable(d.Run)
	if e == nil || e.State != Cleaning {
		w.t.Fatalf("Destroy for %v without a durable entry: %+v", d.Run, e)
	}
	for _, s := range d.Services {
		if s.Owner != core.UID(e.Grant.UID) || !slices.Equal(s.VNIs, e.Grant.VNIs) || !slices.ContainsFunc(e.Services, s.Same) {
			w.t.Fatalf("Destroy for %v of a service that is not recorded as its own: %+v", d.Run, s)
		}
		if s.System || s.Default || w.foreign[at(s)] && slices.ContainsFunc(w.nics.services, s.Same) {
			w.t.Fatalf("Destroy for %v of another's service: %+v", d.Run, s)
		}
	}
	w.oneCall(d.Run)
}

// advance does the next part of an effect.
func (w *world) advance(e *effect) {
	if e.result != nil {
		return
	}
	switch a := e.action.(type) {
	case Reserve:
		g, err := w.grant(a)
		e.result = Reserved{a.Attempt, g, err}
	case Look:
		e.result = w.nics.reading(a.Attempt)
		if w.rare("read") {
			e.result = Read{Attempt: a.Attempt, Err: core.Errorf(core.DriverAway, "the driver is away")}
		}
	case Create:
		if e.done < len(a.Specs) {
			c := core.Created{Err: core.Errorf(core.NICFailed, "EIO")}
			if !w.rare("make") {
				c = w.nics.make(a.Specs[e.done])
			}
			if c.Err == nil {
				w.makers[at(c.Service)] = a.Run
				delete(w.foreign, at(c.Service))
			}
			e.results = append(e.results, c)
			e.done++
			return
		}
		e.result = Made{Attempt: a.Attempt, Results: e.results}
		if w.rare("made") {
			e.result = Made{Attempt: a.Attempt, Err: core.Errorf(core.TimedOut, "the driver's process was killed")}
		}
	case Destroy:
		if e.done < len(a.Services) {
			s := a.Services[e.done]
			err := w.nics.unmake(s)
			if err == nil {
				delete(w.makers, at(s))
			}
			e.errs = append(e.errs, err)
			e.done++
			return
		}
		e.result = Removed{Attempt: a.Attempt, Errs: e.errs}
		switch rapid.IntRange(0, 12).Draw(w.t, "removed") {
		case 11:
			e.result = Removed{Attempt: a.Attempt, Err: core.Errorf(core.TimedOut, "the driver's process was killed")}
		case 12: // it lies
			e.result = Removed{Attempt: a.Attempt, Errs: make([]*core.Error, len(a.Services))}
		}
	}
}

// grant is the server: one run, one grant; every run its own VNIs.
func (w *world) grant(r Reserve) (core.Grant, *core.Error) {
	if r.Ask.Boot != w.cfg.Boot {
		w.t.Fatalf("the server was asked without the boot id")
	}
	switch rapid.IntRange(0, 15).Draw(w.t, "answer") {
	case 13:
		return core.Grant{}, core.Errorf(core.ServerAway, "no server")
	case 14:
		return core.Grant{}, core.Errorf(core.PolicyDenied, "denied")
	case 15: // the cluster was rebuilt
		w.recur[r.Ask.Key]++
	}
	run := core.Run{Key: r.Ask.Key, Fingerprint: core.Fingerprint{UID: 1000, Submitted: w.recur[r.Ask.Key]}}
	g, known := w.granted[run]
	if !known {
		g = core.Grant{Run: run, GID: 100, Classes: core.BestEffort, Head: core.Head{Store: "s", Epoch: 1, Revision: uint64(w.nextVNI)}}
		for i := range g.Limits {
			g.Limits[i] = core.Limit{Max: 500, Reserved: uint16(rapid.SampledFrom([]int{600, 0, 10}).Draw(w.t, "reserved"))}
		}
		if rapid.IntRange(0, 5).Draw(w.t, "floor") == 5 {
			g.Floor[core.TXQ] = 10
		}
		for range rapid.SampledFrom([]int{1, 2, 1, 0}).Draw(w.t, "vnis") {
			g.VNIs = append(g.VNIs, w.nextVNI)
			w.nextVNI++
		}
		w.granted[run] = g
	}
	return g, nil
}

func (w *world) send(h Hook) {
	w.call++
	h.Call = w.call
	w.open[h.Call] = h
	w.step(h)
}

func (w *world) key() core.Key {
	return core.Key{
		JobID:      core.JobID{Scheduler: rapid.SampledFrom([]string{"slurm", "local"}).Draw(w.t, "scheduler"), Job: rapid.SampledFrom([]string{"1", "2"}).Draw(w.t, "job")},
		Generation: uint32(rapid.IntRange(0, 1).Draw(w.t, "generation")),
	}
}

// began is the stamp of a hook: of now, or of an earlier one that comes late.
func (w *world) began() int64 {
	w.boot++
	return max(1, w.boot-int64(rapid.SampledFrom([]int{0, 0, 0, 1, 5}).Draw(w.t, "late")))
}

func (w *world) until() time.Duration {
	return w.now + rapid.SampledFrom([]time.Duration{0, time.Second, 8 * time.Second, 2 * time.Minute}).Draw(w.t, "patience")
}

func (w *world) uid() uint32 {
	return rapid.SampledFrom([]uint32{0, 0, 0, 1000, 1001}).Draw(w.t, "uid")
}

func (w *world) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"prepare": func(t *rapid.T) {
			uid := rapid.SampledFrom([]uint32{1000, 1000, 1000, 1001, core.NoUID}).Draw(t, "owner")
			w.send(Hook{Ask: core.Intent{Action: core.Prepare, Key: w.key(), UID: uid, Began: w.began()}, Peer: core.Peer{UID: w.uid()}, Until: w.until()})
		},
		"clean up": func(t *rapid.T) {
			w.send(Hook{Ask: core.Intent{Action: core.CleanUp, Key: w.key(), Began: w.began()}, Peer: core.Peer{UID: w.uid()}, Until: w.until()})
		},
		"environment": func(t *rapid.T) {
			w.send(Hook{Ask: core.Intent{Action: core.Environment, Key: w.key()}, Peer: core.Peer{UID: w.uid()}, Until: w.until()})
		},
		"do": func(t *rapid.T) { w.doOne(t) },
		"finish": func(t *rapid.T) {
			if len(w.effects) > 0 {
				w.finish(rapid.SampledFrom(w.effects).Draw(t, "which"))
			}
		},
		"deliver": func(t *rapid.T) {
			var ready []*effect
			for _, e := range w.effects {
				if e.result != nil {
					ready = append(ready, e)
				}
			}
			if len(ready) == 0 {
				return
			}
			w.deliver(rapid.SampledFrom(ready).Draw(t, "which"))
		},
		"quick": func(t *rapid.T) { // everything under way ends
			for _, e := range slices.Clone(w.effects) {
				if slices.Contains(w.effects, e) {
					w.finish(e)
				}
			}
		},
		"time": func(t *rapid.T) {
			w.now += rapid.SampledFrom([]time.Duration{time.Millisecond, 200 * time.Millisecond, 3 * time.Second, time.Minute, 6 * time.Minute}).Draw(t, "time")
			// The agent ticks when Next says; what is due in between is due now at the latest.
			for id, h := range w.open {
				if h.Until < w.now {
					h.Until = w.now
					w.open[id] = h
				}
			}
			w.step(Tick{})
		},
		"link": func(t *rapid.T) {
			w.up, w.number = !w.up, 0
			w.step(Linked{Up: w.up})
		},
		"order": func(t *rapid.T) {
			var runs []core.Run
			for _, key := range keys() {
				for s := range w.recur[key] + 1 {
					run := core.Run{Key: key, Fingerprint: core.Fingerprint{UID: 1000, Submitted: s}}
					if _, ok := w.granted[run]; ok {
						runs = append(runs, run)
					}
				}
			}
			if len(runs) == 0 {
				return
			}
			run := rapid.SampledFrom(runs).Draw(t, "run")
			o := core.Orders{Head: core.Head{Store: "s", Epoch: 1, Revision: uint64(w.nextVNI)}}
			if rapid.Bool().Draw(t, "forget") {
				if !w.clean[run] {
					return
				}
				o.Forget = []core.Run{run}
			} else {
				o.Clean = []core.Clean{{Run: run, VNIs: w.granted[run].VNIs}}
			}
			w.step(Ordered{o})
		},
		"busy": func(t *rapid.T) {
			if len(w.nics.busy) > 0 {
				clear(w.nics.busy)
			} else if len(w.nics.services) > 0 {
				w.nics.busy[at(rapid.SampledFrom(w.nics.services).Draw(t, "service"))] = true
			}
		},
		"NIC": func(t *rapid.T) {
			switch {
			case len(w.spare) > 0:
				w.nics.devices = append(w.nics.devices, w.spare...)
				slices.SortFunc(w.nics.devices, func(a, b core.Device) int { return int(a.Name[3]) - int(b.Name[3]) })
				w.spare = nil
			case rapid.Bool().Draw(t, "vanishes"):
				i := rapid.IntRange(0, len(w.nics.devices)-1).Draw(t, "nic")
				w.spare = append(w.spare, w.nics.devices[i])
				w.nics.devices = slices.Delete(w.nics.devices, i, i+1)
			default:
				d := &w.nics.devices[rapid.IntRange(0, len(w.nics.devices)-1).Draw(t, "nic")]
				d.Up = !d.Up
			}
		},
		"another's service": func(t *rapid.T) {
			if len(w.nics.devices) == 0 || len(w.foreign) > 2 {
				return
			}
			d := rapid.SampledFrom(w.nics.devices).Draw(t, "nic")
			vni := core.VNI(9999)
			if rapid.Bool().Draw(t, "near") { // of the next run
				vni = w.nextVNI
			}
			c := w.nics.make(core.ServiceSpec{Device: d.Name, Owner: core.UID(rapid.SampledFrom([]uint32{1000, 1001}).Draw(t, "whose")), VNIs: []core.VNI{vni}})
			if c.Err == nil {
				w.foreign[at(c.Service)] = true
			}
		},
	}
}

func keys() []core.Key {
	var out []core.Key
	for _, s := range []string{"slurm", "local"} {
		for _, j := range []string{"1", "2"} {
			for g := range uint32(2) {
				out = append(out, core.Key{JobID: core.JobID{Scheduler: s, Job: j}, Generation: g})
			}
		}
	}
	return out
}

func (w *world) doOne(t *rapid.T) {
	if len(w.effects) == 0 {
		return
	}
	w.advance(rapid.SampledFrom(w.effects).Draw(t, "which"))
}

func (w *world) deliver(e *effect) {
	w.effects = slices.DeleteFunc(w.effects, func(f *effect) bool { return e == f })
	w.step(e.result)
}

func (w *world) finish(e *effect) {
	for e.result == nil {
		w.advance(e)
	}
	w.deliver(e)
}

// check what must hold after every step.
func (w *world) check() {
	for id, h := range w.open {
		if h.Until <= w.now {
			// A step at or after Until must have answered it.
			w.t.Fatalf("call %d (%v of %v) was not answered by %v", id, h.Ask.Action, h.Ask.Key, h.Until)
		}
	}
	if n := w.m.Next(); n < w.now {
		w.t.Fatalf("something was due at %v, and it is %v", n, w.now)
	}
	alive := map[core.Run]bool{}
	for _, e := range w.m.Entries() {
		if e.State == Asking {
			continue
		}
		if alive[e.Grant.Run] {
			w.t.Fatalf("%v is held twice", e.Grant.Run)
		}
		alive[e.Grant.Run] = true
		if e.State == Ready && e.Began <= w.stamps[e.Key.JobID] {
			w.t.Fatalf("%v is ready, and was cleaned up by a hook that began later", e.Grant.Run)
		}
		if e.State != Ready || len(e.Grant.VNIs) == 0 {
			continue
		}
		if len(e.Specs) == 0 || len(e.Services) != len(e.Specs) {
			w.t.Fatalf("%v is ready on %d of %d NICs", e.Grant.Run, len(e.Services), len(e.Specs))
		}
		for i, s := range e.Services {
			if w.makers[at(s)] != e.Grant.Run || s.Device != e.Specs[i].Device {
				w.t.Fatalf("%v is ready, and its service %d on %s is not there", e.Grant.Run, s.ID, s.Device)
			}
		}
	}
	for _, r := range w.books.all() {
		e, ok := r.(Entry)
		switch {
		case !ok:
		case e.State == Cleaning || e.State == Clean:
			w.over[e.Grant.Run] = true
		case w.over[e.Grant.Run]:
			w.t.Fatalf("%v was being cleaned, and is %v", e.Grant.Run, e.State)
		}
	}
	// Every service that was made for a run is remembered durably.
	for where, run := range w.makers {
		if d := w.durable(run); d == nil || d.State == Clean {
			w.t.Fatalf("%s holds a service of %v, of which no record is left: %+v", where, run, d)
		}
	}
	if n := len(w.effects); n > 64 {
		w.t.Fatalf("%d things are under way", n)
	}
}

// settle: once nothing fails any more and every job is over, nothing is left.
func (w *world) settle() {
	w.nics.devices = append(w.nics.devices, w.spare...)
	w.spare = nil
	clear(w.nics.busy)
	for i := range w.nics.devices {
		w.nics.devices[i].Up = true
	}
	w.nics.services = slices.DeleteFunc(w.nics.services, func(s core.Service) bool { return w.foreign[at(s)] })
	clear(w.foreign)
	if !w.up {
		w.up, w.number = true, 0
		w.stepCrash(Linked{Up: true}, 0)
	}
	var orders core.Orders
	for _, key := range keys() {
		for s := range w.recur[key] + 1 {
			run := core.Run{Key: key, Fingerprint: core.Fingerprint{UID: 1000, Submitted: s}}
			if g, ok := w.granted[run]; ok {
				orders.Clean = append(orders.Clean, core.Clean{Run: run, VNIs: g.VNIs})
			}
		}
	}
	for range 3 {
		w.quiet()
		w.stepCrash(Ordered{orders}, 0)
		w.quiet()
	}
	for _, s := range w.nics.services {
		if run, ok := w.makers[at(s)]; ok {
			w.t.Fatalf("in the end %s holds service %d of %v", s.Device, s.ID, run)
		}
	}
	for _, e := range w.m.Entries() {
		if e.State != Clean {
			w.t.Fatalf("in the end %+v", e)
		}
	}
	for _, c := range orders.Clean {
		if len(c.VNIs) > 0 && !w.clean[c.Run] {
			w.t.Fatalf("in the end %v was never confirmed clean", c.Run)
		}
	}
	if len(w.open) > 0 {
		w.t.Fatalf("in the end %d calls have no answer", len(w.open))
	}
}

// quiet lets all that is under way end, without faults, and much time pass.
func (w *world) quiet() {
	for range 40 {
		for len(w.effects) > 0 {
			e := w.effects[0]
			w.effects = w.effects[1:]
			for e.result == nil {
				w.plainly(e)
			}
			w.stepCrash(e.result, 0)
		}
		w.now = max(w.now, min(w.m.Next(), w.now+10*time.Minute))
		w.stepCrash(Tick{}, 0)
	}
}

// plainly does an effect as a sound driver and server do.
func (w *world) plainly(e *effect) {
	switch a := e.action.(type) {
	case Reserve:
		e.result = Reserved{Attempt: a.Attempt, Err: core.Errorf(core.JobEnded, "over")}
	case Look:
		e.result = w.nics.reading(a.Attempt)
	case Create:
		for ; e.done < len(a.Specs); e.done++ {
			c := w.nics.make(a.Specs[e.done])
			if c.Err == nil {
				w.makers[at(c.Service)] = a.Run
			}
			e.results = append(e.results, c)
		}
		e.result = Made{Attempt: a.Attempt, Results: e.results}
	case Destroy:
		for ; e.done < len(a.Services); e.done++ {
			err := w.nics.unmake(a.Services[e.done])
			if err == nil {
				delete(w.makers, at(a.Services[e.done]))
			}
			e.errs = append(e.errs, err)
		}
		e.result = Removed{Attempt: a.Attempt, Errs: e.errs}
	}
}

// weights say how often each action comes; rapid prefers what stands first.
var weights = []struct {
	name string
	n    int
}{
	{"finish", 14}, {"prepare", 6}, {"clean up", 4}, {"do", 6}, {"deliver", 4}, {"quick", 2}, {"order", 2}, {"time", 2}, {"environment", 1},
	{"link", 1}, {"busy", 1}, {"NIC", 1}, {"another's service", 1},
}

func TestMachine(t *testing.T) {
	var names []string
	for _, a := range weights {
		for range a.n {
			names = append(names, a.name)
		}
	}
	for round := range 8 {
		t.Run(strconv.Itoa(round), rapid.MakeCheck(func(t *rapid.T) {
			w := newWorld(t)
			actions := w.actions()
			for range rapid.SampledFrom([]int{200, 120, 40}).Draw(t, "steps") {
				actions[rapid.SampledFrom(names).Draw(t, "action")](t)
				w.check()
			}
			w.settle()
		}))
	}
}
