package identity_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-hpc/weft/identity"
)

// signed is a certificate by the site's authority with any usage and any roles.
func signed(t *testing.T, dir string, usage x509.ExtKeyUsage, uris ...string) tls.Certificate {
	t.Helper()
	ca, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(7), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{usage}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	for _, u := range uris {
		c.URIs = append(c.URIs, &url.URL{Scheme: "weft", Opaque: u})
	}
	der, err := x509.CreateCertificate(rand.Reader, c, ca.Leaf, &key.PublicKey, ca.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// The authority signs hosts only. No host believes an authority that it signed.
func TestTheAuthorityMakesNoOther(t *testing.T) {
	dir := site(t, time.Now())
	ca, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if err != nil || !ca.Leaf.IsCA || ca.Leaf.MaxPathLen != 0 || !ca.Leaf.MaxPathLenZero {
		t.Errorf("path length %d: %v", ca.Leaf.MaxPathLen, err)
	}
}

// The authority's signature is not enough: the certificate must be for the one role that its holder plays.
func TestTheRoleIsChecked(t *testing.T) {
	dir := site(t, time.Now(), "n1")
	const client, server = x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth
	for _, tt := range []struct {
		name string
		as   x509.ExtKeyUsage // what it plays
		cert tls.Certificate
		good bool
	}{
		{"a node", client, signed(t, dir, client, "node:n1"), true},
		{"a node without a role", client, signed(t, dir, client), false},
		{"a node with the server's role", client, signed(t, dir, client, "server"), false},
		{"a node with two names", client, signed(t, dir, client, "node:n1", "node:n2"), false},
		{"a node with a path as its name", client, signed(t, dir, client, "node:../n1"), false},
		{"a node with a certificate for servers", client, signed(t, dir, server, "node:n1"), false},
		{"a server", server, signed(t, dir, server, "server"), true},
		{"a server without a role", server, signed(t, dir, server), false},
		{"a server with a node's role", server, signed(t, dir, server, "node:n1"), false},
		{"a server with two roles", server, signed(t, dir, server, "server", "node:n1"), false},
		{"a server with a certificate for clients", server, signed(t, dir, client, "server"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc, cc := open(t, dir, "server").Server(), open(t, dir, "n1").Client("127.0.0.1")
			if tt.as == server {
				sc = &tls.Config{Certificates: []tls.Certificate{tt.cert}, ClientAuth: tls.RequireAnyClientCert}
				sc.NextProtos = []string{"h2"}
			} else {
				cc.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &tt.cert, nil }
			}
			if _, serverErr, clientErr := shakeAny(t, sc, cc); (serverErr == nil && clientErr == nil) != tt.good {
				t.Errorf("server %v, client %v", serverErr, clientErr)
			}
		})
	}
}

// Every handshake shows the certificates: no session is resumed.
func TestNoSessionIsResumed(t *testing.T) {
	dir := site(t, time.Now(), "n1")
	sc, cc := open(t, dir, "server").Server(), open(t, dir, "n1").Client("127.0.0.1")
	cc.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	for range 2 {
		if state, a, b := shakeAny(t, sc, cc); a != nil || b != nil || state.DidResume {
			t.Errorf("resumed: %v; server %v, client %v", state.DidResume, a, b)
		}
	}
}

// A certificate counts on nodes whose clocks are a little behind, and never longer than its authority.
func TestTimesOfCertificates(t *testing.T) {
	now := time.Now()
	soon := now.Add(-20*365*24*time.Hour + 48*time.Hour)
	for name, made := range map[string]time.Time{"a new authority": now, "one that ends soon": soon} {
		t.Run(name, func(t *testing.T) {
			dir := site(t, made)
			authority := read(t, filepath.Join(dir, "ca.crt"))
			if err := identity.Init(dir, []string{"127.0.0.1"}, now); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(authority, read(t, filepath.Join(dir, "ca.crt"))) {
				t.Error("the authority is another: no node that has a certificate comes in")
			}
			if err := identity.IssueNode(dir, "n1", now); err != nil {
				t.Fatal(err)
			}
			ends := leaf(t, dir, "ca").NotAfter
			for _, of := range []string{"server", "n1"} {
				c := leaf(t, dir, of)
				if now.Sub(c.NotBefore) < 5*time.Minute || c.NotAfter.After(ends) || c.NotAfter.Before(now.Add(24*time.Hour)) {
					t.Errorf("%s: it counts from %v to %v, and its authority to %v", of, c.NotBefore, c.NotAfter, ends)
				}
			}
		})
	}
}

// A new certificate has its key in the same folder, even if `weft tls` stops in between.
func TestTheKeyComesFirst(t *testing.T) {
	dir := site(t, time.Now())
	if err := os.Mkdir(filepath.Join(dir, "n1.key"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := identity.IssueNode(dir, "n1", time.Now()); err == nil {
		t.Error("a key took the place of a folder")
	}
	if _, err := os.Stat(filepath.Join(dir, "n1.crt")); err == nil {
		t.Error("there is a certificate, and no key for it")
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func leaf(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	c, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf
}
