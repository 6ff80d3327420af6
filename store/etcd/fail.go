package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/weft-hpc/weft/core"
)

// errRead says that the image was read again during a save.
var errRead = core.Errorf(core.StoreFailed, "store: etcd: it was read again")

// remedies are the failures of etcd that somebody can do something about.
var remedies = []struct {
	errs     []error
	says, do string
}{
	{[]error{rpctypes.ErrNoSpace}, "etcd has no space left, and takes no writes",
		"compact and defragment its members, then `etcdctl alarm disarm`; see whether its --quota-backend-bytes is enough"},
	{[]error{rpctypes.ErrAuthFailed, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision}, "etcd refuses this user or password",
		"see `user` and `password_file` of `etcd` in config.hcl, and `etcdctl user list`"},
	{[]error{rpctypes.ErrPermissionDenied}, "etcd does not let this user read and write below the prefix", "grant its role `readwrite` on the prefix with `etcdctl role grant-permission --prefix=true`"},
	{[]error{rpctypes.ErrNoLeader, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrNotCapable, rpctypes.ErrLeaderChanged},
		"etcd has no leader", "bring back a majority of its members: `etcdctl endpoint status --cluster`"},
	{[]error{rpctypes.ErrRequestTooLarge, rpctypes.ErrTooManyOps}, "etcd takes less in a request than by default", "leave --max-request-bytes and --max-txn-ops of its members as they are by default, or higher"},
	{[]error{rpctypes.ErrCorrupt}, "etcd has found its members' data to differ", "see `etcdctl alarm list`, and restore the member that is damaged"},
	{[]error{context.DeadlineExceeded}, "etcd did not answer in time", "see whether a majority of its members runs: `etcdctl endpoint status --cluster`"},
}

// failed says which of these it was, and keeps etcd's own words.
func (k *keys) failed(err error) error {
	own := rpctypes.Error(err)
	for _, r := range remedies {
		for _, e := range r.errs {
			if errors.Is(own, e) || errors.Is(err, e) {
				return core.Errorf(core.StoreFailed, "store: %s: %s: %w", k, r.says, err).WithRemedy(r.do)
			}
		}
	}
	return core.Errorf(core.StoreFailed, "store: %s: %w", k, err).WithRemedy("see whether these endpoints are etcd's, and the certificates' files")
}
