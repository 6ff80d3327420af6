package etcd_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/store/backup"
	"github.com/weft-hpc/weft/store/etcd"
	"github.com/weft-hpc/weft/store/record"
	"github.com/weft-hpc/weft/store/storetest"
)

// marked opens a store, wherever it was copied to.
func marked(t *testing.T, client *clientv3.Client, leader int64) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), etcd.Options{Client: client, Prefix: prefix, Leader: leader, Moved: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// putting puts records as bytes.
func putting(records ...engine.Record) func(put func([]byte) error) error {
	return func(put func([]byte) error) error {
		for _, r := range records {
			b, err := record.Append(nil, r)
			if err == nil {
				err = put(b)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// A backup has the store between two commits, also while commits go on.
func TestExport(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	s := open(t, client, etcdtest.Lead(t, client, prefix))
	storetest.Fill(t, s, 100)
	want := all(t, s)
	var out bytes.Buffer
	revision := uint64(100)
	err := s.Export(t.Context(), writing(func(p []byte) (int, error) {
		revision++
		commit(t, s, meta(revision), engine.Node{Name: "n1"})
		return out.Write(p)
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []engine.Record
	err = backup.Read("b", &out, func(r engine.Record, _ []byte) error { got = append(got, r); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if names := s.Nodes(); len(names) != 1 || names[0] != "n1" {
		t.Errorf("nodes %v", names)
	}
}

type writing func([]byte) (int, error)

func (w writing) Write(p []byte) (int, error) { return w(p) }

// An empty store takes records once, and all or none of them.
func TestFill(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	s := open(t, client, etcdtest.Lead(t, client, prefix))
	no := errors.New("no")
	if err := s.Fill(t.Context(), "", func(func([]byte) error) error { return no }); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	want := append(big(7), engine.Reservation{Serial: 7})
	if err := s.Fill(t.Context(), "", putting(append(want, meta(8))...)); err != nil {
		t.Fatal(err)
	}
	want[0] = meta(8)
	if n := len(all(t, open(t, client, 0))); n != len(want) {
		t.Errorf("%d records, want %d", n, len(want))
	}
	commit(t, s, meta(9))
	for _, from := range []string{"", "/a"} {
		err := s.Fill(t.Context(), from, putting(meta(10)))
		refused(t, err, core.BadCall, "there is a store already: a")
	}
	refused(t, open(t, client, 0).Fill(t.Context(), "", nil), core.BadCall, "there is a store already")
}

// No server uses a store before the copy to it has ended, or after it was copied elsewhere. A standby that has followed
// it does not either.
func TestMoved(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	leader := etcdtest.Lead(t, client, prefix)
	standby := func() *etcd.Store { return open(t, client, 0) }
	isRefused := func(standby *etcd.Store, text string) {
		t.Helper()
		for range 2 {
			_, err := standby.Follow(t.Context())
			refused(t, err, core.StoreMoved, text)
		}
		_, err := etcd.Open(t.Context(), etcd.Options{Client: client, Prefix: prefix})
		refused(t, err, core.StoreMoved, text)
	}
	early, earlier := standby(), standby()
	s := marked(t, client, leader)
	for revision := range uint64(2) { // the second call replaces an unfinished copy
		if err := s.Fill(t.Context(), "/a", putting(meta(revision+1), storetest.Job(revision))); err != nil {
			t.Fatal(err)
		}
		if revision == 0 {
			isRefused(earlier, "the copy from /a to it has not ended")
		}
		s = marked(t, client, leader)
		if d := cmp.Diff([]engine.Record{meta(revision + 1), storetest.Job(revision)}, all(t, s)); d != "" {
			t.Error(d)
		}
	}
	isRefused(early, "the copy from /a to it has not ended")
	refused(t, s.Fill(t.Context(), "/b", putting(meta(1))), core.BadCall, "there is a store already")
	if err := s.Move(t.Context(), record.Move{}); err != nil {
		t.Fatal(err)
	}
	commit(t, s, meta(5))
	late := standby()
	if err := s.Move(t.Context(), record.Move{To: "/b"}); err != nil {
		t.Fatal(err)
	}
	isRefused(late, "it was copied to /b, which has its part now")
	if m := marked(t, client, 0).Moved(); m.To != "/b" {
		t.Errorf("%+v", m)
	}
	refused(t, marked(t, client, 0).Move(t.Context(), record.Move{}), core.StoreFailed, "does not lead")
}

// A check tells each fault of a store, and goes on.
func TestCheck(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client()
	s := saving(t, client)
	for i := range uint64(40) {
		commit(t, s, meta(1+i), engine.Node{Name: "n1", Boot: strings.Repeat("b", 1000)})
	}
	commit(t, s, meta(50), engine.Join{Serial: 7, Node: "n1"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check := func() (faults []string) {
		_, err := etcd.Check(t.Context(), etcd.Options{Client: client, Prefix: prefix}, func(err error) {
			faults = append(faults, err.Error())
		})
		if err != nil {
			t.Fatal(err)
		}
		return faults
	}
	want := []string{
		`join 7 "n1": its serial is higher than 0, the highest that was given`, `join 7 "n1": its reservation is missing`,
	}
	if d := cmp.Diff(want, check()); d != "" {
		t.Error(d)
	}
	for _, of := range []string{"page/", "part/"} {
		got, err := client.Get(t.Context(), prefix+of, clientv3.WithPrefix(), clientv3.WithLimit(1))
		if err != nil || len(got.Kvs) == 0 {
			t.Fatalf("%s: %v, %v", of, got, err)
		}
		value := got.Kvs[0].Value
		value[len(value)-1]++
		if _, err := client.Put(t.Context(), string(got.Kvs[0].Key), string(value)); err != nil {
			t.Fatal(err)
		}
	}
	faults := check()
	if len(faults) < 2 || !strings.HasPrefix(faults[0], "store: page/") || !strings.HasPrefix(faults[1], "store: part/") {
		t.Errorf("%q", faults)
	}
	for _, f := range faults[2:] {
		if strings.Contains(f, "part/") {
			t.Errorf("one damaged part has several faults: %q", faults)
		}
	}
}
