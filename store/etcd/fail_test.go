package etcd

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/etcdtest"
)

// A reading of revisions that another program compacts meanwhile says so.
func TestCompacted(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	var last int64
	for range 3 {
		put, err := client.Put(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		last = put.Header.Revision
	}
	if _, err := client.Compact(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	_, err := client.Get(t.Context(), "a", clientv3.WithRev(last-1))
	kv := keys{client: client}
	e := core.AsError(kv.failed(err))
	if e.Reason != core.StoreFailed || e.Remedy != "try again; if it comes again, see what else compacts this etcd" {
		t.Errorf("%v", e.Line())
	}
}

// A call that a member's end cuts off asks for the members; one whose certificate is refused asks for the files.
func TestABrokenConnection(t *testing.T) {
	const files = "see whether these endpoints are etcd's, and the files of the certificates"
	kv := keys{client: clientv3.NewCtxClient(t.Context())}
	for text, remedy := range map[string]string{
		"error reading from server: EOF": members,
		`connection error: desc = "transport: authentication handshake failed: tls: unknown authority"`: files,
	} {
		if e := core.AsError(kv.failed(status.Error(codes.Unavailable, text))); e.Remedy != remedy {
			t.Errorf("%s: %v, with the remedy %q", text, e.Line(), e.Remedy)
		}
	}
}
