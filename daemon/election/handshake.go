package election

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
)

// shakeWithin is how long a member of etcd may take to refuse a certificate.
const shakeWithin = time.Second

// Explain tells which certificate is refused where etcd does not answer: etcd's client says no more than that its time
// has passed. Where certificates are not the reason, it gives err.
func Explain(ctx context.Context, c config.Etcd, err error) error {
	if core.ReasonOf(err) != core.StoreFailed || !strings.HasPrefix(c.Endpoints[0], "https:") {
		return err
	}
	t, failed := secured(c.TLS)
	if failed != nil {
		return err
	}
	for _, e := range c.Endpoints {
		if failed := shake(ctx, t, strings.TrimPrefix(e, "https://")); failed != nil {
			return core.Errorf(core.StoreFailed, "store: etcd %s: no TLS: %w", e, failed).
				WithRemedy("see `tls` of `etcd` in config.hcl: ca.crt is of the authority of etcd's certificates, and " +
					"client.crt of the one that etcd trusts; `openssl x509 -noout -dates -issuer -in FILE` shows both")
		}
	}
	return err
}

// shake gives the reason of a handshake that failed. A member of etcd refuses a client's certificate after it.
func shake(ctx context.Context, t *tls.Config, address string) error {
	ctx, cancel := context.WithTimeout(ctx, shakeWithin)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil
	}
	defer raw.Close()
	t = t.Clone()
	if t.ServerName, _, err = net.SplitHostPort(address); err != nil {
		return nil
	}
	t.NextProtos = []string{"h2"}
	conn := tls.Client(raw, t)
	if err = conn.HandshakeContext(ctx); err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(shakeWithin))
		_, err = conn.Read(make([]byte, 1))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil {
		return nil
	}
	return err
}
