package connection

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
)

// patience is how long one of several servers may take for a handshake before the next one is tried. A server that was
// stopped never ends one. A server to which all nodes of a system come at once ends them late: a node that gives up
// takes its time for nothing, and comes back. So each attempt in vain doubles the time, up to the server's own limit.
type patience struct{ failures atomic.Int32 }

const leastPatience = 500 * time.Millisecond

// connected ends the connection's pause, waits for the connection, and reports whether it is there.
func (p *patience) connected(ctx context.Context, conn *grpc.ClientConn) bool {
	ctx, cancel := context.WithTimeout(ctx, min(leastPatience<<min(p.failures.Load(), 10), handshake))
	defer cancel()
	conn.Connect()
	s := conn.GetState()
	for s != connectivity.Ready && s != connectivity.TransientFailure && conn.WaitForStateChange(ctx, s) {
		s = conn.GetState()
	}
	ready := s == connectivity.Ready
	if ready {
		p.failures.Store(0)
	} else if s == connectivity.Connecting {
		p.failures.Add(1)
	}
	return ready
}
