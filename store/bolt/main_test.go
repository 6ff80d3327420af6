package bolt_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/bolt"
)

// childEnv makes the test binary run one of children instead of the tests.
const childEnv = "WEFT_BOLT_CHILD"

var children = map[string]func(dir string) error{
	"commit":    commitForever,
	"few":       commitFew,
	"disk full": fillDisk,
	"hold":      hold,
}

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childEnv)]; child != nil {
		if err := child(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func meta(revision uint64) engine.Meta {
	return engine.Meta{Head: core.Head{Store: "a", Epoch: 1, Revision: revision}}
}

func open(t testing.TB, path string, o bolt.Options) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func shut(t testing.TB, s engine.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func commit(t testing.TB, s engine.Store, batch ...engine.Record) {
	t.Helper()
	if err := s.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, s engine.Store, want []engine.Record) {
	t.Helper()
	if d := cmp.Diff(want, all(t, s), cmpopts.IgnoreUnexported(core.Error{}), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("the store has other records: %s", d)
	}
}

func reason(t testing.TB, err error, want core.Reason) *core.Error {
	t.Helper()
	e := core.AsError(err)
	if e == nil || e.Reason != want {
		t.Fatalf("got %v, want an error with reason %s", err, want)
	}
	return e
}

// job is a reservation of the common kind.
func job(serial uint64) engine.Reservation {
	limits := core.Limits{}
	for i := range limits {
		limits[i] = core.Limit{Max: 1024, Reserved: 128}
	}
	run := core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "tioga", Job: fmt.Sprint(serial)}}, Fingerprint: core.Fingerprint{UID: 1000 + uint32(serial%50), Submitted: 1764201600}}
	return engine.Reservation{
		Serial: serial,
		Job: core.Job{Run: run, GID: 100, User: fmt.Sprint("user", serial%50), Groups: []string{"users", "physics"}, Account: "physics", Queue: "batch",
			Placements: []core.Placement{{Hosts: "tioga[11-14]", Nodes: 4, Cores: 64}}},
		VNIs: []engine.Taken{{VNI: core.VNI(1024 + serial%60000), Pool: "jobs", Name: "app"}},
		Grant: engine.Decision{VNIs: []engine.Wanted{{Name: "app", Pool: "jobs"}}, Classes: core.BestEffort | core.LowLatency, Limits: []core.Limits{limits},
			Rules: []string{"default"}, Policy: "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
		First: engine.Join{Serial: serial, Node: "tioga11", Boot: "0b1d2c3e-0000-4000-8000-000000000011"},
	}
}
