package etcd_test

import (
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/store/etcd"
)

// Two systems with one prefix: the one that wrote first has the store, whether or not it had records when the other's
// server began. An administrator can give it to another authority.
func TestTwoSystems(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	client := m.Client()
	of := func(system string) (*etcd.Store, error) {
		s, err := etcd.Open(t.Context(), etcd.Options{Client: client, Prefix: prefix, System: system})
		if err == nil {
			t.Cleanup(func() { _ = s.Close() })
		}
		return s, err
	}
	must := func(s *etcd.Store, err error) *etcd.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	lead := func(s *etcd.Store) error {
		t.Helper()
		if _, err := client.Delete(t.Context(), prefix+"leader"); err != nil {
			t.Fatal(err)
		}
		return s.Lead(t.Context(), wins(t, etcd.Candidate{Client: client, Prefix: prefix, Name: "s", Time: 2 * time.Second}))
	}
	early, ours := must(of("b")), must(of("a"))
	if err := lead(ours); err != nil {
		t.Fatal(err)
	}
	commit(t, ours, meta(1))
	const says = "it is of another system: its servers have the authority a, and this one b"
	_, err := of("b")
	refused(t, err, core.BadConfig, says)
	_, err = early.Follow(t.Context())
	refused(t, err, core.BadConfig, says)
	refused(t, lead(early), core.BadConfig, says)

	// A verb of `weft store` leaves it so.
	tool := must(of(""))
	if err := lead(tool); err != nil {
		t.Fatal(err)
	}
	commit(t, tool, meta(2))
	_, err = of("b")
	refused(t, err, core.BadConfig, says)

	if _, err := client.Put(t.Context(), prefix+"head", ""); err != nil { // as docs/servers.md says
		t.Fatal(err)
	}
	theirs := must(of("b"))
	if err := lead(theirs); err != nil {
		t.Fatal(err)
	}
	commit(t, theirs, meta(3))
	if _, err := of("a"); core.ReasonOf(err) != core.BadConfig {
		t.Errorf("the old authority's server: %v", err)
	}
}
