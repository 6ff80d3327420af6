package cxi

import (
	"cmp"
	"time"
	"unsafe"
)

// bench is where one trial makes its services.
type bench struct {
	*nic
	first uint16 // of its VNIs
	id    uint32 // of the service that the next step is about
	fail  failInfo
	made  []uint32
	lnis  []unsafe.Pointer
}

// step is a call of a trial. Its reading is empty where only the error number counts.
type step func(*bench) (reading string, err errno)

// trial is one of the rows: steps until one fails.
type trial struct {
	rule  string
	steps []step
}

func (t *trial) try(n *nic, first uint16) (seen string, left []Leaving) {
	b := &bench{nic: n, first: first, id: unknown}
	for _, do := range t.steps {
		reading, err := do(b)
		if err != ok {
			return err.Error(), b.clear()
		}
		seen = cmp.Or(reading, "ok")
	}
	return seen, b.clear()
}

// clearing bounds the time in which the queues of an LNI drain.
const clearing = 2 * time.Second

// clear removes what the trial made, and gives what stays.
func (b *bench) clear() (left []Leaving) {
	for _, lni := range b.lnis {
		b.lib.destroyLNI(lni)
	}
	for _, id := range b.made {
		err := b.destroy(id, true)
		for start := time.Now(); err == ebusy && time.Since(start) < clearing && !b.over(); err = b.destroy(id, true) {
			time.Sleep(10 * time.Millisecond)
		}
		if err != ok && err != einval { // EINVAL: the trial removed it
			left = append(left, Leaving{id, err.Error()})
		}
	}
	b.lnis, b.made = nil, nil
	return left
}
