package connection

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/rpc"
)

// post is the server's port for nodes, with an Authority that refuses every job.
type post struct {
	dir     string
	address string
	bounds  *Bounds
	log     *journal
}

func openPost(t *testing.T) *post {
	t.Helper()
	p := &post{dir: t.TempDir(), log: newJournal()}
	if err := identity.Init(p.dir, []string{"127.0.0.1"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	p.bounds = NewBounds(p.log.logger())
	g := grpc.NewServer(append(rpc.AuthorityOptions(), nodeOptions(credentials.NewTLS(p.source(t, "server").Server()), p.bounds)...)...)
	rpc.ServeAuthority(g, quiet{}, caller)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = ln.Addr().String()
	served := make(chan error)
	go func() { served <- g.Serve(newGate(ln, 8, p.bounds)) }()
	t.Cleanup(func() { g.Stop(); <-served })
	return p
}

func (p *post) source(t *testing.T, name string) *identity.Source {
	t.Helper()
	s, err := identity.Open(p.dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A connection that is refused leaves a line that says from where and why, whatever was wrong with it; one that knocks without end does not fill the log.
func TestARefusedConnectionIsInTheLog(t *testing.T) {
	p := openPost(t)
	knock := func(say func(net.Conn)) {
		t.Helper()
		c, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		say(c)
		_, _ = io.Copy(io.Discard, c) // until the server has closed it
	}
	knock(func(c net.Conn) { _, _ = c.Write([]byte("GET / HTTP/1.0\r\n\r\n")) })
	if got := p.log.await(t, "refused", 1); len(got) != 1 || !strings.Contains(got[0], "address=127.0.0.1:") || !strings.Contains(got[0], "TLS handshake") {
		t.Errorf("of plain TCP the log says %q", got)
	}
	knock(func(c net.Conn) {
		s := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if s.Handshake() == nil {
			_, _ = s.Read(make([]byte, 1))
		}
	})
	if got := p.log.await(t, "certificate", 1); len(got) != 1 {
		t.Errorf("of a caller without a certificate the log says %q", got)
	}
	for range 100 {
		knock(func(c net.Conn) { _, _ = c.Write([]byte("GET / HTTP/1.0\r\n\r\n")) })
	}
	if n := len(p.log.await(t, "refused", 20)); n > 60 {
		t.Errorf("102 connections that were refused left %d lines", n)
	}
}

// A certificate that has ended opens no connection, and keeps none open.
func TestAConnectionEndsWithItsCertificate(t *testing.T) {
	p := openPost(t)
	type timer struct {
		after time.Duration
		do    func()
	}
	set, stopped := make(chan timer, 2), make(chan bool, 2)
	p.bounds.after = func(d time.Duration, f func()) func() bool {
		set <- timer{d, f}
		return func() bool { stopped <- true; return true }
	}
	if err := identity.IssueNode(p.dir, "n1", time.Now()); err != nil {
		t.Fatal(err)
	}
	certs := p.source(t, "n1")
	connect := func() (*tls.Conn, timer) {
		t.Helper()
		config := certs.Client("127.0.0.1")
		c, err := tls.Dial("tcp", p.address, config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		select {
		case s := <-set:
			return c, s
		case <-time.After(time.Minute):
			t.Fatal("nothing ends the connection of a node when its certificate does")
			return nil, timer{}
		}
	}
	c, end := connect()
	if left := time.Until(certs.Expiry()); end.after < left-time.Minute || end.after > left+time.Minute {
		t.Errorf("it ends after %s, and the certificate after %s", end.after, left)
	}
	end.do()
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection lives on")
	}
	if got := p.log.await(t, "the node's certificate has ended", 1); len(got) != 1 || !strings.Contains(got[0], "node=n1") {
		t.Errorf("the log says %q", got)
	}
	<-stopped
	c, _ = connect()
	c.Close()
	<-stopped // a connection that is over leaves no timer behind
}

// The reason of a refused connection can be read to its end.
func TestWhyAConnectionWasRefused(t *testing.T) {
	ended := &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time 2026-11-28T12:35:25Z is after 2026-11-28T12:35:14Z"}}
	if got, want := why(ended), "x509: certificate has expired or is not yet valid: current time 2026-11-28T12:35:25Z is after 2026-11-28T12:35:14Z"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := why(errors.New(strings.Repeat("é", 1000))); len(got) > maxWhy+len("…") || !utf8.ValidString(got) {
		t.Errorf("a stranger's %d bytes are in the log", len(got))
	}
}

// The server knows when each node's certificate ends, and knows of a renewal as soon as the node does.
func TestTheServerSeesWhenANodesCertificateEnds(t *testing.T) {
	p := openPost(t)
	issue := func(now time.Time) {
		t.Helper()
		if err := identity.IssueNode(p.dir, "n1", now); err != nil {
			t.Fatal(err)
		}
	}
	issue(time.Now().Add(-390 * 24 * time.Hour))
	way, err := NewLink([]string{p.address}, p.source(t, "n1"))
	if err != nil {
		t.Fatal(err)
	}
	defer way.Close()
	ask := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := way.Reserve(ctx, "", core.Intent{Action: core.Prepare, Key: core.Key{JobID: core.JobID{Scheduler: "local", Job: "n1.1"}}, UID: 1}, core.Peer{UID: 1})
		if e := core.AsError(err); e == nil || e.Reason != core.NotPlaced {
			t.Fatal(err)
		}
	}
	ask()
	old := way.certs.Expiry()
	if got := p.bounds.Shown(); len(got) != 1 || !got["n1"].Equal(old) {
		t.Errorf("the server saw %v; the certificate ends on %v", got, old)
	}
	if renewed, err := way.Renew(); renewed || err != nil {
		t.Errorf("a certificate that is the same was renewed: %v", err)
	}
	issue(time.Now())
	if renewed, err := way.Renew(); !renewed || err != nil {
		t.Fatalf("the certificate was renewed, and the line not: %v", err)
	}
	ask()
	if got := p.bounds.Shown()["n1"]; !got.After(old) || !got.Equal(way.certs.Expiry()) {
		t.Errorf("after its renewal the server sees that it ends on %v", got)
	}
}

// A node that is away because its certificate has ended is shown with it for a month.
func TestACertificateThatHasEndedIsShown(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	b := NewBounds(slog.New(slog.DiscardHandler))
	b.now = func() time.Time { return now }
	ends := now.Add(time.Hour)
	if err := b.enter("n1", ends); err != nil {
		t.Fatal(err)
	}
	see := func(when string, want bool) {
		t.Helper()
		if got, ok := b.Shown()["n1"]; ok != want || ok && !got.Equal(ends) {
			t.Errorf("%s: shown %v, %v; want %v", when, got, ok, want)
		}
	}
	see("connected", true)
	b.leave("n1")
	see("away", false)
	now = ends
	see("its certificate ended", true)
	now = ends.Add(30*24*time.Hour - 1)
	see("a month ago", true)
	now = ends.Add(30 * 24 * time.Hour)
	see("long ago", false)
}
