package chaos

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weft-hpc/weft/core"
)

// history is every answer that a client got, and everything that was seen on a NIC. Times are since its beginning.
type history struct {
	zero time.Time
	vnis []core.VNI

	mu    sync.Mutex
	began map[string]time.Duration // by job: before the first call of its
	over  map[string]time.Duration // by job: before its scheduler ended it
	told  []answer
	seen  map[claim]*stay
	reads map[core.VNI][]answer // of the server's list; job "": the VNI is free
	wrong error
}

// claim says that a VNI is a job's.
type claim struct {
	job string
	vni core.VNI
}

// answer is a claim in the answer to a call.
type answer struct {
	claim
	call, back time.Duration
}

// stay is when a service stood on a NIC.
type stay struct {
	first time.Duration // after the first reading that had it
	last  time.Duration // before the last one
}

func newHistory(vnis []core.VNI) *history {
	return &history{
		zero: time.Now(), vnis: vnis, began: map[string]time.Duration{}, over: map[string]time.Duration{},
		seen: map[claim]*stay{}, reads: map[core.VNI][]answer{},
	}
}

func (h *history) now() time.Duration { return time.Since(h.zero) }

// fail notes what is wrong; the first stays.
func (h *history) fail(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wrong == nil {
		h.wrong = fmt.Errorf("%w (at %s)", fmt.Errorf(format, args...), h.now().Round(time.Millisecond))
	}
}

func (h *history) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wrong
}

// begin notes that the first call for a job comes now.
func (h *history) begin(job string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began[job] = h.now()
}

// end notes that the scheduler ends a job now.
func (h *history) end(job string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ended := h.over[job]; !ended {
		h.over[job] = h.now()
	}
}

// tell notes the answer to a call.
func (h *history) tell(job string, v core.VNI, call time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, answer{claim{job, v}, call, h.now()})
}

// see notes that a job's service was on a NIC in a reading that began then.
func (h *history) see(job string, v core.VNI, began time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.seen[claim{job, v}]
	if at == nil {
		at = &stay{first: h.now()}
		h.seen[claim{job, v}] = at
	}
	at.last = began
}

// list notes the server's list of VNIs. It keeps the first and the last of equal answers in a row.
func (h *history) list(owners map[core.VNI]string, call time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, v := range h.vnis {
		job, known := owners[v]
		if !known {
			continue
		}
		a, past := answer{claim{job, v}, call, h.now()}, h.reads[v]
		if n := len(past); n > 1 && past[n-1].job == job && past[n-2].job == job {
			past = past[:n-1]
		}
		h.reads[v] = append(past, a)
	}
}

// step is an operation of the model.
type step struct {
	do  string // take, keep, free
	job string
}

// model is one VNI: the job that owns it, or "".
var model = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		owner, s := state.(string), input.(step)
		switch s.do {
		case "take":
			return owner == "" || owner == s.job, s.job
		case "free":
			return owner == s.job, ""
		default:
			return owner == s.job, owner
		}
	},
}

// slack is for the server's ticks and the clock of a reading.
const slack = 20 * time.Millisecond

// operations are the history of a VNI.
func (h *history) operations(v core.VNI) []porcupine.Operation {
	proof := map[string]time.Duration{} // by job: when it surely had the VNI
	var ops []porcupine.Operation
	add := func(do, job string, call, back time.Duration) {
		ops = append(ops, porcupine.Operation{Input: step{do, job}, Call: int64(call), Return: int64(back)})
	}
	prove := func(job string, at time.Duration) {
		if old, is := proof[job]; !is || at < old {
			proof[job] = at
		}
	}
	for _, a := range h.told {
		if a.vni == v {
			prove(a.job, a.back)
			add("keep", a.job, a.call, a.back)
		}
	}
	last := map[string]time.Duration{}
	for c, at := range h.seen {
		if c.vni == v {
			prove(c.job, at.first)
			last[c.job] = at.last + quarantine - slack
		}
	}
	for _, a := range h.reads[v] {
		// A job that the list names, and that no client and no NIC knows, has lost its VNI with a lost disk, perhaps.
		if _, is := proof[a.job]; is || a.job == "" {
			add("keep", a.job, a.call, a.back)
		}
	}
	for job, at := range proof {
		add("take", job, h.began[job], at)
		if over, is := h.over[job]; is {
			add("free", job, max(over, last[job]), math.MaxInt64)
		}
	}
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return ops
}

// checkTime bounds the check of one VNI.
const checkTime = 20 * time.Second

// check compares the whole history with the model.
func (h *history) check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var wrong []error
	for _, v := range h.vnis {
		ops := h.operations(v)
		switch porcupine.CheckOperationsTimeout(model, ops, checkTime) {
		case porcupine.Ok:
		case porcupine.Unknown:
			wrong = append(wrong, fmt.Errorf("history: VNI %d: its %d answers take too long to check", v, len(ops)))
		default:
			wrong = append(wrong, fmt.Errorf("history: VNI %d: no order of these answers is right:\n%s", v, h.show(ops)))
		}
	}
	return errors.Join(wrong...)
}

// show is the end of a history up to the first answer that makes it wrong.
func (h *history) show(ops []porcupine.Operation) string {
	ends := func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) }
	slices.SortFunc(ops, ends)
	good, bad := 0, len(ops)
	for good+1 < bad { // the shortest beginning that is wrong
		if n := (good + bad) / 2; porcupine.CheckOperationsTimeout(model, upTo(ops, n), checkTime) == porcupine.Ok {
			good = n
		} else {
			bad = n
		}
	}
	part := upTo(ops, bad)
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var out strings.Builder
	for _, op := range part[max(0, len(part)-20):] {
		s, back := op.Input.(step), "open"
		if op.Return < math.MaxInt64 {
			back = time.Duration(op.Return).Round(time.Millisecond).String()
		}
		fmt.Fprintf(&out, "  %s to %s: %s %s\n", time.Duration(op.Call).Round(time.Millisecond), back, s.do, s.job)
	}
	return out.String()
}

// upTo are the first n operations to return, with the ends of the jobs in them.
func upTo(ops []porcupine.Operation, n int) []porcupine.Operation {
	part, takes := slices.Clone(ops[:n]), map[string]bool{}
	for _, op := range part {
		takes[op.Input.(step).job] = true
	}
	for _, op := range ops[n:] {
		if s := op.Input.(step); s.do == "free" && takes[s.job] && op.Call < part[n-1].Return {
			part = append(part, op)
		}
	}
	return part
}
