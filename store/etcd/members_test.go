package etcd_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/store/etcd"
)

// opened opens a store with these endpoints, for which it has a while.
func opened(t *testing.T, endpoints ...string) error {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	s, err := etcd.Open(ctx, etcd.Options{Client: client, Prefix: prefix})
	if err != nil {
		t.Log(err)
		return err
	}
	return s.Close()
}

// Endpoints of two clusters are refused at once, whichever of them answers first, and so is another program. A member
// that is down is left out.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	one := etcdtest.Start(t).Client().Endpoints()[0]
	two := etcdtest.Start(t, "--initial-cluster-token", "two").Client().Endpoints()[0]
	down := etcdtest.Start(t)
	down.Kill()
	gone := down.Client().Endpoints()[0]
	err := opened(t, one, gone, two)
	refused(t, err, core.BadConfig, one+" is of cluster ")
	refused(t, err, core.BadConfig, two+" of cluster ")
	if err := opened(t, gone, one); err != nil {
		t.Error(err)
	}

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := grpc.NewServer()
	go func() { _ = other.Serve(ln) }()
	t.Cleanup(other.Stop)
	refused(t, opened(t, one, "http://"+ln.Addr().String()), core.BadConfig, ln.Addr().String()+": this is not etcd: ")

	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	err = opened(t, web.URL)
	refused(t, err, core.StoreFailed, web.URL+": it takes connections, but does not answer as etcd does")
	err = opened(t, gone, strings.Replace(web.URL, "http://", "", 1))
	refused(t, err, core.StoreFailed, "no endpoint of etcd answers: "+gone+": ")
	refused(t, err, core.StoreFailed, "; 127.0.0.1:")
}
