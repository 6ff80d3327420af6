package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// The files of a folder: the authority's own, and one pair for each role.
const (
	CAFile = "ca.crt"
	caKey  = "ca.key"
)

// How long certificates last. The authority's own outlives a machine; the others are renewed by running `weft tls` again, which needs no restart.
const (
	caLife   = 20 * 365 * 24 * time.Hour
	certLife = 397 * 24 * time.Hour
	leeway   = 10 * time.Minute // clocks of nodes that boot may be behind
)

// Init makes a site's authority and the server's certificate in dir. hosts are the names and addresses that agents reach the server by. An authority that is
// there stays, so that running it again renews the server's certificate only.
func Init(dir string, hosts []string, now time.Time) error {
	for _, h := range hosts { // before anything is made: a server that no name leads to is noticed by every agent but not here
		if err := checkHost(h); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return core.Errorf(core.BadConfig, "tls: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, caKey)); errors.Is(err, fs.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return core.Errorf(core.InternalFault, "tls: %w", err)
		}
		t := template("Weft authority", now, caLife)
		t.IsCA, t.BasicConstraintsValid, t.MaxPathLenZero = true, true, true
		t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
		if err := write(dir, "ca", t, t, key, key); err != nil {
			return err
		}
	}
	t := template("weft server", now, certLife)
	t.URIs = []*url.URL{serverURI()}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return issue(dir, "server", t)
}

// checkHost refuses what is neither an address nor a name that a certificate can hold.
func checkHost(h string) error {
	if net.ParseIP(h) != nil {
		return nil
	}
	bad := func(why string) error {
		return core.Errorf(core.BadCall, "host %q: %s", core.Clip(h), why).WithRemedy("give the names and addresses that agents reach the server by, such as weft.example.org or 10.0.0.1, each an argument of its own and without a port")
	}
	if len(h) > 253 {
		return bad("it has more than 253 bytes")
	}
	for label := range strings.SplitSeq(h, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return bad("it is no name of a host")
		}
		for _, c := range []byte(label) {
			if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
				return bad("it is no name of a host")
			}
		}
	}
	return nil
}

// CheckNode says whether a node of this name can have a certificate.
func CheckNode(node string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	if node == "ca" || node == serverRole {
		return core.Errorf(core.BadCall, "node %q: its files would be named as the authority's or the server's", node)
	}
	return nil
}

// IssueNode makes a node's certificate in dir, signed by the authority there. It goes to that node and no other, as NAME.crt and NAME.key, with ca.crt.
func IssueNode(dir, node string, now time.Time) error {
	if err := CheckNode(node); err != nil {
		return err
	}
	t := template("weft node "+node, now, certLife)
	t.Subject.CommonName = node
	t.URIs = []*url.URL{nodeURI(node)}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return issue(dir, node, t)
}

func template(name string, now time.Time, life time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-leeway), NotAfter: now.Add(life), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// issue signs t with dir's authority.
func issue(dir, name string, t *x509.Certificate) error {
	ca, err := readCert(filepath.Join(dir, CAFile))
	if err != nil {
		return err
	}
	if d := file.Secret(filepath.Join(dir, caKey)); d != nil {
		return core.Errorf(core.BadConfig, "tls: the authority's key: %w", d).WithRemedy(d.Remedy)
	}
	pair, err := readPair(filepath.Join(dir, CAFile), filepath.Join(dir, caKey))
	if err != nil {
		return err
	}
	if t.NotAfter.After(ca.NotAfter) {
		t.NotAfter = ca.NotAfter
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return core.Errorf(core.InternalFault, "tls: %w", err)
	}
	return write(dir, name, t, ca, key, pair.PrivateKey)
}

// write signs a certificate and leaves it with its key: the key first, so that whoever sees the new certificate finds the key that belongs to it.
func write(dir, name string, t, parent *x509.Certificate, key *ecdsa.PrivateKey, signer crypto.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	if err != nil {
		return core.Errorf(core.InternalFault, "tls: %w", err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return core.Errorf(core.InternalFault, "tls: %w", err)
	}
	secret = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	err = file.Replace(filepath.Join(dir, name+".key"), secret, file.How{Mode: 0o600})
	if err == nil {
		err = file.Replace(filepath.Join(dir, name+".crt"), public, file.How{Mode: 0o644})
	}
	if err != nil {
		return core.Errorf(core.BadConfig, "tls: %w", err)
	}
	return nil
}

func readCert(path string) (*x509.Certificate, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	why := errors.New("it holds no certificate")
	if block, _ := pem.Decode(text); block != nil {
		var c *x509.Certificate
		if c, why = x509.ParseCertificate(block.Bytes); why == nil {
			return c, nil
		}
	}
	return nil, core.Errorf(core.BadConfig, "tls: %s: %w", path, why).WithRemedy("copy it again from where the site's authority is")
}

// Authority identifies the authority of a folder by its key, so that it has the same after its certificate was renewed.
func Authority(dir string) (string, error) {
	c, err := readCert(filepath.Join(dir, CAFile))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:16]), nil
}

// maxPEM bounds a file, in bytes.
const maxPEM = 1 << 20

// read reads a file, and waits for no other process.
func read(path string) ([]byte, error) {
	text, err := file.Read(path, maxPEM)
	if err == nil {
		return text, nil
	}
	e := core.Errorf(core.BadConfig, "tls: %s: %w", path, file.Bare(err)).WithRemedy(file.Remedy(path, err))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, e.WithRemedy("`weft tls init` makes a site's authority; run this where it was run")
	}
	return nil, e
}

// readPair reads a certificate and its key.
func readPair(cert, key string) (tls.Certificate, error) {
	public, err := read(cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	secret, err := read(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(public, secret)
	if err != nil {
		return pair, core.Errorf(core.BadConfig, "tls: %s, %s: %w", cert, key, err).
			WithRemedy("the two are a pair that one run of `weft tls` made: copy both from the folder that it wrote to")
	}
	return pair, nil
}
