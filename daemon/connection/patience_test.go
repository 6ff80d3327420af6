package connection

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-hpc/weft/poll"
)

// Where all servers are late since all nodes come at once, a node waits longer each time. Once it was connected, it
// leaves a server that was stopped at once.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := 3 * time.Second // to connect
		ln := bufconn.Listen(1 << 16)
		dial := func(ctx context.Context, _ string) (net.Conn, error) {
			if !poll.Pause(ctx, takes) {
				return nil, ctx.Err()
			}
			return ln.DialContext(ctx)
		}
		g := grpc.NewServer()
		var serving sync.WaitGroup
		serving.Go(func() { _ = g.Serve(ln) })
		defer serving.Wait()
		defer g.Stop()
		var p patience
		attempt := func() (took time.Duration, ok bool) {
			conn, err := grpc.NewClient("passthrough:///server:1", grpc.WithContextDialer(dial),
				grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			began := time.Now()
			ok = p.connected(t.Context(), conn)
			return time.Since(began), ok
		}
		for _, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
			if took, ok := attempt(); ok || took != want {
				t.Errorf("%v, %v, want %v", took, ok, want)
			}
		}
		if took, ok := attempt(); !ok || took != takes {
			t.Errorf("%v, %v: it gave up before the server's answer", took, ok)
		}
		takes = time.Hour
		if took, ok := attempt(); ok || took != leastPatience {
			t.Errorf("%v, %v from a server that was stopped", took, ok)
		}
		for range 20 {
			if took, _ := attempt(); took > handshake {
				t.Errorf("it waits %v", took)
			}
		}
	})
}
