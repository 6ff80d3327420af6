package cxi

import (
	"context"
	"sync"
	"time"
)

// lanes let one thread at a time into each NIC. A call that hangs in the driver cannot be ended. It keeps its thread
// and its lane until it returns, and the other NICs' go on. So one stuck NIC costs one thread.
type lanes struct {
	mu sync.Mutex
	of map[string]*lane
}

func (l *lanes) lane(name string) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]*lane{}
	}
	if l.of[name] == nil {
		l.of[name] = &lane{turn: make(chan struct{}, 1)}
	}
	return l.of[name]
}

// lane is one NIC's. A visit that has the turn may use the rest.
type lane struct {
	turn chan struct{}
	open *nic // as the last visit left it
	idle *time.Timer
}

// linger is how long a NIC stays open after a visit: a job's start and its clean-up make several. A NIC that is open
// keeps the driver's modules from being unloaded.
const linger = time.Second

// enter gives the NIC of a visit. The handle of a NIC that is open shows link and retry handler as they were.
func (l *lane) enter(ctx context.Context, d *Driver, lib *library, c card, fresh bool) (*nic, errno) {
	if n := l.open; n != nil && n.lib == lib && !fresh {
		n.ctx, n.beside = ctx, c.of
		return n, ok
	}
	l.shut()
	n, err := openNIC(ctx, d, lib, c)
	if err == ok {
		l.open = n
	}
	return n, err
}

func (l *lane) shut() {
	if l.open != nil {
		l.open.close()
		l.open = nil
	}
}

// leave ends a visit.
func (l *lane) leave() {
	switch {
	case l.open == nil:
	case l.idle == nil:
		l.idle = time.AfterFunc(linger, l.expire)
	default:
		l.idle.Reset(linger)
	}
	<-l.turn
}

// expire closes a NIC after the last of its visits. A visit that is under way lets the time begin again.
func (l *lane) expire() {
	select {
	case l.turn <- struct{}{}:
		l.shut()
		<-l.turn
	default:
	}
}
