package server

import (
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// A job of 11,136 nodes that cannot have what it asked for is refused 11,136 times, and its scheduler is told once.
const (
	keepTold     = time.Minute // for which those of its nodes that come late tell nobody anew
	mostTellings = 4096        // jobs whose schedulers were told; those under way are not counted
)

// telling is what a scheduler is told of one run of a job.
type telling struct {
	key   core.Key
	again bool // it may come again
}

// tellings are those under way and those just over.
type tellings struct {
	mu sync.Mutex
	of map[telling]*told
}

type told struct {
	first <-chan struct{} // closed after the first try
	until time.Duration   // Moment.Run up to which it counts; 0: it is under way
}

// begun gives the telling of a job that need not be begun, nil where there is none.
func (t *tellings) begun(what telling, now time.Duration) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.of[what]; of != nil && (of.until == 0 || now < of.until) {
		return of.first
	}
	return nil
}

// begin notes one.
func (t *tellings) begin(what telling, first <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[telling]*told{}
	}
	t.of[what] = &told{first: first}
}

// end notes that one is over. One that failed is forgotten: the next node of the job has it tried again.
func (t *tellings) end(what telling, ok bool, now time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.of[what]; of != nil {
		of.until = now + keepTold
	}
	if !ok {
		delete(t.of, what)
	}
	if len(t.of) <= mostTellings {
		return
	}
	for what, of := range t.of {
		if of.until != 0 && of.until <= now {
			delete(t.of, what)
		}
	}
	for what, of := range t.of {
		if len(t.of) <= mostTellings {
			return
		}
		if of.until != 0 {
			delete(t.of, what)
		}
	}
}
