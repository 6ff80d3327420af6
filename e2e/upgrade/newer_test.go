package upgrade

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/dev/effort"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// TestNewerStore starts a server on a store of a later release: it refuses the store and names the way back. Then the
// test goes that way: a copy of the older store, and the nodes, which know their jobs.
func TestNewerStore(t *testing.T) {
	t.Parallel()
	effort.NeedNight(t)
	s := newSystem(t, mark, "n1")
	s.up()
	first := s.mustBegin("n1", s.program("n1", "weft"))
	s.stop(theServer)
	store, older := s.path(theServer, "server.db"), s.path(theServer, "older.db")
	must(t, copyFile(store, older))
	s.start(theServer)
	s.attached()
	second := s.mustBegin("n1", s.program("n1", "weft"))
	s.stop(theServer)

	later(t, store)
	s.start(theServer)
	if s.serves(theServer) {
		t.Fatal("the server takes a store of a later release")
	}
	log, err := os.ReadFile(s.path(theServer, "log"))
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	last := lines[len(lines)-1]
	for _, want := range []string{store, "its format is", "run that release, or restore a backup of this one"} {
		if !strings.Contains(last, want) {
			t.Errorf("the server's last word is %q, without %q", last, want)
		}
	}

	must(t, os.Rename(store, store+".newer"), os.Rename(older, store))
	s.start(theServer)
	if !s.serves(theServer) {
		t.Fatal("the server does not take the older store")
	}
	s.attached()
	s.until("the server has both jobs again", func() (bool, string) {
		rows, err := hook.List[server.VNIRow](t.Context(), s.socket(), "vnis", nil)
		seen := fmt.Sprint(rows, err)
		return strings.Contains(seen, first.vnis) && strings.Contains(seen, second.vnis), seen
	})
	third := s.granted("n1", s.program("n1", "weft"))
	if third.vnis == first.vnis || third.vnis == second.vnis {
		t.Errorf("VNI %s is in two jobs", third.vnis)
	}
	for _, k := range []*task{first, second, third} {
		k.finish()
	}
	s.clean()
}

// later makes a store one of a later release: its format is the next one.
func later(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error {
		about := tx.Bucket([]byte("weft"))
		format := binary.BigEndian.Uint32(about.Get([]byte("format")))
		return about.Put([]byte("format"), binary.BigEndian.AppendUint32(nil, format+1))
	}))
	must(t, db.Close())
}
