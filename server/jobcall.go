package server

import (
	"maps"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// A job of 11,136 nodes that cannot have what it asked for is refused 11,136 times, and its scheduler is told once.
const (
	keepTold     = time.Minute // for which those of its nodes that come late tell nobody anew
	mostJobCalls = 4096        // jobs whose schedulers were told; those under way are not counted
)

// jobCall names the calls to a scheduler about the failure of one run of a job.
type jobCall struct {
	key   core.Key
	again bool // it may come again
}

// jobCalls are the calls that are under way, and those that ended less than keepTold ago.
type jobCalls struct {
	mu sync.Mutex
	of map[jobCall]*jobTold
}

type jobTold struct {
	first chan struct{} // closed after the first try
	until time.Duration // Moment.Uptime up to which it counts; 0: it is under way
}

// begin notes a call whose first try closes told. Where a call about the job need not be repeated, begin notes nothing
// and gives the channel of that call.
func (t *jobCalls) begin(what jobCall, told chan struct{}, now time.Duration) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.of[what]; of != nil && (of.until == 0 || now < of.until) {
		return of.first
	}
	if t.of == nil {
		t.of = map[jobCall]*jobTold{}
	}
	t.of[what] = &jobTold{first: told}
	return told
}

// end notes that a call ended. It forgets one that failed, so that the next node of the job tries again.
func (t *jobCalls) end(what jobCall, ok bool, now time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.of[what]; of != nil {
		of.until = now + keepTold
	}
	if !ok {
		delete(t.of, what)
	}
	if len(t.of) > mostJobCalls {
		maps.DeleteFunc(t.of, func(_ jobCall, of *jobTold) bool { return of.until != 0 && of.until <= now })
		maps.DeleteFunc(t.of, func(_ jobCall, of *jobTold) bool { return of.until != 0 && len(t.of) > mostJobCalls })
	}
}
