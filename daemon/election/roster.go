package election

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/store/etcd"
)

const (
	enrolEvery = 2 * time.Second  // a server writes its own key
	enrolFor   = 10 * time.Second // that they remember it
	knownFor   = 6 * time.Second  // the keys are good that were read last
	lookEvery  = 10 * time.Second // a server asks each member of etcd how it is
	lookWithin = 2 * time.Second
)

// Member is one of the servers, by its own word.
type Member struct {
	Name    string
	Address string
	Host    string // the host's name for itself
	Version string
	Leads   bool
	Warm    bool  // it can lead without waiting for nodes
	Lag     int64 // writes of the leader that it lacked in that moment

	mod  int64 // the revision of etcd that wrote its key last
	live bool  // it has written its key since it was first seen
}

func (m Member) is(o Member) bool {
	return m.Name == o.Name && m.Host == o.Host && m.Address == o.Address
}

// Etcd is one endpoint.
type Etcd struct {
	Endpoint string
	Version  string
	Leads    bool   // etcd's members
	Bytes    int64  // of its database, of which some may be free
	Fault    string // why it does not answer, or its own alarms; empty: it is well
}

// roster is the newest news of all servers and of etcd.
type roster struct {
	mu      sync.Mutex
	members []Member
	read    time.Time // when members were
	etcd    map[string]Etcd
}

// Members are the servers that have written their keys within 10 s, by name. While etcd is away there are none.
func (e *Election) Members() []Member {
	e.roster.mu.Lock()
	defer e.roster.mu.Unlock()
	if time.Since(e.roster.read) > knownFor {
		return nil
	}
	return slices.Clone(e.roster.members)
}

// Twin is another server with this one's name; an empty name: there is none. The key of one that was killed, as of this
// one at another address, is no server.
func (e *Election) Twin() Member {
	me := e.me("")
	for _, m := range e.Members() {
		if m.Name == me.Name && m.live && !m.is(me) {
			return m
		}
	}
	return Member{}
}

// Etcd is the state of each endpoint, in the order of config.hcl. An endpoint that was not asked yet is missing.
func (e *Election) Etcd() (all []Etcd) {
	e.roster.mu.Lock()
	defer e.roster.mu.Unlock()
	for _, endpoint := range e.client.Endpoints() {
		if one, ok := e.roster.etcd[endpoint]; ok {
			all = append(all, one)
		}
	}
	return all
}

// Enrol writes this server's own key, and reads those of the others, until ctx ends. Lists for people alone use them.
func (e *Election) Enrol(ctx context.Context, version string) {
	s := seat{version: version}
	for more := true; more; more = poll.Pause(ctx, enrolEvery) {
		e.sit(ctx, &s)
	}
	e.leave(ctx, s)
}

// seat is this server's place in the list.
type seat struct {
	version string
	lease   clientv3.LeaseID // of its key; 0: there is none
	twin    bool             // another server with this one's name was seen, and logged
}

func (e *Election) sit(ctx context.Context, s *seat) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	s.lease = e.enrol(ctx, s.version, s.lease)
	e.members(ctx)
	other := e.Twin()
	if other.Name != "" && !s.twin {
		e.log.Warn("another server has this one's name; give each a `name` in config.hcl",
			core.LogServer, other.Name+" on "+other.Host, core.LogAddress, other.Address)
	}
	s.twin = other.Name != ""
}

func (e *Election) leave(ctx context.Context, s seat) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = e.client.Revoke(ctx, s.lease)
}

// me is this server.
func (e *Election) me(version string) Member {
	host, _ := os.Hostname()
	return Member{Name: e.candidate.Name, Address: e.candidate.Address, Host: host, Version: version}
}

// enrol writes this server's key with a lease, and gives the lease; 0: there is none.
func (e *Election) enrol(ctx context.Context, version string, lease clientv3.LeaseID) clientv3.LeaseID {
	if lease != 0 {
		if _, err := e.client.KeepAliveOnce(ctx, lease); err != nil {
			lease = 0
		}
	}
	if lease == 0 {
		granted, err := e.client.Grant(ctx, int64(enrolFor/time.Second))
		if err != nil {
			return 0
		}
		lease = granted.ID
	}
	me := e.me(version)
	me.Leads, me.Warm = e.State().Leads, e.store.Witness().Store != ""
	if !me.Leads {
		var err error
		if me.Lag, err = e.store.Lag(ctx); err != nil {
			return lease
		}
	}
	key := e.candidate.Prefix + etcd.ServerPrefix + strings.Join([]string{me.Name, me.Host, me.Address}, "/")
	text, err := json.Marshal(me)
	if err != nil {
		return lease
	}
	if _, err := e.client.Put(ctx, key, string(text), clientv3.WithLease(lease)); err != nil {
		return 0
	}
	return lease
}

func (e *Election) members(ctx context.Context) {
	got, err := e.client.Get(ctx, e.candidate.Prefix+etcd.ServerPrefix, clientv3.WithPrefix(), clientv3.WithLimit(64))
	if err != nil {
		return
	}
	e.roster.mu.Lock()
	defer e.roster.mu.Unlock()
	var all []Member
	for _, kv := range got.Kvs {
		m := Member{mod: kv.ModRevision}
		if json.Unmarshal(kv.Value, &m) != nil {
			continue
		}
		if i := slices.IndexFunc(e.roster.members, m.is); i >= 0 {
			before := e.roster.members[i]
			m.live = before.live || before.mod != m.mod
		}
		all = append(all, m)
	}
	e.roster.members, e.roster.read = all, time.Now()
}

// Look asks each member of etcd how it is, until ctx ends.
func (e *Election) Look(ctx context.Context) {
	for {
		var mu sync.Mutex
		found := map[string]Etcd{}
		var all sync.WaitGroup
		for _, endpoint := range e.client.Endpoints() {
			all.Go(func() {
				one := e.look(ctx, endpoint)
				mu.Lock()
				defer mu.Unlock()
				found[endpoint] = one
			})
		}
		all.Wait()
		e.roster.mu.Lock()
		e.roster.etcd = maps.Clone(found)
		e.roster.mu.Unlock()
		if !poll.Pause(ctx, lookEvery) {
			return
		}
	}
}

func (e *Election) look(ctx context.Context, endpoint string) Etcd {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	st, err := e.client.Status(ctx, endpoint)
	if err != nil {
		return Etcd{Endpoint: endpoint, Fault: core.Clip(err.Error())}
	}
	one := Etcd{
		Endpoint: endpoint, Version: core.Clip(st.Version), Bytes: st.DbSize,
		Leads: st.Leader == st.Header.MemberId,
	}
	for _, fault := range st.Errors {
		one.Fault = core.Clip(fault)
	}
	return one
}
