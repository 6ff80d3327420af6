package connection

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/rpc"
)

// Link is an agent's connection to the server, or to the one of several that leads. A reload may move it.
type Link struct {
	certs *identity.Source
	dial  func(address string) (*grpc.ClientConn, error)

	mu        sync.Mutex
	addresses []string
	at        int       // of these
	ends      time.Time // of the certificate that was in the files when it was connected
	conn      *grpc.ClientConn
	to        core.Authority
	hurry     time.Time     // before which the connection's pause is not ended once more
	seen      core.Head     // the newest that a server has shown
	told      core.Head     // for which Follow moved the session
	news      chan struct{} // closed when there is another connection, or a session
	patience  patience
	spare     map[string]*grpc.ClientConn // to servers that did not lead, by address, until a session begins
}

func NewLink(addresses []string, certs *identity.Source) (*Link, error) {
	l := &Link{certs: certs}
	l.dial = func(address string) (*grpc.ClientConn, error) { return Dial(address, certs) }
	return l, l.Move(addresses)
}

// several reports whether there is more than one server.
func (l *Link) several() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.addresses) > 1
}

// Move connects to one of some addresses. What was asked at the one before ends as if that server had gone away.
func (l *Link) Move(addresses []string) error {
	if len(addresses) == 0 {
		return core.Errorf(core.BadConfig, "agent: server: it is missing").
			WithRemedy(`add server = "HOST:PORT" to the agent block of config.hcl, or servers = ["HOST:PORT", …]`)
	}
	for _, a := range addresses {
		if _, _, err := net.SplitHostPort(a); err != nil {
			return core.Errorf(core.BadConfig, "agent: server %s: %w", a, err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil && slices.Contains(addresses, l.addresses[l.at]) {
		l.at, l.addresses = slices.Index(addresses, l.addresses[l.at]), slices.Clone(addresses)
		return nil
	}
	l.addresses = slices.Clone(addresses)
	return l.move(0)
}

// move connects to an address. Its caller holds the lock.
func (l *Link) move(at int) error {
	l.drop()
	l.ends = l.expiry() // before the handshake: what is renewed meanwhile is noticed later
	conn, err := l.dial(l.addresses[at])
	if err != nil {
		return err
	}
	return l.use(at, conn)
}

// expiry is the end of the certificate in the files; zero: there is none.
func (l *Link) expiry() time.Time {
	if l.certs == nil {
		return time.Time{}
	}
	return l.certs.Expiry()
}

// use replaces the connection. Its caller holds the lock.
func (l *Link) use(at int, conn *grpc.ClientConn) error {
	before := l.conn
	l.at, l.conn, l.to = at, conn, rpc.NewAuthority(conn)
	l.wake()
	if before != nil {
		return before.Close()
	}
	return nil
}

// wake has waiting hooks ask at once. Its caller holds the lock.
func (l *Link) wake() {
	if l.news != nil {
		close(l.news)
	}
	l.news = make(chan struct{})
}

// Renew connects anew when this node's certificate was renewed: the server knows a certificate by the handshake alone, and that of this
// connection may end.
func (l *Link) Renew() (renewed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.certs.Expiry(); now.Equal(l.ends) {
		return false, nil
	}
	return true, l.move(l.at)
}

// renewal is the pause between two looks at whether this node's certificate was renewed.
const renewal = time.Hour

// Keep renews the connection with the certificate while ctx lasts.
func (l *Link) Keep(ctx context.Context, log *slog.Logger) {
	if !poll.Pause(ctx, rand.N(renewal)) { // the nodes of a system do not all come anew in the same moment
		return
	}
	for {
		switch renewed, err := l.Renew(); {
		case err != nil:
			log.Error("the renewed certificate cannot be used", core.LogError, err)
		case renewed:
			log.Info("this node's certificate was renewed; the server is connected to with it", core.LogLimit, l.certs.Expiry().UTC().Format(time.RFC3339))
		}
		if !poll.Pause(ctx, renewal) {
			return
		}
	}
}

func (l *Link) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
	return l.conn.Close()
}

// drop ends the spare connections. Its caller holds the lock.
func (l *Link) drop() {
	for _, conn := range l.spare {
		_ = conn.Close()
	}
	l.spare = map[string]*grpc.ClientConn{}
}

func (l *Link) now() (core.Authority, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to, l.news
}

// How long a hook pauses before it asks a server again that is away: from the least to the most, and half of that more at random, since all nodes of a job
// wait together.
const (
	awayLeast = 100 * time.Millisecond
	awayMost  = 2 * time.Second
	awayConn  = time.Second            // the most while there is no connection, where to ask costs nothing; and at least so long from one hurried attempt to the next
	awayLast  = 250 * time.Millisecond // before a hook's end it is told why
)

// Reserve implements core.Authority. A server that is away, or that has not heard of this node yet, is asked again for as long as the hook waits.
func (l *Link) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	for wait := awayLeast; ; wait = min(2*wait, awayMost) {
		to, news := l.now()
		g, err := to.Reserve(ctx, node, ask, peer)
		if err == nil || ctx.Err() != nil {
			return g, err
		}
		if now, _ := l.now(); to != now {
			err = core.Errorf(core.ServerAway, "server: the agent connected anew meanwhile: %w", err)
		}
		r := core.AsError(err).Reason
		switch {
		case r == core.ServerAway || r == core.NodeAway || r == core.Recovering: // nodes report within seconds
		case r == core.StoreFailed && l.several(): // another server leads soon
		default:
			return g, err
		}
		pause := wait + rand.N(wait/2)
		if r == core.ServerAway {
			l.reconnect()
			pause = min(pause, awayConn)
		}
		if end, ok := ctx.Deadline(); ok {
			if pause = min(pause, time.Until(end)-awayLast); pause <= 0 {
				return g, err
			}
		}
		select {
		case <-time.After(pause):
		case <-news:
			wait = awayLeast
		case <-ctx.Done():
			return g, err
		}
	}
}

// reconnect soon ends the connection's pause before it tries again, which may be longer than a hook waits. The nodes of a job that wait together do not come
// back in the same moment.
func (l *Link) reconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.conn != nil && !now.Before(l.hurry) {
		pause := rand.N(awayConn / 4)
		l.hurry = now.Add(pause + awayConn)
		time.AfterFunc(pause, l.anew)
	}
}

// anew replaces a connection that pauses after a failure. gRPC can end that pause, but its ResetConnectBackoff reads a map
// without its lock (clientconn.go, release 1.85.0).
func (l *Link) anew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn.GetState() == connectivity.TransientFailure {
		_ = l.move(l.at)
	}
}

// Attend implements core.Authority. The agent's pauses decide when the server is tried: those of the connection, which
// an outage makes as long, would come on top. Of several servers the next one is tried then.
func (l *Link) Attend(ctx context.Context, node string, first core.Report, next <-chan core.Report, told func(core.Orders)) error {
	l.anew()
	l.mu.Lock()
	conn, to, several := l.conn, l.to, len(l.addresses) > 1
	l.mu.Unlock()
	l.note(first.Seen)
	if !l.patience.connected(ctx, conn) && several {
		l.next(conn)
		return core.Errorf(core.ServerAway, "server %s: it does not answer", conn.CanonicalTarget())
	}
	begun := sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.drop()
		l.wake()
	})
	err := to.Attend(ctx, node, first, next, func(o core.Orders) {
		begun()
		l.note(o.Head)
		told(o)
	})
	if several && core.ReasonOf(err) == core.ServerAway {
		l.next(conn)
	}
	return err
}

// note keeps the newest head.
func (l *Link) note(h core.Head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.Store != "" && (h.Store != l.seen.Store || h.Epoch > l.seen.Epoch) {
		l.seen = h
	}
}

// next goes on to the next server, unless conn was replaced meanwhile. While no server leads, the nodes of a system ask
// one after the other: a handshake each time would keep the servers from anything else.
func (l *Link) next(conn *grpc.ClientConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := (l.at + 1) % len(l.addresses)
	if l.conn != conn {
		return
	}
	if ends := l.expiry(); !ends.Equal(l.ends) {
		l.drop()
		l.ends = ends
	}
	other, ok := l.spare[l.addresses[at]]
	if !ok {
		var err error
		if other, err = l.dial(l.addresses[at]); err != nil {
			return
		}
	}
	delete(l.spare, l.addresses[at])
	if conn.GetState() == connectivity.Ready {
		l.spare[l.addresses[l.at]], l.conn = conn, nil
	}
	_ = l.use(at, other)
}

// Dial makes a connection to a server. It connects by itself, with pauses that grow and jitter.
func Dial(address string, certs *identity.Source) (*grpc.ClientConn, error) {
	hostname, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "agent: server %s: %w", address, err)
	}
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(credentials.NewTLS(certs.Client(hostname))),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.5, MaxDelay: 15 * time.Second}, MinConnectTimeout: handshake}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithReadBufferSize(0), // as on the server's side
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connWindow),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(rpc.MaxPlugin)),
	)
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "agent: server %s: %w", address, err)
	}
	return conn, nil
}
