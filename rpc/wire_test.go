package rpc

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// wire serves what register registers and connects to it, in memory.
func wire(t testing.TB, register func(*grpc.Server), options ...grpc.ServerOption) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	return serve(t, l, func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }, register, options...)
}

func serve(t testing.TB, l net.Listener, dial func(context.Context, string) (net.Conn, error), register func(*grpc.Server), options ...grpc.ServerOption) *grpc.ClientConn {
	t.Helper()
	if len(options) == 0 {
		options = PluginOptions()
	}
	server := grpc.NewServer(options...)
	register(server)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	conn, err := grpc.NewClient("passthrough:///plugin", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		<-served
	})
	return conn
}

func insecureCreds() credentials.TransportCredentials { return insecure.NewCredentials() }
