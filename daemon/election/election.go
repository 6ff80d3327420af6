package election

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/store/etcd"
)

const (
	openWithin   = 20 * time.Second       // that etcd may take to tell a whole store
	followEvery  = 200 * time.Millisecond // a standby reads what the leader wrote
	followRest   = time.Second            // after a failure
	compactEvery = 10 * time.Minute       // old revisions of etcd are kept for 10 to 20 minutes
	yield        = time.Second            // that a server without a witness leaves the lead to one that has followed
)

// Election is one of several servers, while it follows and while it leads.
type Election struct {
	candidate etcd.Candidate
	client    *clientv3.Client
	store     *etcd.Store
	log       *slog.Logger
	roster    roster
	free      time.Time // since when no server leads, as Win has seen it; zero: one does

	mu      sync.Mutex
	state   State
	changed chan struct{} // closed when another server leads, or this one
}

// State is a server's knowledge of all.
type State struct {
	Leader etcd.Leader // a zero Term: none leads
	Leads  bool        // this server does
	Began  core.Head   // the first that was seen of Leader
	Head   core.Head   // of the store as it was read last
	Read   time.Time   // when that was
	Terms  int         // how often another server began to lead
	Fault  *core.Error // why it could not be read since; nil: it could
}

// Open reads the store that the servers of a system share. name and address are of this one.
func Open(ctx context.Context, c config.Etcd, system, name, address string, log *slog.Logger) (*Election, error) {
	client, err := Dial(c)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	store, err := etcd.Open(within, etcd.Options{Client: client, Prefix: c.Prefix, System: system})
	if err != nil {
		_ = client.Close()
		return nil, Explain(context.WithoutCancel(ctx), c, err)
	}
	return &Election{
		candidate: etcd.Candidate{Client: client, Prefix: c.Prefix, Name: name, Address: address, Time: c.Lease},
		client:    client, store: store, log: log, changed: make(chan struct{}),
		state: State{Head: store.Head(), Read: time.Now()},
	}, nil
}

// Store is the store that all share. Only the leader can write to it.
func (e *Election) Store() *etcd.Store { return e.store }

// Name is that of this server.
func (e *Election) Name() string { return e.candidate.Name }

// Close ends the store and the connections to etcd.
func (e *Election) Close() error {
	err := e.store.Close()
	_ = e.client.Close() // it tells that its context was ended
	return err
}

// State is as of the last look at etcd. Where that lies back for longer than a lease, no leader is known.
func (e *Election) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.state
	if s.Fault != nil && !s.Leads && time.Since(s.Read) > e.candidate.Time {
		s.Leader = etcd.Leader{}
	}
	return s
}

// ends are the reasons of errors after which the store can be of no use to this server.
var ends = []core.Reason{core.StoreCorrupt, core.StoreNewer, core.StoreMoved, core.BadConfig}

// Win follows the leader until this server leads. It ends with an error where the store can be of no use to this
// server, or where ctx ends.
func (e *Election) Win(ctx context.Context) (*etcd.Lease, error) {
	for {
		lease, err := e.try(ctx)
		rest := followEvery
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case lease != nil:
			e.tell(nil)
			return lease, nil
		case slices.Contains(ends, core.ReasonOf(err)):
			return nil, err
		case err != nil:
			rest = followRest
		}
		e.tell(err)
		if !poll.Pause(ctx, rest) {
			return nil, context.Cause(ctx)
		}
	}
}

// try follows, and tries to lead where no server does.
func (e *Election) try(ctx context.Context) (*etcd.Lease, error) {
	long, cancel := context.WithTimeout(ctx, openWithin) // it may have to read the whole store
	defer cancel()
	leader, err := e.store.Follow(long)
	if err != nil {
		return nil, err
	}
	e.set(func(s *State) { s.Leader, s.Head, s.Read = leader, e.store.Head(), time.Now() })
	switch {
	case leader.Term != 0:
		e.free = time.Time{}
		return nil, nil
	case e.free.IsZero():
		e.free = time.Now()
	}
	witness := e.store.Witness()
	if e.store.Head().Store != "" && witness.Store == "" && time.Since(e.free) < yield {
		return nil, nil
	}
	ctx, cancel = context.WithTimeout(ctx, e.candidate.Time)
	defer cancel()
	lease, err := e.candidate.Win(ctx)
	if lease == nil || err != nil {
		return nil, err
	}
	if err := e.store.Lead(ctx, lease); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = lease.Resign(ctx)
		return nil, err
	}
	return lease, nil
}

// Leads says that this server leads, and with which head it began.
func (e *Election) Leads(l *etcd.Lease, head core.Head) {
	e.set(func(s *State) {
		s.Leader, s.Leads, s.Head, s.Read = l.Leader, true, head, time.Now()
		s.Leader.Wrote = true
	})
}

// Compact has etcd forget old revisions, until ctx ends. Only the leader does.
func (e *Election) Compact(ctx context.Context) {
	var before int64
	refused := false
	for poll.Pause(ctx, compactEvery) {
		within, cancel := context.WithTimeout(ctx, lookWithin)
		now, err := e.store.Compact(within, before)
		cancel()
		before = now
		if err != nil && !refused {
			e.log.Warn("etcd keeps its old revisions, and grows; let it compact by itself: `--auto-compaction-retention`",
				core.LogReason, string(core.ReasonOf(err)), core.LogError, core.AsError(err).Line())
		}
		refused = err != nil
	}
}

// set changes the state, and wakes those who wait for a leader.
func (e *Election) set(change func(*State)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.state
	change(&e.state)
	e.begun(before)
	now := e.state
	if now.Began != before.Began || now.Leader.Term != before.Leader.Term || now.Leads != before.Leads {
		close(e.changed)
		e.changed = make(chan struct{})
	}
	l := e.state.Leader
	if l.Term == before.Leader.Term || l.Term == 0 {
		return
	}
	if e.state.Terms++; !e.state.Leads {
		e.log.Info("another server leads", core.LogServer, l.Name)
	}
}

// begun finds the first head of the leader. A later one with a higher epoch is of the same leader, which read its store
// again. Before its first commit, a new leader has the head of the previous one.
func (e *Election) begun(before State) {
	s := &e.state
	if s.Leader.Term != before.Leader.Term {
		s.Began = core.Head{}
	}
	if s.Leader.Wrote && s.Began.Store == "" {
		s.Began = s.Head
	}
}

// tell notes why the store was not read, and logs it once.
func (e *Election) tell(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.state.Fault
	e.state.Fault = core.AsError(err)
	if (e.state.Fault == nil) != (before == nil) {
		close(e.changed)
		e.changed = make(chan struct{})
	}
	switch now := e.state.Fault; {
	case now != nil && before == nil:
		e.log.Warn("the store cannot be followed", core.LogReason, string(now.Reason), core.LogError, now.Line())
	case now == nil && before != nil:
		e.log.Info("the store is followed again")
	}
}

// awaitFault is how long a server that cannot read the store keeps a node waiting before the node asks another server.
const awaitFault = 10 * time.Second

// Await waits until another server leads than the one that showed seen, and gives its first head.
func (e *Election) Await(ctx context.Context, seen core.Head) (core.Head, error) {
	late := time.NewTimer(awaitFault)
	defer late.Stop()
	for {
		e.mu.Lock()
		head, changed, fault := e.state.Began, e.changed, e.state.Fault
		e.mu.Unlock()
		if fault == nil && head.Store != "" && (head.Store != seen.Store || head.Epoch > seen.Epoch) {
			return head, nil
		}
		var end <-chan time.Time
		if fault != nil {
			late.Reset(awaitFault)
			end = late.C
		}
		select {
		case <-changed:
		case <-end:
			name := e.candidate.Name
			return core.Head{}, core.Errorf(core.ServerAway, "server %s: it cannot read which server leads: %w", name, fault)
		case <-ctx.Done():
			return core.Head{}, context.Cause(ctx)
		}
	}
}
