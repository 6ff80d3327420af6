package election

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/identity"
)

// A certificate that etcd or this server does not believe is named, and an etcd that has another fault is not blamed on
// certificates.
func TestExplain(t *testing.T) {
	t.Parallel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, other := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		must(identity.Init(d, []string{"127.0.0.1"}, time.Now()))
		must(identity.IssueNode(d, "client", time.Now()))
	}
	mixed := func(ca, client string) string {
		to := t.TempDir()
		for file, from := range map[string]string{caFile: ca, certFile: client, keyFile: client} {
			text, err := os.ReadFile(filepath.Join(from, file))
			must(err)
			must(os.WriteFile(filepath.Join(to, file), text, 0o600))
		}
		return to
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	at := "https://" + ln.Addr().String()
	must(ln.Close())
	member := etcdtest.Start(t, "--listen-client-urls", "unix://client0:1,"+at, "--advertise-client-urls", at,
		"--client-cert-auth", "--trusted-ca-file", filepath.Join(dir, caFile),
		"--cert-file", filepath.Join(dir, "server.crt"), "--key-file", filepath.Join(dir, "server.key"))
	open := func(tls string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		c := config.Etcd{Endpoints: []string{at}, Prefix: "/weft/", TLS: tls}
		e, err := Open(ctx, c, "", "a", "a:1", slog.New(slog.DiscardHandler))
		if err == nil {
			_ = e.Close()
		}
		return err
	}
	must(open(mixed(dir, dir)))
	for tls, want := range map[string]string{
		mixed(other, dir): "no TLS: tls: failed to verify certificate: x509: certificate signed by unknown authority",
		mixed(dir, other): "no TLS: remote error: tls: ",
	} {
		err := open(tls)
		t.Log(err)
		if e := core.AsError(err); err == nil || e.Reason != core.StoreFailed || !strings.Contains(e.What, want) {
			t.Errorf("%v, want it to have %q", err, want)
		}
	}
	member.Kill()
	if err := open(mixed(other, dir)); err == nil || strings.Contains(err.Error(), "TLS") {
		t.Errorf("etcd is away: %v", err)
	}
}
