package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"runtime"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// work is an input, or a look at the machine.
type work struct {
	in   engine.Input
	look func(*engine.Machine)
	call uint64 // is told when the commit fails

	change func() error // runs before the machine is configured anew
	told   chan error   // holds one: what came of it
}

// done is a Step that is durable.
type done struct {
	in      engine.Input
	records []engine.Record
	actions []engine.Action
}

// put queues w. A full queue refuses at once: a caller can come again, the writer cannot be made faster by waiting.
func (s *Server) put(w work) *core.Error {
	select {
	case <-s.done:
		return core.Errorf(core.ServerAway, "server: it is stopping")
	default:
	}
	select {
	case s.queue <- w:
		return nil
	default:
		return core.Errorf(core.Overloaded, "server: %d inputs are waiting", len(s.queue))
	}
}

// insist queues w, waiting for room: what it brings must not be lost while the writer works.
func (s *Server) insist(ctx context.Context, w work) error {
	select {
	case s.queue <- w:
		return nil
	case <-s.done:
		return core.Errorf(core.ServerAway, "server: it is stopping")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// load builds the machine from the store, and commits its incarnation. A full disk can still be read: a store is back
// only when it takes that commit.
func (s *Server) load(ctx context.Context, witness core.Head) error {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Commit)
	defer cancel()
	records, err := s.records(ctx)
	if err != nil {
		return err
	}
	alloc, err := s.needs.Allocator(s.needs.Config)
	if err != nil {
		return err
	}
	m, first := engine.New(s.needs.Config, alloc, records, engine.Start{ID: newID(), Incarnation: newIncarnation(), Witness: witness}, s.now())
	if err := s.needs.Store.Commit(ctx, append(first, m.Seal())); err != nil {
		return err
	}
	s.machine, s.alloc, s.head = m, alloc, m.Head()
	s.annotateAgain()
	return nil
}

func (s *Server) records(ctx context.Context) (all []engine.Record, err error) {
	err = s.needs.Store.Load(ctx, func(r engine.Record) error {
		all = append(all, r)
		return nil
	})
	return all, err
}

// newID is 128 random bits, for a store that is new.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// newIncarnation is random and not 0.
func newIncarnation() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:]) | 1
}

// write is the one writer.
func (s *Server) write(ctx context.Context) {
	tick := time.NewTicker(s.limits.Tick)
	defer tick.Stop()
	batch := make([]work, 0, s.limits.Batch)
	for {
		batch = batch[:0]
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			batch = append(batch, work{in: engine.Tick{}})
		case w := <-s.queue:
			batch = append(batch, w)
		}
		batch = s.gather(batch)
		s.step(ctx, batch)
	}
}

// gather adds what waits already, and what is about to: goroutines that could run get to, since what they bring would else have a commit of its own, with
// its own wait for the disk. It waits for nobody who waits himself.
func (s *Server) gather(batch []work) []work {
	for {
		runtime.Gosched()
		had := len(batch)
		for room := true; room && len(batch) < cap(batch); {
			select {
			case w := <-s.queue:
				batch = append(batch, w)
			default:
				room = false
			}
		}
		if len(batch) == had || len(batch) == cap(batch) {
			return batch
		}
	}
}

// step takes a batch through the machine, the store, and into effect, in this order.
func (s *Server) step(ctx context.Context, batch []work) {
	if s.machine == nil {
		if err := s.load(ctx, s.head); err != nil {
			s.fail(batch, err)
			return
		}
		s.failure.Store(nil)
		s.log.Info("the store is back")
	}
	var records []engine.Record
	steps := make([]done, 0, len(batch))
	for from := 0; from < len(batch); {
		asked := false
		for _, w := range batch[from:] {
			if w.look != nil {
				continue
			}
			if w.change != nil {
				err := w.change()
				w.told <- err
				if err != nil {
					continue
				}
				w.in = engine.Configure{Config: s.needs.Config}
			}
			r, a := s.machine.Step(s.now(), w.in)
			if len(r) == 0 {
				had := len(a)
				a = s.actEarly(a)
				asked = asked || len(a) < had
			}
			records = append(records, r...)
			if len(r)+len(a) > 0 {
				steps = append(steps, done{w.in, r, a})
			}
		}
		if from = len(batch); asked { // a scheduler that answers at once saves its job a commit
			batch = s.gather(batch)
		}
	}
	if err := s.commit(ctx, len(batch), records); err != nil {
		s.fail(batch, err)
		return
	}
	for _, w := range batch {
		if w.look != nil {
			w.look(s.machine)
		}
	}
	for _, d := range steps {
		s.act(d)
		s.audit(d)
		s.remember(d)
	}
}

// commit makes the records of some inputs durable. Where there are none it finds whether the store could be written.
func (s *Server) commit(ctx context.Context, inputs int, records []engine.Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.Commit)
	defer cancel()
	if len(records) == 0 {
		return s.needs.Store.Commit(ctx, nil)
	}
	began := time.Now()
	err := s.needs.Store.Commit(ctx, append(records, s.machine.Seal()))
	s.meter.Committed(inputs, core.ReasonOf(storeError(err)), time.Since(began))
	if err == nil {
		s.head = s.machine.Head()
	}
	return err
}

// fail throws the machine away: it may be ahead of the store. Everybody who waits is told, and every session ends, since the machine that is loaded next
// has seen no report.
func (s *Server) fail(batch []work, err error) {
	e := core.AsError(storeError(err))
	if s.failure.Swap(e) == nil {
		s.log.Error("the store cannot be written: nothing is granted until it can", core.LogReason, string(e.Reason), core.LogError, e.What)
	}
	s.machine = nil
	for _, w := range batch {
		switch {
		case w.look != nil:
			w.look(nil)
		case w.told != nil:
			select {
			case w.told <- e:
			default: // it is in force, and only the rest of its batch is not
			}
		}
	}
	s.dropAll(e)
}

// storeError gives a store's foreign error its reason.
func storeError(err error) error {
	if e := core.AsError(err); e != nil && (e.Reason == core.InternalFault || e.Reason == core.TimedOut) {
		return core.Errorf(core.StoreFailed, "store: %w", err)
	}
	return err
}

// Failure is why the store cannot be written; nil while it can.
func (s *Server) Failure() *core.Error { return s.failure.Load() }

// Figures are the machine in numbers. They are of several moments: other work comes between two parts of the count.
func (s *Server) Figures(ctx context.Context) (engine.Figures, error) {
	var f engine.Figures
	for more := true; more; {
		if err := s.Look(ctx, func(m *engine.Machine) { more = m.Count(&f) }); err != nil {
			return engine.Figures{}, err
		}
	}
	return f, nil
}

// Look runs f with the machine, in the writer's turn. f must be quick, however large the system is, since anybody may
// ask as often as he likes; it must keep nothing of the machine but copies.
func (s *Server) Look(ctx context.Context, f func(*engine.Machine)) error {
	done := make(chan bool, 1)
	w := work{look: func(m *engine.Machine) {
		if m != nil {
			f(m)
		}
		done <- m != nil
	}}
	if err := s.put(w); err != nil {
		return err
	}
	select {
	case ok := <-done:
		if !ok {
			return s.storeFailed()
		}
		return nil
	case <-s.done:
		return core.Errorf(core.ServerAway, "server: it is stopping")
	case <-ctx.Done():
		return core.Errorf(core.TimedOut, "server: it did not answer: %w", context.Cause(ctx))
	}
}

func (s *Server) storeFailed() *core.Error {
	if e := s.failure.Load(); e != nil {
		return e
	}
	return core.Errorf(core.StoreFailed, "store: it cannot be read")
}
