package identity

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// Source gives TLS configurations of one side's files, as they are at each handshake. Safe for concurrent use.
type Source struct {
	files [3]string // the authority's certificate, this side's, and its key

	mu   sync.Mutex
	have *material
}

// material is what the files held when they had these stamps.
type material struct {
	stamps [3]stamp
	cert   tls.Certificate
	pool   *x509.CertPool
	server *tls.Config
}

type stamp struct {
	at   time.Time
	size int64
}

// curves are how two sides agree on a key. What they tell each other, such as users' names and VNIs, is no secret in
// ten years: a key exchange that is safe from quantum computers would take a quarter of a handshake, and there is one
// for each node after a failover. P-256 is for programs that may use no other by FIPS 140-3 (`GODEBUG=fips140=on`).
var curves = []tls.CurveID{tls.X25519, tls.CurveP256}

// Open reads ca.crt, NAME.crt and NAME.key in dir, and complains of what is wrong with them now rather than at the first
// handshake.
func Open(dir, name string) (*Source, error) {
	path := func(name string) string { return filepath.Join(dir, name) }
	s := &Source{files: [...]string{path(CAFile), path(name + ".crt"), path(name + ".key")}}
	var err error
	s.have, err = load(s.files)
	return s, err
}

// now gives the newest material. Files that are half replaced, or spoiled, leave the last good in use.
func (s *Source) now() *material {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stamps, err := stampsOf(s.files); err == nil && stamps != s.have.stamps {
		if m, err := load(s.files); err == nil {
			s.have = m
		}
	}
	return s.have
}

func stampsOf(files [3]string) (stamps [3]stamp, err error) {
	for i, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			return stamps, core.Errorf(core.BadConfig, "tls: %w", err).WithRemedy("`weft tls init` makes the server's certificate, `weft tls node NAME` a node's")
		}
		stamps[i] = stamp{info.ModTime(), info.Size()}
	}
	return stamps, nil
}

func load(files [3]string) (*material, error) {
	stamps, err := stampsOf(files)
	if err != nil {
		return nil, err
	}
	ca, err := readCert(files[0])
	if err != nil {
		return nil, err
	}
	if d := file.Secret(files[2]); d != nil {
		return nil, core.Errorf(core.BadConfig, "tls: %w", d).WithRemedy(d.Remedy)
	}
	m := &material{stamps: stamps, pool: x509.NewCertPool()}
	m.pool.AddCert(ca)
	if m.cert, err = readPair(files[1], files[2]); err != nil {
		return nil, err
	}
	// Each connection keeps the one it was made with, so all have the same. Without tickets every handshake shows the certificates as they are now.
	m.server = &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{m.cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: m.pool, NextProtos: []string{"h2"},
		SessionTicketsDisabled: true, CurvePreferences: curves,
		VerifyConnection: func(c tls.ConnectionState) error {
			_, err := Node(c.PeerCertificates[0])
			return err
		},
	}
	return m, nil
}

// Expiry is when this side's certificate ends.
func (s *Source) Expiry() time.Time { return s.now().cert.Leaf.NotAfter }

// Node is the node that this side's certificate is of.
func (s *Source) Node() (string, error) { return Node(s.now().cert.Leaf) }

// Server is the configuration of the server's side: only nodes of the same authority come in.
func (s *Source) Server() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.now().server, nil },
	}
}

// Client is the configuration of a node's side. host is the name or address that the server is reached by.
func (s *Source) Client(host string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, CurvePreferences: curves, ServerName: host, NextProtos: []string{"h2"},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &s.now().cert, nil },
		// The pool is read at each handshake, which RootCAs cannot do; what the library would check is checked in VerifyConnection.
		InsecureSkipVerify: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			if _, err := c.PeerCertificates[0].Verify(x509.VerifyOptions{
				Roots: s.now().pool, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			}); err != nil {
				return core.Errorf(core.NotAllowed, "server %s: %w", host, err)
			}
			return checkServer(c.PeerCertificates[0])
		},
	}
}
