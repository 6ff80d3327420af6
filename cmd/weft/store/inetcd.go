package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/election"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/store/etcd"
	"github.com/weft-hpc/weft/store/record"
)

// inEtcd is the store of several servers.
type inEtcd struct {
	config  config.Etcd
	cluster uint64 // etcd's id for itself
}

// etcdWithin is how long etcd may take to say who it is, and a read of a whole store.
const etcdWithin = 15 * time.Second

func etcdAt(c config.Etcd) (place, error) {
	client, err := election.Dial(c)
	if err != nil {
		return nil, err
	}
	defer client.Close() //nolint:errcheck // it tells that its context was ended
	ctx, cancel := context.WithTimeout(context.Background(), etcdWithin)
	defer cancel()
	cluster, err := etcd.Cluster(ctx, client, c.Prefix)
	if err != nil {
		err = election.Explain(context.Background(), c, err)
	}
	return inEtcd{c, cluster}, err
}

func (e inEtcd) String() string {
	return fmt.Sprintf("etcd cluster %x, prefix %q", e.cluster, e.config.Prefix)
}

// inUse is a store in etcd, with this process's connections to it.
type inUse struct {
	*etcd.Store
	client *clientv3.Client
	lease  *etcd.Lease // nil: it is only read
	end    context.CancelFunc
	kept   chan struct{}
}

func (u *inUse) Close() error {
	var errs []error
	if u.Store != nil {
		errs = append(errs, u.Store.Close())
	}
	if u.lease != nil {
		u.end()
		<-u.kept
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = u.lease.Resign(ctx) // it ends by itself, too
	}
	_ = u.client.Close()
	return errors.Join(errs...)
}

func (e inEtcd) open(ctx context.Context) (stored, error) {
	client, err := election.Dial(e.config)
	if err != nil {
		return nil, err
	}
	return e.use(ctx, &inUse{client: client})
}

func (e inEtcd) use(ctx context.Context, u *inUse) (*inUse, error) {
	ctx, cancel := context.WithTimeout(ctx, etcdWithin)
	defer cancel()
	store, err := etcd.Open(ctx, etcd.Options{Client: u.client, Prefix: e.config.Prefix, Moved: true})
	if err == nil {
		if u.Store = store; u.lease != nil {
			err = store.Lead(ctx, u.lease)
		}
	}
	if err != nil {
		return nil, errors.Join(err, u.Close())
	}
	return u, nil
}

func (e inEtcd) hold(ctx context.Context) (held, error) {
	u, err := e.lead(ctx)
	if err != nil {
		return nil, err
	}
	return u, nil
}

// lead keeps every server from the store.
func (e inEtcd) lead(ctx context.Context) (*inUse, error) {
	client, err := election.Dial(e.config)
	if err != nil {
		return nil, err
	}
	u := &inUse{client: client}
	if u.lease, err = e.win(ctx, client); err != nil {
		return nil, errors.Join(err, u.Close())
	}
	kept, end := context.WithCancel(context.WithoutCancel(ctx)) // until Close
	u.end, u.kept = end, make(chan struct{})
	go func() {
		defer close(u.kept)
		_ = u.lease.Keep(kept) // the store finds that it leads no longer
	}()
	return e.use(ctx, u)
}

// winEvery is how often the end of a killed server's lease is waited for.
const winEvery = 200 * time.Millisecond

func (e inEtcd) win(ctx context.Context, client *clientv3.Client) (*etcd.Lease, error) {
	host, _ := os.Hostname()
	c := etcd.Candidate{
		Client: client, Prefix: e.config.Prefix, Name: fmt.Sprintf("weft store (process %d on %s)", os.Getpid(), host),
		Time: e.config.Lease,
	}
	for end := time.Now().Add(e.config.Lease + time.Second); ; {
		l, err := c.Win(ctx)
		if l != nil || err != nil {
			return l, err
		}
		leader, err := c.Leads(ctx)
		if err != nil {
			return nil, err
		}
		if time.Now().After(end) {
			return nil, core.Errorf(core.StoreLocked, "store: %s: server %q leads", e, core.Clip(leader.Name)).
				WithRemedy("stop all servers of this store first")
		}
		if !poll.Pause(ctx, winEvery) {
			return nil, context.Cause(ctx)
		}
	}
}

func (e inEtcd) create(ctx context.Context, from string, fill func(put func(rec []byte) error) error) error {
	u, err := e.lead(ctx)
	if err != nil {
		return err
	}
	return errors.Join(u.Fill(ctx, from, fill), u.Close())
}

func (e inEtcd) check(ctx context.Context, tell func(error)) (record.Move, error) {
	client, err := election.Dial(e.config)
	if err != nil {
		return record.Move{}, err
	}
	defer client.Close() //nolint:errcheck // as above
	return etcd.Check(ctx, etcd.Options{Client: client, Prefix: e.config.Prefix}, tell)
}
