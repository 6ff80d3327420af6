package flux

import (
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people"
	"github.com/weft-hpc/weft/people/peopletest"
	"github.com/weft-hpc/weft/plugins/flux/broker/brokertest"
	"github.com/weft-hpc/weft/rpc/rpctest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	goleak.VerifyTestMain(m)
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// checkError wants one line of a reason.
func checkError(t *testing.T, err error, want core.Reason, says string) {
	t.Helper()
	e, ok := errors.AsType[*core.Error](err)
	if !ok || e.Reason != want || !strings.Contains(e.Line(), says) || strings.ContainsRune(e.Line(), '\n') {
		t.Errorf("got %v (%T), want one line of %s that says %q", err, err, want, says)
	}
}

// stranger is nobody's uid.
const stranger = 64321

var root = core.Peer{}

func key(job string) core.Key { return core.Key{JobID: core.JobID{Scheduler: "tioga", Job: job}} }

// one is a job's id, as a number and as Weft spells it (recording 01).
const (
	one    uint64 = 341366013952
	oneF58        = "ƒ9y6M3wD"
)

// alice is the only user that a test's host knows, with the fewest privileges a name can have.
var alice = peopletest.Table{
	Users:  map[uint32]string{1000: "alice"},
	Groups: map[uint32]string{100: "users", 200: "ops"},
	Member: map[string][]uint32{"alice": {100, 200}},
}

// bare is a plugin whose methods give way to those of a wired one.
type bare struct{ *Plugin }

// wired is a plugin that tests call through rpc, as a daemon does.
type wired struct {
	*rpctest.Adapter
	bare
}

// adapter is a plugin that speaks to a fake broker.
func adapter(t *testing.T) (wired, *brokertest.Broker) {
	t.Helper()
	b, err := brokertest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := New("tioga")
	p.settings.uri, p.settings.every = b.URI(), 20*time.Millisecond
	p.people = people.New(alice.Run)
	t.Cleanup(func() {
		p.link.close()
		b.Crash()
	})
	return wired{rpctest.Wire(t, p), bare{p}}, b
}

// submitted is a job that runs on both nodes: four cores on the first, two on the second.
func submitted(b *brokertest.Broker, id uint64, attributes map[string]any) {
	b.Submit(id, 1000, attributes)
	b.Alloc(id, []any{brokertest.Lite("0", "0-3"), brokertest.Lite("1", "1,3")}, "node[01-02]")
}

// open lets every user reach a broker's socket.
func open(t *testing.T, uri string) {
	t.Helper()
	for dir := filepath.Dir(strings.TrimPrefix(uri, "local://")); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
