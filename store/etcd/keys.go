package etcd

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/core"
)

// The keys below a prefix. Load needs the pages before the parts, as their names sort.
const (
	leaderKey  = "leader"
	headKey    = "head" // written with each commit, and compared by the next; its value is the system
	pagePrefix = "page/"
	partPrefix = "part/"
	probeKey   = "probe"
	movedKey   = "moved"
)

// ServerPrefix begins the keys that servers write about themselves. The store does not read them.
const ServerPrefix = "server/"

func partKey(part uint64) string { return fmt.Sprintf(partPrefix+"%016x", part) }

// keys reads and writes below a prefix, as the leader.
type keys struct {
	client  *clientv3.Client
	prefix  string
	leader  int64  // create revision of leaderKey while this server leads; 0: it does not
	cluster uint64 // etcd's id for itself; 0: no answer came yet
}

func (k *keys) String() string {
	return fmt.Sprintf("etcd %s, prefix %q", strings.Join(k.client.Endpoints(), ","), core.Clip(k.prefix))
}

// at has keys with the revision of etcd that changed each last; 0: it is not there.
type at map[string]int64

// write makes all writes or none, and only while this server leads and each key of want is as it was. It gives the
// revision of etcd that it made.
func (k *keys) write(ctx context.Context, want at, ops ...clientv3.Op) (int64, error) {
	if k.leader == 0 {
		return 0, core.Errorf(core.StoreFailed, "store: %s: this server does not lead", k)
	}
	conditions := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(k.prefix+leaderKey), "=", k.leader)}
	for key, mod := range want {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(k.prefix+key), "=", mod))
	}
	got, err := k.client.Txn(ctx).If(conditions...).Then(ops...).Else(clientv3.OpGet(k.prefix + leaderKey)).Commit()
	if err != nil {
		return 0, k.failed(err)
	}
	if err := k.same(got.Header.ClusterId); err != nil || got.Succeeded {
		return got.Header.Revision, err
	}
	leader := got.Responses[0].GetResponseRange().Kvs
	if len(leader) == 1 && leader[0].CreateRevision == k.leader {
		return 0, core.Errorf(core.StoreFailed, "store: %s: an earlier write whose answer was lost is there after all", k)
	}
	return 0, overtaken{core.Errorf(core.StoreFailed, "store: %s: this server leads no longer", k)}
}

// overtaken says that another server leads: this one never writes again.
type overtaken struct{ error }

func (o overtaken) Unwrap() error { return o.error }

// pageful is how many keys one request reads: their values are at most 32 MiB.
const pageful = 32

// pair is a key without the prefix, its value, and the revision of etcd that changed it last.
type pair struct {
	key   string
	value []byte
	mod   int64
	times int64 // it was written
}

func (k *keys) pairs(got *clientv3.GetResponse) []pair {
	out := make([]pair, len(got.Kvs))
	for i, kv := range got.Kvs {
		out[i] = pair{strings.TrimPrefix(string(kv.Key), k.prefix), kv.Value, kv.ModRevision, kv.Version}
	}
	return out
}

// each visits the keys below the prefix in order, all as they were at one revision of etcd.
func (k *keys) each(ctx context.Context, visit func(pair) error) error {
	end := clientv3.GetPrefixRangeEnd(k.prefix)
	var revision int64
	for from := k.prefix; ; {
		got, err := k.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(pageful), clientv3.WithRev(revision))
		if err != nil {
			return k.failed(err)
		}
		if err := k.same(got.Header.ClusterId); err != nil {
			return err
		}
		if revision == 0 {
			revision = got.Header.Revision
		}
		pairs := k.pairs(got)
		for _, p := range pairs {
			if err := visit(p); err != nil {
				return err
			}
		}
		if !got.More {
			return nil
		}
		from = k.prefix + pairs[len(pairs)-1].key + "\x00"
	}
}

// news is one answer of etcd about all that came after a part of the log.
type news struct {
	parts  []pair
	more   bool  // there are more parts
	head   int64 // the revision of etcd that wrote headKey last
	probe  int64 // and probeKey
	moved  int64 // and movedKey
	system string
	writes int64 // of headKey, ever
	leader Leader
	at     place
}

// place is how far etcd's own history has come.
type place struct {
	revision int64
	term     uint64 // of raft
}

func (k *keys) after(ctx context.Context, part uint64) (n news, err error) {
	end := clientv3.GetPrefixRangeEnd(k.prefix + partPrefix)
	got, err := k.client.Txn(ctx).Then(
		clientv3.OpGet(k.prefix+partKey(part+1), clientv3.WithRange(end), clientv3.WithLimit(pageful)),
		clientv3.OpGet(k.prefix+headKey),
		clientv3.OpGet(k.prefix+probeKey, clientv3.WithKeysOnly()),
		clientv3.OpGet(k.prefix+leaderKey),
		clientv3.OpGet(k.prefix+movedKey, clientv3.WithKeysOnly()),
	).Commit()
	if err != nil {
		return n, k.failed(err)
	}
	if err := k.same(got.Header.ClusterId); err != nil {
		return n, err
	}
	log := got.Responses[0].GetResponseRange()
	n.parts, n.more = k.pairs((*clientv3.GetResponse)(log)), log.More
	mod := func(i int) int64 {
		if kvs := got.Responses[i].GetResponseRange().Kvs; len(kvs) == 1 {
			return kvs[0].ModRevision
		}
		return 0
	}
	n.head, n.probe, n.moved = mod(1), mod(2), mod(4)
	if kvs := got.Responses[1].GetResponseRange().Kvs; len(kvs) == 1 {
		n.system, n.writes = string(kvs[0].Value), kvs[0].Version
	}
	n.at = place{got.Header.Revision, got.Header.RaftTerm}
	if kvs := got.Responses[3].GetResponseRange().Kvs; len(kvs) == 1 {
		n.leader, err = leader(kvs[0].Value, kvs[0].CreateRevision)
	}
	return n, err
}

// same refuses an answer of a member of another cluster, whose revisions mean nothing here.
func (k *keys) same(cluster uint64) error {
	if k.cluster == 0 {
		k.cluster = cluster
	}
	if cluster != k.cluster {
		return core.Errorf(core.StoreFailed, "store: %s: an endpoint is of another cluster: %x, want %x",
			k, cluster, k.cluster).
			WithRemedy(oneCluster)
	}
	return nil
}
