package connection

import (
	"net"
	"runtime"
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

// A node that has gone away by its turn gets none.
func TestAHandshakeOfANodeThatLeft(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, leaves := range []bool{true, false} {
		here, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer here.Close()
		there, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer there.Close()
		p := &paced{Conn: &counted{Conn: there}, turns: make(chan struct{}, 1)}
		p.turns <- struct{}{} // another has its turn
		if _, err := here.Write([]byte("a")); err != nil {
			t.Fatal(err)
		}
		read := make(chan error)
		go func() {
			_, err := p.Read(make([]byte, 1))
			read <- err
		}()
		if leaves {
			here.Close()
			for !left(there) {
				runtime.Gosched()
			}
		}
		<-p.turns
		if err := <-read; (err != nil) != leaves {
			t.Errorf("where the node leaves (%v): %v", leaves, err)
		}
		p.end()
	}
}
