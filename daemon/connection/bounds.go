// Package connection joins agents and server by mutual TLS: the server's port with its bounds, and the agent's one link to it.
package connection

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/throttle"
)

// Bounds of what one node, and all together, can take of the server. A node is a machine on which users run what they like, and may be theirs.
const (
	maxConnections = 4   // of one node: an agent has one, and a new one before the old is known to be dead
	maxStreams     = 512 // calls at a time on one connection: each is a job that starts
	maxRate        = 200 // messages a second of one node; a node starts some jobs a second
	maxBurst       = 2000
	maxStrangers   = 4096             // connections that have not yet proved who they are
	handshake      = 10 * time.Second // in which they must have
)

// What may be on its way on one call and on one connection, in bytes, in each direction. Left to itself gRPC measures the line with a ping for each message
// that comes alone, which more than doubles what a reservation sends, and lets one connection have 16 MiB.
const (
	streamWindow = 64 << 10
	connWindow   = 256 << 10
)

// Bounds counts what nodes take. Its zero value is not ready: see NewBounds.
type Bounds struct {
	now     func() time.Time
	after   func(time.Duration, func()) (stop func() bool)
	log     *slog.Logger
	refused throttle.Lines // connections
	turns   chan struct{}  // of handshakes

	mu    sync.Mutex
	nodes map[string]*nodeUse
}

// nodeUse is what one node takes. There are as many as the site's authority has signed nodes.
type nodeUse struct {
	connections int
	parked      int
	ends        time.Time // of the certificate that it showed last
	tokens      float64
	at          time.Time
}

func NewBounds(log *slog.Logger) *Bounds {
	after := func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	return &Bounds{now: time.Now, after: after, log: log, refused: throttle.Lines{Burst: 20, Every: 10 * time.Second}, nodes: map[string]*nodeUse{},
		turns: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// refuse tells of a connection that was refused. Whoever reaches the port can bring that about.
func (b *Bounds) refuse(from net.Conn, err error) {
	leftOut, ok := b.refused.Take(b.now())
	if !ok {
		return
	}
	attrs := []any{core.LogAddress, from.RemoteAddr().String(), core.LogError, why(err)}
	if leftOut > 0 {
		attrs = append(attrs, core.LogLeftOut, leftOut)
	}
	b.log.Warn("a connection to the port for nodes was refused", attrs...)
}

// why is what was wrong with a connection, without what stands before it in every case: "certificate has expired …: current time … is after …" is no longer
// than it must be to be read to its end. A stranger can put little of his own into it, and no more than maxWhy bytes.
func why(err error) string {
	s := strings.TrimPrefix(err.Error(), "tls: failed to verify certificate: ")
	if len(s) > maxWhy {
		s = strings.ToValidUTF8(s[:maxWhy], "") + "…"
	}
	return s
}

const maxWhy = 200

// Shown gives when the certificates end that the nodes which are connected have shown, and those that have ended of late: whoever looks for a node that is
// away must see why.
func (b *Bounds) Shown() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(map[string]time.Time, len(b.nodes))
	for node, u := range b.nodes {
		if over := b.now().Sub(u.ends); u.connections > 0 || over >= 0 && over < server.ExpiresSoon {
			out[node] = u.ends
		}
	}
	return out
}

// FirstExpiry is the first of these ends; zero: there is none.
func (b *Bounds) FirstExpiry() (first time.Time) {
	for _, t := range b.Shown() {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	return first
}

// use is a node's; b.mu is held.
func (b *Bounds) use(node string) *nodeUse {
	u := b.nodes[node]
	if u == nil {
		u = &nodeUse{tokens: maxBurst, at: b.now()}
		b.nodes[node] = u
	}
	return u
}

// enter counts a connection of a node, whose certificate ends at ends.
func (b *Bounds) enter(node string, ends time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.use(node)
	if u.connections >= maxConnections {
		return core.Errorf(core.Overloaded, "node %s: it has %d connections and may have no more", node, u.connections).WithRemedy("see whether several agents run with its certificate")
	}
	u.connections++
	u.ends = ends
	return nil
}

func (b *Bounds) leave(node string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.use(node).connections--
}

// spend takes a message's share of the node's rate; it gives how long the message must wait for it.
func (b *Bounds) spend(node string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	u, now := b.use(node), b.now()
	u.tokens = min(maxBurst, u.tokens+maxRate*now.Sub(u.at).Seconds())
	u.at = now
	u.tokens--
	if u.tokens >= 0 {
		return 0
	}
	return time.Duration(-u.tokens / maxRate * float64(time.Second))
}

// refund gives back what spend took of a message that is refused instead of waiting.
func (b *Bounds) refund(node string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.use(node).tokens++
}

// unary refuses a call that comes too fast: its hook comes again within its own time limit.
func (b *Bounds) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	node, err := caller(ctx)
	if err != nil {
		return handler(ctx, req) // which refuses it in its own words
	}
	wait := b.spend(node)
	if wait == 0 {
		return handler(ctx, req)
	}
	if deadline, ok := ctx.Deadline(); wait > time.Second || ok && b.now().Add(wait).After(deadline) {
		b.refund(node)
		return nil, status.Errorf(codes.ResourceExhausted, "node %s: it makes more than %d calls a second", node, maxRate)
	}
	if !poll.Pause(ctx, wait) {
		return nil, ctx.Err()
	}
	return handler(ctx, req)
}

// stream slows a session down whose reports come too fast: what waits fills the connection's window, and then the node's own queue.
func (b *Bounds) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	node, err := caller(ss.Context())
	if err != nil {
		return handler(srv, ss)
	}
	return handler(srv, &slowed{ServerStream: ss, bounds: b, node: node})
}

type slowed struct {
	grpc.ServerStream
	bounds *Bounds
	node   string
}

func (s *slowed) RecvMsg(m any) error {
	if wait := s.bounds.spend(s.node); wait > 0 && !poll.Pause(s.Context(), wait) {
		return s.Context().Err()
	}
	return s.ServerStream.RecvMsg(m)
}
