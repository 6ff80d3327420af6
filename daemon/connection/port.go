package connection

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/rpc"
)

// Port is where the server listens for agents. Who they are is what their certificates say.
type Port struct {
	net.Listener
	Certs  *identity.Source
	Bounds *Bounds
}

// Listen opens the port that config.hcl names, with the certificates of its folder.
func Listen(c config.Server, bounds *Bounds) (*Port, error) {
	certs, err := identity.Open(c.TLS, "server")
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "server: listen %s: %w", c.Listen, err)
	}
	return &Port{ln, certs, bounds}, nil
}

// Serve has to answer agents until ctx ends, and closes the port.
func (p *Port) Serve(ctx context.Context, to core.Authority) error {
	g := grpc.NewServer(append(rpc.AuthorityOptions(), nodeOptions(credentials.NewTLS(p.Certs.Server()), p.Bounds)...)...)
	rpc.ServeAuthority(g, p.Bounds.park(to), caller)
	stop := context.AfterFunc(ctx, g.Stop)
	defer stop()
	if err := g.Serve(newGate(p.Listener, maxStrangers, p.Bounds)); err != nil && ctx.Err() == nil {
		return core.Errorf(core.InternalFault, "server: listen %s: %w", p.Addr(), err)
	}
	return nil
}

// caller is the node whose certificate the connection has.
func caller(ctx context.Context) (string, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "", core.Errorf(core.NotAllowed, "node: the connection has no peer")
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return "", core.Errorf(core.NotAllowed, "node: the connection has no verified certificate")
	}
	return identity.Node(info.State.VerifiedChains[0][0])
}

// nodeOptions are the bounds of the server's port.
func nodeOptions(creds credentials.TransportCredentials, b *Bounds) []grpc.ServerOption {
	return []grpc.ServerOption{
		// A system has a connection for each of its nodes, most of which say nothing for minutes: 64 KiB of buffers for each would be most of the server's memory.
		// TLS keeps what it has read of a record, so that to read without another buffer costs no further call to the kernel.
		grpc.ReadBufferSize(0),        // of writing they share theirs, by grpc's default
		grpc.WriteBufferSize(4 << 10), // what is told here is a few hundred bytes; in a storm each connection writes at once, and takes a buffer of its own
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connWindow),
		grpc.Creds(bounded{creds, b}), grpc.ConnectionTimeout(handshake), grpc.MaxConcurrentStreams(maxStreams),
		grpc.ChainUnaryInterceptor(b.unary), grpc.ChainStreamInterceptor(b.stream),
		// Without a policy gRPC takes an agent's keepalive, every 30 s, for an attack and ends its session.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
}
