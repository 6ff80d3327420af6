package connection

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/credentials"
)

// slow credentials read two bytes of a handshake, and compute for a second after each.
type slow struct {
	credentials.TransportCredentials
	now, most atomic.Int32 // that compute
}

func (s *slow) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	for range 2 {
		if _, err := c.Read(make([]byte, 1)); err != nil {
			return nil, nil, err
		}
		s.most.Store(max(s.most.Load(), s.now.Add(1)))
		time.Sleep(time.Second)
		s.now.Add(-1)
	}
	return c, nil, nil
}

// Handshakes compute one after the other. One that says nothing after its first byte keeps no other waiting.
func TestHandshakesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		creds := &slow{}
		b := NewBounds(newJournal().logger())
		b.turns = make(chan struct{}, 1)
		var all sync.WaitGroup
		knock := func(bytes string) net.Conn {
			here, there := net.Pipe()
			all.Go(func() { _, _, _ = bounded{creds, b}.ServerHandshake(there) })
			all.Go(func() { _, _ = here.Write([]byte(bytes)) })
			return here
		}
		began := time.Now()
		silent := knock("a")
		for range 5 {
			defer knock("ab").Close()
		}
		time.Sleep(11*time.Second + time.Millisecond)
		synctest.Wait()
		if n := creds.most.Load(); n != 1 || creds.now.Load() != 0 || len(b.turns) != 0 {
			t.Errorf("%d handshakes computed at a time, and %d still do", n, creds.now.Load())
		}
		silent.Close()
		all.Wait()
		if took := time.Since(began); took > 13*time.Second {
			t.Errorf("all took %v", took)
		}
	})
}
