package connection

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/rpc"
)

// followRest is the least pause between two questions who leads. A server answers them once another one leads.
const followRest = time.Second

// followOne is how long a site's only server is not asked: a reload may bring more.
const followOne = 10 * time.Second

// Follow asks one of the servers with which there is no session who leads, while ctx lasts. Where another server leads
// than the one of the session, it ends the session and calls found. So an agent learns of it even where the server of
// its session was stopped, or does not answer.
func (l *Link) Follow(ctx context.Context, found func()) {
	turn := 1 + rand.IntN(1<<16) // the agents of a system spread over the servers
	failures := 0
	for {
		rest := followRest<<min(failures, 3) + rand.N(followRest)
		at, address, ok := l.other(turn)
		if !ok {
			rest = followOne
		} else if l.follow(ctx, at, address) {
			found()
			failures = 0
		} else {
			turn++
			failures++
		}
		if !poll.Pause(ctx, rest) {
			return
		}
	}
}

// other is a server without the session.
func (l *Link) other(turn int) (at int, address string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.addresses)
	if n < 2 {
		return 0, "", false
	}
	at = (l.at + 1 + turn%(n-1)) % n
	return at, l.addresses[at], true
}

// follow asks a server until another leads. The session can go on with that server's connection.
func (l *Link) follow(ctx context.Context, at int, address string) (found bool) {
	ends := l.expiry()
	conn, err := l.dial(address)
	if err != nil {
		return false
	}
	keep := false
	defer func() {
		if !keep {
			_ = conn.Close()
		}
	}()
	several, ok := rpc.NewAuthority(conn).(core.Succession)
	if !ok || !l.patience.connected(ctx, conn) {
		return false
	}
	l.mu.Lock()
	seen := l.seen
	if l.told.Store != "" && (l.told.Store != seen.Store || l.told.Epoch > seen.Epoch) {
		seen = l.told // one leader moves a session once
	}
	l.mu.Unlock()
	// The server counts the connection by its certificate, which may be renewed.
	ctx, cancel := context.WithTimeout(ctx, renewal/2+rand.N(renewal))
	defer cancel()
	head, err := several.Await(ctx, "", seen)
	if err != nil {
		return false
	}
	if keep = l.follows(at, address, conn, head); keep {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ends = ends
	}
	return keep
}

// follows moves the session to a server that has told head of a newer leader, unless the session has seen it.
func (l *Link) follows(at int, address string, conn *grpc.ClientConn, head core.Head) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := head == l.told || head.Store == l.seen.Store && head.Epoch <= l.seen.Epoch
	if known || at >= len(l.addresses) || l.addresses[at] != address {
		return false
	}
	l.told = head
	_ = l.use(at, conn)
	return true
}
