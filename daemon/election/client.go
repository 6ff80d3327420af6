package election

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// Files of config.Etcd.TLS.
const (
	caFile   = "ca.crt"
	certFile = "client.crt"
	keyFile  = "client.key"
)

// maxPassword and maxPEM bound what is read, in bytes.
const (
	maxPassword = 4 << 10
	maxPEM      = 1 << 20
)

// again bounds the pause before a member of etcd is tried again: a standby must not miss the end of a lease. By default
// gRPC pauses for up to 2 minutes.
var again = grpc.ConnectParams{
	Backoff: backoff.Config{
		BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second,
	},
	MinConnectTimeout: 2 * time.Second,
}

// A member of etcd ends a connection that pings it more often than every 5 s (DefaultGRPCKeepAliveMinTime in embed,
// release 3.4), or while it asks for nothing. Pings that come early since one of the two hosts is busy count, too.
// Linux ends a connection that leaves data unacknowledged for silence, however busy this host is.
const (
	ping    = 10 * time.Second
	silence = 2 * time.Second
)

// Dial makes a client of etcd, which connects by itself. Errors are core.BadConfig.
func Dial(c config.Etcd) (*clientv3.Client, error) {
	o := clientv3.Config{
		Endpoints: c.Endpoints, DialTimeout: 5 * time.Second,
		DialKeepAliveTime: ping, DialKeepAliveTimeout: silence,
		Logger: zap.NewNop(), DialOptions: []grpc.DialOption{grpc.WithConnectParams(again)},
	}
	if c.User != "" {
		u := newUser(c)
		if _, err := u.password(); err != nil {
			return nil, err
		}
		o.DialOptions = append(o.DialOptions, u.options()...)
	}
	if strings.HasPrefix(c.Endpoints[0], "https:") {
		var err error
		if o.TLS, err = secured(c.TLS); err != nil {
			return nil, err
		}
	}
	client, err := clientv3.New(o)
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "etcd: endpoints: %w", err)
	}
	return client, nil
}

// secured is how to reach etcd by TLS; without a folder, by the authorities that this host trusts. The certificate is
// read again for each connection, so that a renewal needs no restart.
func secured(dir string) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if dir == "" {
		return t, nil
	}
	path := filepath.Join(dir, caFile)
	text, err := file.Read(path, maxPEM)
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "etcd: tls %s: %w", path, file.Bare(err)).
			WithRemedy("put the certificate of the authority there that signed those of etcd's members")
	}
	t.RootCAs = x509.NewCertPool()
	if !t.RootCAs.AppendCertsFromPEM(text) {
		return nil, core.Errorf(core.BadConfig, "etcd: tls %s: it has no certificate", path)
	}
	cert, key := filepath.Join(dir, certFile), filepath.Join(dir, keyFile)
	_, err = tls.LoadX509KeyPair(cert, key)
	switch {
	case errors.Is(err, fs.ErrNotExist): // etcd may ask for none
		return t, nil
	case err != nil:
		return nil, core.Errorf(core.BadConfig, "etcd: tls %s: %w", dir, file.Bare(err)).
			WithRemedy("this server shows `client.crt` there to etcd, and proves it by `client.key`")
	}
	if d := file.Secret(key); d != nil {
		return nil, core.Errorf(core.BadConfig, "etcd: tls %s: %s", d.Path, d.Why).WithRemedy(d.Remedy)
	}
	t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(cert, key)
		return &c, err
	}
	return t, nil
}
