package etcd

import (
	"context"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-hpc/weft/core"
)

// errRead says that the image was read again during a save.
var errRead = core.Errorf(core.StoreFailed, "store: etcd: it was read again")

// failure is a failure of etcd that an administrator can end.
type failure struct {
	says   string
	remedy string
	errs   []error
}

const members = "`etcdctl endpoint status --cluster` shows its members: bring back a majority"

var failures = []failure{
	{"etcd has no space left, and takes no writes",
		"compact and defragment its members, then `etcdctl alarm disarm`; see their --quota-backend-bytes",
		[]error{rpctypes.ErrNoSpace}},
	{"etcd refuses this user or password",
		"see `user` and `password_file` of `etcd` in config.hcl, and `etcdctl user list`",
		[]error{
			rpctypes.ErrAuthFailed, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrInvalidAuthToken,
			rpctypes.ErrAuthOldRevision,
		}},
	{"etcd does not let this user read and write below the prefix",
		"grant its role `readwrite` on the prefix with `etcdctl role grant-permission --prefix=true`",
		[]error{rpctypes.ErrPermissionDenied}},
	{"etcd has no leader", members,
		[]error{
			rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail,
			rpctypes.ErrTimeoutDueToConnectionLost,
		}},
	{"etcd takes less in a request than by default",
		"give its members no smaller --max-request-bytes and --max-txn-ops than by default",
		[]error{rpctypes.ErrRequestTooLarge, rpctypes.ErrTooManyOps}},
	{"the data of etcd's members differ", "see `etcdctl alarm list`, and restore the damaged member",
		[]error{rpctypes.ErrCorrupt}},
	{"etcd has compacted the revisions that were being read",
		"try again; if it comes again, see what else compacts this etcd",
		[]error{rpctypes.ErrCompacted}},
	{"etcd did not answer in time", members, []error{context.DeadlineExceeded}},
}

// failed says which of these it was, and keeps etcd's own words.
func (k *keys) failed(err error) error {
	for _, f := range failures {
		for _, e := range f.errs {
			if errors.Is(rpctypes.Error(err), e) || errors.Is(err, e) {
				return core.Errorf(core.StoreFailed, "store: %s: %s: %w", k, f.says, err).WithRemedy(f.remedy)
			}
		}
	}
	if status.Code(err) == codes.Unavailable && !strings.Contains(err.Error(), "handshake") {
		return core.Errorf(core.StoreFailed, "store: %s: the connection to etcd broke: %w", k, err).WithRemedy(members)
	}
	return core.Errorf(core.StoreFailed, "store: %s: %w", k, err).
		WithRemedy("see whether these endpoints are etcd's, and the files of the certificates")
}
