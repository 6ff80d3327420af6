package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
)

// Leader is the server that may write.
type Leader struct {
	Name    string    // as its certificate has it
	Address string    // where agents and other servers reach it
	Since   time.Time // by its wall clock, for people
	Term    int64     `json:"-"` // rises with each leader: etcd's revision that made its key
	Wrote   bool      `json:"-"` // the store since it leads
}

// Candidate is a server that would lead.
type Candidate struct {
	Client  *clientv3.Client
	Prefix  string
	Name    string
	Address string
	Time    time.Duration // of the lease, in whole seconds; etcd by default grants no less than 2 s
}

// Lease is the right to write, which ends by itself where it is not renewed. Safe for concurrent use.
type Lease struct {
	Leader
	kv   keys
	id   clientv3.LeaseID
	time time.Duration

	mu    sync.Mutex
	until time.Duration // by the running clock
}

// Leads gives the leader; a zero Term: there is none.
func (c Candidate) Leads(ctx context.Context) (Leader, error) {
	kv := c.keys()
	got, err := c.Client.Get(ctx, c.Prefix+leaderKey)
	if err != nil {
		return Leader{}, kv.failed(err)
	}
	if len(got.Kvs) == 0 {
		return Leader{}, nil
	}
	return leader(got.Kvs[0].Value, got.Kvs[0].CreateRevision)
}

func leader(value []byte, created int64) (l Leader, err error) {
	if err := json.Unmarshal(value, &l); err != nil {
		return Leader{}, damaged(leaderKey, "it names no server")
	}
	l.Term = created
	return l, nil
}

// Win tries once to lead: nil, where another does.
func (c Candidate) Win(ctx context.Context) (*Lease, error) {
	if leader, err := c.Leads(ctx); err != nil || leader.Term != 0 {
		return nil, err // without the two writes of a lease that is good for nothing
	}
	kv := c.keys()
	sent, wall := running(), time.Now()
	granted, err := c.Client.Grant(ctx, int64(c.Time/time.Second))
	if err != nil {
		return nil, kv.failed(err)
	}
	l := &Lease{
		Leader: Leader{Name: c.Name, Address: c.Address, Since: wall.UTC()},
		kv:     kv, id: granted.ID, time: c.Time,
	}
	if got := time.Duration(granted.TTL) * time.Second; got != c.Time {
		return nil, core.Errorf(core.BadConfig, "store: %s: lease %s: etcd grants none shorter than %s", &kv, c.Time, got).
			WithRemedy("make `lease` of `etcd` in config.hcl as long")
	}
	value, err := json.Marshal(l.Leader)
	if err != nil {
		return nil, err
	}
	key := c.Prefix + leaderKey
	won, err := c.Client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, string(value), clientv3.WithLease(l.id))).Commit()
	if err != nil {
		return nil, kv.failed(err)
	}
	if !won.Succeeded {
		return nil, l.Resign(ctx)
	}
	l.Term, l.until = won.Header.Revision, sent+c.Time
	return l, nil
}

func (c Candidate) keys() keys { return keys{client: c.Client, prefix: c.Prefix} }

// Left is how long no other server can lead. It is never too long, since etcd begins to count after Weft does.
func (l *Lease) Left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until - running()
}

// running is CLOCK_BOOTTIME. It goes on while the process is stopped or the host sleeps, and cannot be set.
func running() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // fails for a bad clock or address alone
	return time.Duration(t.Nano())
}

// lose says that another server leads although the lease lives, as after an administrator removed the leader's key.
func (l *Lease) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = 0
}

// Keep renews the lease three times in its time, and more often after a failure, since one of etcd's members may hang.
// It returns when the lease is lost or, without an error, when ctx ends.
func (l *Lease) Keep(ctx context.Context) error {
	for rest := l.time / 3; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rest):
		}
		err := l.renew(ctx)
		if rest = l.time / 3; err != nil {
			rest = l.time / 20
		}
		gone := errors.Is(err, rpctypes.ErrLeaseNotFound) || l.Left() <= 0
		if err != nil && gone && ctx.Err() == nil {
			return l.over(err)
		}
	}
}

func (l *Lease) over(err error) error {
	return core.Errorf(core.StoreFailed, "store: %s: its lease is over, and this server leads no longer: %w", &l.kv, err).
		WithRemedy("see why it was not renewed: whether etcd was slow, or this host")
}

func (l *Lease) renew(ctx context.Context) error {
	left := l.Left()
	if left <= 0 {
		return errLate
	}
	ctx, cancel := context.WithTimeout(ctx, min(left, l.time/2))
	defer cancel()
	sent := running()
	if _, err := l.kv.client.KeepAliveOnce(ctx, l.id); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until != 0 {
		l.until = sent + l.time
	}
	return nil
}

// Resign lets another server lead at once.
func (l *Lease) Resign(ctx context.Context) error {
	if _, err := l.kv.client.Revoke(ctx, l.id); err != nil {
		return l.kv.failed(err)
	}
	return nil
}
