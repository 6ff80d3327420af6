package identity_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/identity"
)

func site(t *testing.T, now time.Time, nodes ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := identity.Init(dir, []string{"127.0.0.1", "weft.example.org"}, now); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if err := identity.IssueNode(dir, n, now); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir, name string) *identity.Source {
	t.Helper()
	s, err := identity.Open(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shake makes a handshake and gives the node that the server sees.
func shake(t *testing.T, server, client *tls.Config) (node string, serverErr, clientErr error) {
	t.Helper()
	state, serverErr, clientErr := shakeAny(t, server, client)
	if serverErr == nil {
		node, serverErr = identity.Node(state.PeerCertificates[0])
	}
	return node, serverErr, clientErr
}

// shakeAny makes a handshake and gives the connection as the server sees it.
func shakeAny(t *testing.T, server, client *tls.Config) (state tls.ConnectionState, serverErr, clientErr error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // in a pipe without a buffer, two sides that refuse each other wait
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var a net.Conn
		if a, serverErr = l.Accept(); serverErr != nil {
			return
		}
		c := tls.Server(a, server)
		if serverErr = c.Handshake(); serverErr == nil {
			state = c.ConnectionState()
			_, _ = c.Write([]byte{1})
		}
		_ = a.Close()
	}()
	b, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Client(b, client)
	if clientErr = c.Handshake(); clientErr == nil {
		_, clientErr = c.Read(make([]byte, 1)) // in TLS 1.3 a refused client learns of it here
	}
	_ = b.Close()
	<-done
	return state, serverErr, clientErr
}

func TestOnlyTheRightPairMeets(t *testing.T) {
	now := time.Now()
	here, there := site(t, now, "n1", "n2"), site(t, now, "n1")
	old := site(t, now.Add(-500*24*time.Hour), "n1")
	plain := &tls.Config{InsecureSkipVerify: true}
	weak := open(t, here, "n1").Client("127.0.0.1")
	weak.MinVersion, weak.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	fips := open(t, here, "n1").Client("127.0.0.1")
	fips.CurvePreferences = []tls.CurveID{tls.CurveP256}
	tests := []struct {
		name           string
		server, client *tls.Config
		node           string // empty: they must not meet
	}{
		{"a node of the site", open(t, here, "server").Server(), open(t, here, "n1").Client("127.0.0.1"), "n1"},
		{"another node, by the server's name", open(t, here, "server").Server(), open(t, here, "n2").Client("weft.example.org"), "n2"},
		{"a node that may only use curves of NIST", open(t, here, "server").Server(), fips, "n1"},
		{"a node of another site", open(t, here, "server").Server(), open(t, there, "n1").Client("127.0.0.1"), ""},
		{"a server under another name", open(t, here, "server").Server(), open(t, here, "n1").Client("evil.example.org"), ""},
		{"a node that plays the server", open(t, here, "n2").Server(), open(t, here, "n1").Client("127.0.0.1"), ""},
		{"a server that plays a node", open(t, here, "server").Server(), open(t, here, "server").Client("127.0.0.1"), ""},
		{"no certificate", open(t, here, "server").Server(), plain, ""},
		{"expired certificates", open(t, old, "server").Server(), open(t, old, "n1").Client("127.0.0.1"), ""},
		{"TLS 1.2", open(t, here, "server").Server(), weak, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			node, serverErr, clientErr := shake(t, tt.server, tt.client)
			if tt.node == "" {
				if serverErr == nil && clientErr == nil {
					t.Errorf("they met, and the server sees node %q", node)
				}
				return
			}
			if node != tt.node || serverErr != nil || clientErr != nil {
				t.Errorf("node %q, server %v, client %v", node, serverErr, clientErr)
			}
		})
	}
}

func TestARenewalNeedsNoRestart(t *testing.T) {
	now := time.Now()
	dir := site(t, now.Add(-390*24*time.Hour), "n1")
	server, client := open(t, dir, "server"), open(t, dir, "n1")
	sc, cc := server.Server(), client.Client("127.0.0.1")
	before := server.Expiry()
	if err := identity.Init(dir, []string{"127.0.0.1"}, now); err != nil {
		t.Fatal(err)
	}
	if err := identity.IssueNode(dir, "n1", now); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"server.crt", "n1.crt"} { // a file system whose times are coarse
		if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if !server.Expiry().After(before) {
		t.Errorf("the server still has the certificate that ends at %s", before)
	}
	if node, a, b := shake(t, sc, cc); node != "n1" || a != nil || b != nil {
		t.Errorf("after the renewal: node %q, %v, %v", node, a, b)
	}
	if err := os.WriteFile(filepath.Join(dir, "n1.crt"), []byte("half a fi"), 0o644); err != nil {
		t.Fatal(err)
	}
	if node, a, b := shake(t, sc, cc); node != "n1" || a != nil || b != nil {
		t.Errorf("with a spoiled file the last good is not used: node %q, %v, %v", node, a, b)
	}
}

func TestKeysAreSecretAndNamesAreChecked(t *testing.T) {
	dir := site(t, time.Now(), "n1")
	for _, name := range []string{"ca.key", "server.key", "n1.key"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
	for _, name := range []string{"", "../n1", "ca", "server", "n 1", "n1\n"} {
		if err := identity.IssueNode(dir, name, time.Now()); err == nil {
			t.Errorf("a certificate was made for node %q", name)
		}
	}
	if _, err := identity.Open(t.TempDir(), "n1"); err == nil {
		t.Error("files that are not there were opened")
	}
}

// What no agent could reach the server by is refused, and nothing is made of it.
func TestHostsAreChecked(t *testing.T) {
	for _, h := range []string{"", "bad host", "weft:6464", "a..b", "-a", "a-", "weft/x", "*.example.org", "h\n", strings.Repeat("a", 64), strings.Repeat("a.", 127) + "aa"} {
		dir := t.TempDir()
		err := identity.Init(dir, []string{"weft.example.org", h}, time.Now())
		if e := core.AsError(err); e == nil || e.Reason != core.BadCall || e.Remedy == "" {
			t.Errorf("host %q: %v", h, err)
		}
		if made, _ := os.ReadDir(dir); len(made) > 0 {
			t.Errorf("host %q: %d files were made", h, len(made))
		}
	}
	if err := identity.Init(t.TempDir(), []string{"weft1", "Weft_2.example.org", "10.0.0.1", "fd00::1"}, time.Now()); err != nil {
		t.Error(err)
	}
}

// A certificate beside the key of another says which two do not belong together, and what to do.
func TestAKeyOfAnotherCertificate(t *testing.T) {
	dir := site(t, time.Now(), "n1", "n2")
	if err := os.Rename(filepath.Join(dir, "n2.key"), filepath.Join(dir, "n1.key")); err != nil {
		t.Fatal(err)
	}
	_, err := identity.Open(dir, "n1")
	if e := core.AsError(err); e == nil || !strings.Contains(e.What, "n1.crt") || !strings.Contains(e.What, "n1.key") || !strings.Contains(e.Remedy, "weft tls") || !strings.Contains(e.Remedy, "pair") {
		t.Errorf("%v", err)
	}
}

// TestRemedyOfFiles: a file that is no file is moved away, and a damaged one is copied again.
func TestRemedyOfFiles(t *testing.T) {
	fifo := func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }
	folder := func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }
	for _, name := range []string{"ca.crt", "n1.crt", "n1.key"} {
		for kind, c := range map[string]struct {
			spoil func(path string) error
			want  string
		}{"FIFO": {fifo, "move %s away"}, "folder": {folder, "move %s away"}, "empty": {func(path string) error { return os.Truncate(path, 0) }, "copy"}} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				dir := site(t, time.Now(), "n1")
				path := filepath.Join(dir, name)
				if err := c.spoil(path); err != nil {
					t.Fatal(err)
				}
				_, err := identity.Open(dir, "n1")
				want := strings.ReplaceAll(c.want, "%s", path)
				if e := core.AsError(err); e == nil || !strings.Contains(e.What, path) || !strings.Contains(e.Remedy, want) {
					t.Errorf("%v, want %s", e, want)
				} else if strings.Contains(e.Line(), "init") {
					t.Errorf("it asks for another authority: %s", e.Line())
				}
			})
		}
	}
}

func TestAWrongCertificateSaysHowToMakeOne(t *testing.T) {
	uri := func(names ...string) (out []*url.URL) {
		for _, n := range names {
			out = append(out, &url.URL{Scheme: "weft", Opaque: n})
		}
		return out
	}
	for what, uris := range map[string][]*url.URL{"none": nil, "the server's": uri("server"), "another": uri("other:n1"), "two": uri("node:n1", "server")} {
		_, err := identity.Node(&x509.Certificate{Subject: pkix.Name{CommonName: "n1"}, URIs: uris})
		e, ok := errors.AsType[*core.Error](err)
		if !ok || !strings.Contains(e.Line(), "`weft tls node NAME`") || strings.Contains(e.Line(), "admin_group") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
