package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/adapters"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/identity"
)

// A standby whose start fails leaves nothing behind that runs.
func TestAStandbyThatCannotListen(t *testing.T) {
	endpoint := etcdtest.Start(t).Client().Endpoints()[0]
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dir := runDir(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(identity.Init(filepath.Join(dir, "tls"), []string{"127.0.0.1"}, time.Now()))
	policy, err := os.ReadFile("../policy/default.policy.hcl")
	must(err)
	must(os.Mkdir(filepath.Join(dir, "policy"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "policy", "a.policy.hcl"), policy, 0o644))
	path := filepath.Join(dir, "config.hcl")
	must(os.WriteFile(path, fmt.Appendf(nil, `
nodes = "n1"
pool "jobs" {
  vnis = "2000-2003"
}
driver "sim" {
}
scheduler "local" "local" {
}
server {
  listen = %q
  socket = "server.sock"
  tls    = "tls"
  etcd {
    endpoints = [%q]
  }
}
`, ln.Addr(), endpoint), 0o644))
	site, findings := settings.Read(path, 0)
	if hclfile.Failed(findings) {
		t.Fatal(hclfile.AsError(findings))
	}
	before := goleak.IgnoreCurrent()
	err = Server(t.Context(), site, Options{Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("%v", err)
	}
	goleak.VerifyNone(t, before)
}

// slow is an adapter that takes its time to tell its hooks.
type slow struct {
	core.Hooks
	asked, told chan struct{}
}

func (s *slow) Phases(context.Context) ([]core.HookPhase, error) {
	if s.asked != nil {
		close(s.asked)
		<-s.told
	}
	return nil, core.Errorf(core.NotSupported, "no")
}

// A reload that waits for an adapter keeps no standby from leading.
func TestAReloadDoesNotHoldUpALeader(t *testing.T) {
	s, quiet := &slow{}, slog.New(slog.DiscardHandler)
	node := &adapters.Node{Hooks: map[string]core.Hooks{"s": s}}
	table := adapters.NewHookTable(t.Context(), node, rundir.Dir(t.TempDir()), func(string) bool { return false }, quiet)
	d := &serverDaemon{parts: parts{Options: Options{Log: quiet}}, hooks: &adapters.Server{HookTable: table}}
	s.asked, s.told = make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() { defer close(done); d.reloaded(t.Context()) }()
	<-s.asked
	if !d.turn.TryLock() {
		t.Error("a standby waits")
	} else {
		d.turn.Unlock()
	}
	close(s.told)
	<-done
}
