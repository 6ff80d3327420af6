package etcd_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/store/etcd"
	"github.com/weft-hpc/weft/store/storetest"
)

// TestConformance is of a store that writes its pages nearly always, and of one that does so never.
func TestConformance(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	for name, at := range map[string]int{"pages": 1, "log": 0} {
		t.Run(name, func(t *testing.T) {
			storetest.Conform(t, func(n string) (engine.Store, error) {
				o := etcd.Options{Client: client, Prefix: name + n + "/", SaveAt: at}
				o.Leader = etcdtest.Lead(t, client, o.Prefix)
				return etcd.Open(t.Context(), o)
			})
		})
	}
}

const prefix = "/weft/tioga/"

func open(t testing.TB, client *clientv3.Client, leader int64) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), etcd.Options{Client: client, Prefix: prefix, Leader: leader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// saving writes its pages nearly always.
func saving(t testing.TB, client *clientv3.Client) *etcd.Store {
	t.Helper()
	o := etcd.Options{Client: client, Prefix: prefix, SaveAt: 1, Leader: etcdtest.Lead(t, client, prefix)}
	s, err := etcd.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func meta(revision uint64) engine.Meta {
	return engine.Meta{Head: core.Head{Store: "a", Epoch: 1, Revision: revision}}
}

func commit(t testing.TB, s *etcd.Store, batch ...engine.Record) {
	t.Helper()
	if err := s.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

func all(t testing.TB, s *etcd.Store) (found []engine.Record) {
	t.Helper()
	if err := s.Load(t.Context(), func(r engine.Record) error { found = append(found, r); return nil }); err != nil {
		t.Fatal(err)
	}
	return found
}

// refused is an error with a reason, a text in it, and a remedy where there is one.
func refused(t testing.TB, err error, reason core.Reason, text string) {
	t.Helper()
	if e := core.AsError(err); err == nil || e.Reason != reason || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %s with %q", err, reason, text)
	}
}

// A server that was overtaken never writes again, though it does not know.
func TestOnlyTheLeaderWrites(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	old := open(t, client, etcdtest.Lead(t, client, prefix))
	commit(t, old, meta(1), engine.Node{Name: "n1"})
	now := open(t, client, etcdtest.Lead(t, client, prefix))
	for range 2 {
		err := old.Commit(t.Context(), []engine.Record{meta(2), engine.Node{Name: "n2"}})
		refused(t, err, core.StoreFailed, "leads no longer")
	}
	refused(t, old.Commit(t.Context(), nil), core.StoreFailed, "leads no longer")
	commit(t, now, meta(3), engine.Node{Name: "n3"})
	want := []engine.Record{meta(3), engine.Node{Name: "n1"}, engine.Node{Name: "n3"}}
	if d := cmp.Diff(want, all(t, open(t, client, 0))); d != "" {
		t.Error(d)
	}
	refused(t, open(t, client, 0).Commit(t.Context(), []engine.Record{meta(4)}), core.StoreFailed, "does not lead")
}

// A commit whose answer was lost can arrive late, whatever the server has read meanwhile. The next one is refused, and
// Load tells it.
func TestALateCommit(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	leader := etcdtest.Lead(t, client, prefix)
	late, s := open(t, client, leader), open(t, client, leader)
	commit(t, late, meta(1), engine.Node{Name: "late"})
	err := s.Commit(t.Context(), []engine.Record{meta(1), engine.Node{Name: "n1"}})
	refused(t, err, core.StoreFailed, "there after all")
	if d := cmp.Diff([]engine.Record{meta(1), engine.Node{Name: "late"}}, all(t, s)); d != "" {
		t.Error(d)
	}
	commit(t, s, meta(2))
	refused(t, late.Commit(t.Context(), []engine.Record{meta(2)}), core.StoreFailed, "there after all")
}

// big is a commit of several parts.
func big(revision uint64) []engine.Record {
	batch := []engine.Record{meta(revision)}
	for i := range 30_000 {
		node := fmt.Sprintf("x%04dc0s0b%dn%d", i/16, i/2%8, i%2)
		batch = append(batch, engine.Join{Serial: 7, Node: node, Boot: "0b1d2c3e-0000-4000-8000-000000000011"})
	}
	return batch
}

// A commit that did not come to its end leaves nothing, and the next one takes its place.
func TestACommitInPartsIsWholeOrNone(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	leader := etcdtest.Lead(t, client, prefix)
	s := open(t, client, leader)
	commit(t, s, meta(1), engine.Reservation{Serial: 7})
	commit(t, s, big(2)...)
	ctx := t.Context()
	got, err := client.Get(ctx, prefix+"part/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil || got.Count < 3 {
		t.Fatalf("%v, %v: want several parts", got, err)
	}
	if n := len(all(t, open(t, client, 0))); n != 30_002 {
		t.Fatalf("%d records", n)
	}
	if _, err := client.Delete(ctx, string(got.Kvs[got.Count-1].Key)); err != nil {
		t.Fatal(err)
	}
	if n := len(all(t, open(t, client, 0))); n != 2 {
		t.Fatalf("without the last part %d records", n)
	}
	// A standby that has read its parts removes them once it leads.
	standby := open(t, client, 0)
	if _, err := client.Delete(ctx, prefix+"leader"); err != nil {
		t.Fatal(err)
	}
	lease := win(t, etcd.Candidate{Client: client, Prefix: prefix, Name: "b", Time: time.Minute})
	if err := standby.Lead(ctx, lease); err != nil {
		t.Fatal(err)
	}
	if left, err := client.Get(ctx, prefix+"part/", clientv3.WithPrefix()); err != nil || left.Count != 1 {
		t.Errorf("%d parts are left, want that of the first commit: %v", left.Count, err)
	}
	next := open(t, client, lease.Term)
	commit(t, next, meta(3), engine.Delete{At: engine.Reservation{Serial: 7}.Slot()})
	if d := cmp.Diff([]engine.Record{meta(3)}, all(t, open(t, client, 0))); d != "" {
		t.Error(d)
	}
	refused(t, s.Commit(t.Context(), []engine.Record{meta(4)}), core.StoreFailed, "leads no longer")
}

// Pages take the place of the log, and every reader finds the same. One that follows finds it with less reading.
func TestPages(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	standby := open(t, client, 0)
	follow := func(want []engine.Record) {
		t.Helper()
		if _, err := standby.Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, all(t, standby)); d != "" {
			t.Errorf("who follows: %s", d)
		}
		if d := cmp.Diff(want, all(t, open(t, client, 0))); d != "" {
			t.Errorf("who reads: %s", d)
		}
	}
	text := engine.Text{Hash: "5f70", Text: strings.Repeat("a policy ", 100_000)}
	revision := uint64(1)
	first := append(big(revision), engine.Reservation{Serial: 7}, text)
	for _, batch := range [][]engine.Record{first, {engine.Delete{At: engine.Reservation{Serial: 7}.Slot()}}} {
		s := saving(t, client)
		commit(t, s, append(batch, meta(revision))...)
		follow(all(t, s))
		if err := s.Close(); err != nil { // another reads the log of this one, and saves pages
			t.Fatal(err)
		}
		s = saving(t, client)
		for range 200 {
			revision++
			commit(t, s, meta(revision), engine.Node{Name: "n1", Boot: strings.Repeat("b", 20_000)})
		}
		want := all(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		follow(want)
		revision++
	}
	got, err := client.Get(t.Context(), prefix+"part/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || got.Count > 390 {
		t.Errorf("the log has %d parts, %v: none was dropped", got.Count, err)
	}
}

// A standby that has followed leads at once.
func TestLead(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	s, standby := open(t, client, etcdtest.Lead(t, client, prefix)), open(t, client, 0)
	commit(t, s, meta(1), engine.Node{Name: "n1"})
	refused(t, standby.Commit(t.Context(), []engine.Record{meta(2)}), core.StoreFailed, "does not lead")
	if _, err := client.Delete(t.Context(), prefix+"leader"); err != nil {
		t.Fatal(err)
	}
	lease := win(t, etcd.Candidate{Client: client, Prefix: prefix, Name: "b", Time: 2 * time.Second})
	if err := standby.Lead(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if head := standby.Head(); head.Revision != 1 {
		t.Errorf("%+v", head)
	}
	commit(t, standby, meta(2))
	refused(t, s.Commit(t.Context(), []engine.Record{meta(2)}), core.StoreFailed, "leads no longer")
}

func TestWhatIsNotAStore(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	s := saving(t, client)
	for i := range uint64(20) {
		commit(t, s, meta(1+i), engine.Node{Name: "n1", Boot: strings.Repeat("b", 1000)})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	value := func(of string) (string, string) {
		sorted := clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend)
		got, err := client.Get(t.Context(), prefix+of, clientv3.WithPrefix(), sorted)
		if err != nil || got.Count < 2 {
			t.Fatalf("%v, %v: want keys of %s", got, err, of)
		}
		return string(got.Kvs[got.Count/2].Key), string(got.Kvs[got.Count/2].Value)
	}
	part, inPart := value("part/")
	page, inPage := value("page/")
	for name, c := range map[string]struct {
		key, value string // an empty value removes the key
		reason     core.Reason
		text       string
	}{
		"another's key":         {prefix + "registry/pods", "a pod", core.StoreFailed, `"registry/pods" is not Weft's`},
		"a part is damaged":     {part, inPart[:9] + "\xff" + inPart[10:], core.StoreCorrupt, "its checksum is wrong"},
		"a page is damaged":     {page, inPage[:9] + "\xff" + inPage[10:], core.StoreCorrupt, "its checksum is wrong"},
		"a part is another's":   {part, inPage, core.StoreCorrupt, "its checksum is wrong"},
		"a part is empty":       {part, "\x01", core.StoreCorrupt, "it is cut short"},
		"a part is not there":   {part, "", core.StoreCorrupt, "it is not there"},
		"of a later release":    {part, "\x02" + inPart[1:], core.StoreNewer, "is of version 2"},
		"a part has a bad name": {prefix + "part/1", "\x01\x00\x00\x00\x00\x00", core.StoreCorrupt, ""},
	} {
		before, err := client.Get(t.Context(), c.key)
		if err != nil {
			t.Fatal(err)
		}
		put := func(value string) {
			op := clientv3.OpPut(c.key, value)
			if value == "" {
				op = clientv3.OpDelete(c.key)
			}
			if _, err := client.Do(t.Context(), op); err != nil {
				t.Fatal(err)
			}
		}
		put(c.value)
		_, err = etcd.Open(t.Context(), etcd.Options{Client: client, Prefix: prefix})
		t.Log(name, err)
		refused(t, err, c.reason, c.text)
		if put(""); len(before.Kvs) == 1 {
			put(string(before.Kvs[0].Value))
		}
	}
	open(t, client, 0)
}

// etcd goes away and comes back, and is full. A store says so, and goes on by itself.
func TestEtcdFails(t *testing.T) {
	t.Parallel()
	member := etcdtest.Start(t, "--quota-backend-bytes", fmt.Sprint(4<<20))
	client := member.Client()
	s := open(t, client, etcdtest.Lead(t, client, prefix))
	commit(t, s, meta(1), engine.Node{Name: "n1"})
	member.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	// The first call may meet the connection that the member's end closes.
	for _, err := range []error{s.Commit(ctx, []engine.Record{meta(2)}), s.Load(ctx, nil)} {
		if e := core.AsError(err); e.Reason != core.StoreFailed || !strings.Contains(e.Remedy, "bring back a majority") {
			t.Error(err)
		}
	}
	member.Run()
	if d := cmp.Diff([]engine.Record{meta(1), engine.Node{Name: "n1"}}, all(t, s)); d != "" {
		t.Error(d)
	}
	commit(t, s, meta(3))
	var err error
	for i := uint64(4); err == nil && i < 40; i++ {
		text := engine.Text{Hash: fmt.Sprint(i), Text: strings.Repeat("a", 500_000)}
		err = s.Commit(t.Context(), []engine.Record{meta(i), text})
	}
	t.Log(err)
	refused(t, err, core.StoreFailed, "etcd has no space left")
	refused(t, s.Commit(t.Context(), nil), core.StoreFailed, "etcd has no space left")
	before := len(all(t, s))
	if n := len(all(t, open(t, client, 0))); n != before {
		t.Errorf("%d records, and %d after a start", before, n)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	member := etcdtest.Start(t)
	root := member.Client()
	ctx := t.Context()
	for _, do := range []func() error{
		func() error { _, err := root.UserAdd(ctx, "root", "r"); return err },
		func() error { _, err := root.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := root.RoleAdd(ctx, "weft"); return err },
		func() error {
			end, may := clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite)
			_, err := root.RoleGrantPermission(ctx, "weft", prefix, end, may)
			return err
		},
		func() error { _, err := root.UserAdd(ctx, "weft", "secret"); return err },
		func() error { _, err := root.UserGrantRole(ctx, "weft", "weft"); return err },
		func() error { _, err := root.AuthEnable(ctx); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := etcd.Open(ctx, etcd.Options{Client: member.Client(), Prefix: prefix})
	t.Log(err)
	refused(t, err, core.StoreFailed, "etcd refuses this user or password")
	client := member.As("weft", "secret")
	s := open(t, client, etcdtest.Lead(t, client, prefix))
	commit(t, s, meta(1))
	_, err = etcd.Open(ctx, etcd.Options{Client: client, Prefix: "/weft/other/"})
	t.Log(err)
	refused(t, err, core.StoreFailed, "does not let this user")
}

// A member of another cluster has other revisions, and knows nothing of this store.
func TestAnotherCluster(t *testing.T) {
	t.Parallel()
	one, two := etcdtest.Start(t), etcdtest.Start(t, "--initial-cluster-token", "two")
	client := one.Client()
	s := open(t, client, etcdtest.Lead(t, client, prefix))
	commit(t, s, meta(1))
	client.SetEndpoints(two.Client().Endpoints()...)
	refused(t, s.Commit(t.Context(), []engine.Record{meta(2)}), core.StoreFailed, "is of another cluster")
	client.SetEndpoints(one.Client().Endpoints()...)
	if d := cmp.Diff([]engine.Record{meta(1)}, all(t, s)); d != "" {
		t.Error(d)
	}
	commit(t, s, meta(2))
}
