package etcd

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// askWithin is how long an endpoint may take to say which cluster it is of. One that is down is left out.
const askWithin = time.Second

// Cluster is etcd's id for itself. It refuses endpoints that are not of one etcd, as Open does.
func Cluster(ctx context.Context, client *clientv3.Client, prefix string) (uint64, error) {
	k := keys{client: client, prefix: prefix}
	answered, err := k.members(ctx)
	if err != nil {
		return 0, err
	}
	got, err := client.Get(ctx, prefix+leaderKey, clientv3.WithCountOnly())
	switch {
	case err == nil:
		return got.Header.ClusterId, nil
	case !answered && ctx.Err() != nil:
		return 0, k.silent()
	}
	return 0, k.failed(err)
}

// members asks every endpoint which cluster it is of. It refuses those of several clusters, and one that is not etcd's.
// It reports whether any of them answered.
func (k *keys) members(ctx context.Context) (answered bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	endpoints := k.client.Endpoints()
	clusters, errs := make([]uint64, len(endpoints)), make([]error, len(endpoints))
	var all sync.WaitGroup
	for i, e := range endpoints {
		all.Go(func() {
			var got *clientv3.StatusResponse
			if got, errs[i] = k.client.Status(ctx, e); errs[i] == nil {
				clusters[i] = got.Header.ClusterId
			}
		})
	}
	all.Wait()
	first := -1
	for i, e := range endpoints {
		switch {
		case status.Code(errs[i]) == codes.Unimplemented:
			return true, core.Errorf(core.BadConfig, "store: etcd %s: this is not etcd: %w", e, errs[i]).
				WithRemedy(endpointsRemedy)
		case errs[i] != nil:
		case first < 0:
			first = i
		case clusters[i] != clusters[first]:
			return true, core.Errorf(core.BadConfig, "store: etcd: %s is of cluster %x, and %s of cluster %x",
				endpoints[first], clusters[first], e, clusters[i]).WithRemedy(oneCluster)
		}
	}
	return first >= 0, nil
}

const (
	endpointsRemedy = "name the client URLs of etcd's members in `etcd { endpoints }`, https where they use TLS"
	oneCluster      = "name the members of one etcd cluster in `etcd { endpoints }`"
)

// silent says what each endpoint does, where none answers.
func (k *keys) silent() error {
	var each []string
	for _, e := range k.client.Endpoints() {
		network, address := "tcp", e
		if scheme, rest, ok := strings.Cut(e, "://"); ok {
			if address = rest; strings.HasPrefix(scheme, "unix") {
				network = "unix"
			}
		}
		does := "it takes connections, but does not answer as etcd does"
		conn, err := net.DialTimeout(network, address, askWithin)
		if err == nil {
			_ = conn.Close()
		} else if op, ok := errors.AsType[*net.OpError](err); ok {
			does = file.Bare(op.Err).Error()
		} else {
			does = err.Error()
		}
		each = append(each, e+": "+does)
	}
	return core.Errorf(core.StoreFailed, "store: no endpoint of etcd answers: %s", strings.Join(each, "; ")).
		WithRemedy(endpointsRemedy + "; `systemctl status etcd` on those hosts")
}
