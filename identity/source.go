package identity

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Files are the three that one side of a connection needs.
type Files struct {
	CA   string
	Cert string
	Key  string
}

// Source gives TLS configurations of Files, as they are at each handshake. Safe for concurrent use.
type Source struct {
	files Files

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

// Open reads the files, and complains of what is wrong with them now rather than at the first handshake.
func Open(files Files) (*Source, error) {
	s := &Source{files: files}
	_, err := s.read()
	if err != nil {
		return nil, err
	}
	return s, nil
}

// read gives the newest material. Files that are half replaced, or spoiled, leave the last good in use.
func (s *Source) read() (*material, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &material{}
	for i, path := range []string{s.files.CA, s.files.Cert, s.files.Key} {
		info, err := os.Stat(path)
		if err != nil {
			if s.have != nil {
				return s.have, nil
			}
			return nil, core.Errorf(core.BadConfig, "tls: %w", err).WithRemedy("`weft tls init` makes the server's certificate, `weft tls node NAME` a node's")
		}
		m.stamps[i] = stamp{info.ModTime(), info.Size()}
	}
	if s.have != nil && s.have.stamps == m.stamps {
		return s.have, nil
	}
	if err := m.load(s.files); err != nil {
		if s.have != nil {
			return s.have, nil
		}
		return nil, err
	}
	s.have = m
	return m, nil
}

func (m *material) load(f Files) error {
	ca, err := readCert(f.CA)
	if err != nil {
		return err
	}
	m.pool = x509.NewCertPool()
	m.pool.AddCert(ca)
	if m.cert, err = tls.LoadX509KeyPair(f.Cert, f.Key); err != nil {
		return core.Errorf(core.BadConfig, "tls: %s, %s: %w", f.Cert, f.Key, err).
			WithRemedy("the two are a pair that one run of `weft tls` made: bring both anew from where the site's authority is")
	}
	if m.cert.Leaf, err = x509.ParseCertificate(m.cert.Certificate[0]); err != nil {
		return core.Errorf(core.BadConfig, "tls: %s: %w", f.Cert, err)
	}
	// Each connection keeps the one it was made with, so all have the same. Without tickets every handshake shows the certificates as they are now.
	m.server = &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{m.cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: m.pool, NextProtos: []string{"h2"},
		SessionTicketsDisabled: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			_, err := Node(c.PeerCertificates[0])
			return err
		},
	}
	return nil
}

// Expiry is when this side's certificate ends.
func (s *Source) Expiry() time.Time {
	m, err := s.read()
	if err != nil {
		return time.Time{}
	}
	return m.cert.Leaf.NotAfter
}

// Leaf is this side's certificate.
func (s *Source) Leaf() (*x509.Certificate, error) {
	m, err := s.read()
	if err != nil {
		return nil, err
	}
	return m.cert.Leaf, nil
}

// Server is the configuration of the server's side: only nodes of the same authority come in.
func (s *Source) Server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			m, err := s.read()
			if err != nil {
				return nil, err
			}
			return m.server, nil
		},
	}
}

// Client is the configuration of a node's side. host is the name or address that the server is reached by.
func (s *Source) Client(host string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: host, NextProtos: []string{"h2"},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			m, err := s.read()
			if err != nil {
				return nil, err
			}
			return &m.cert, nil
		},
		// The pool is read at each handshake, which RootCAs cannot do; what the library would check is checked in VerifyConnection.
		InsecureSkipVerify: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			m, err := s.read()
			if err != nil {
				return err
			}
			rest := x509.NewCertPool()
			for _, cert := range c.PeerCertificates[1:] {
				rest.AddCert(cert)
			}
			if _, err := c.PeerCertificates[0].Verify(x509.VerifyOptions{
				Roots: m.pool, Intermediates: rest, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			}); err != nil {
				return core.Errorf(core.NotAllowed, "server %s: %w", host, err)
			}
			return checkServer(c.PeerCertificates[0])
		},
	}
}
