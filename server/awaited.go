package server

import (
	"sync"

	"github.com/weft-hpc/weft/core"
)

// awaited holds the questions of a session that have no reply yet. Each id belongs to one question of one session, so
// another node cannot answer it. The zero value holds none.
type awaited[R any] struct {
	mu     sync.Mutex
	serial uint64
	told   int // those of them that change something
	wait   map[uint64]chan R
}

// maxTold bounds the calls that change something. Jobs start by the other ones, which need room as soon as a slow
// scheduler plugin answers again.
const maxTold = core.MaxSchedulerCalls / 4

// begin is false when too many are under way.
func (w *awaited[R]) begin(tells bool) (uint64, <-chan R, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wait) >= core.MaxSchedulerCalls || tells && w.told >= maxTold {
		return 0, nil, false
	}
	if w.wait == nil {
		w.wait = map[uint64]chan R{}
	}
	if tells {
		w.told++
	}
	w.serial++
	c := make(chan R, 1)
	w.wait[w.serial] = c
	return w.serial, c, true
}

func (w *awaited[R]) end(id uint64, tells bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if tells {
		w.told--
	}
	delete(w.wait, id)
}

// reply hands r to the question of that id. It is false when the question has ended.
func (w *awaited[R]) reply(id uint64, r R) bool {
	w.mu.Lock()
	c := w.wait[id]
	delete(w.wait, id)
	w.mu.Unlock()
	if c == nil {
		return false
	}
	c <- r
	return true
}
