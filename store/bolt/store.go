package bolt

import (
	"errors"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// Options of Open.
type Options struct {
	Witness string // path of a file apart from the store that remembers the last commit's head; empty: none
	// Lost is told about a second after the witness was removed, replaced or could not be written, and told nil when it
	// is good again. Another goroutine calls it, before Close returns. Nil: nobody is told.
	Lost func(error)
	// Moved also opens a store that was copied elsewhere, or whose copy has not ended. No server may use one.
	Moved bool
}

// Store is an open file. Safe for concurrent use, though one writer is what it is made for.
type Store struct {
	*paged
	witness *witness
	seen    core.Head
	head    core.Head
	moved   record.Move
}

var _ engine.Store = (*Store)(nil)

var storeLayout = layout{
	kind: "store", tables: tableNames(), check: checkTable, serials: true, synced: true, witnessed: true,
}

func tableNames() []string {
	var names []string
	for t := engine.TableMeta; t <= engine.TableTombstone; t++ {
		names = append(names, record.TableName(t))
	}
	return names
}

func checkTable(table int, rec []byte) error {
	t, err := record.Peek(rec)
	if err == nil && int(t) != table {
		err = core.Errorf(core.StoreCorrupt, "a %s in it is a %s", record.TableName(engine.Table(table)), record.TableName(t))
	}
	return err
}

// Open opens the store at path, or makes an empty one where there is no file. It waits no longer than a moment for another process.
//
// Errors are core.StoreLocked, which names the process that has it; core.StoreCorrupt; core.StoreNewer; core.StoreMoved;
// and core.StoreFailed.
func Open(path string, o Options) (_ *Store, err error) {
	s := &Store{}
	var shape shape
	s.paged, shape, err = openPaged(path, storeLayout, func(tx *bbolt.Tx) (err error) {
		s.head, err = readHead(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if s.moved = shape.moved; !o.Moved {
		if err := s.moved.Refused(s.path); err != nil {
			return nil, err
		}
	}
	if o.Witness != "" {
		if s.witness, s.seen, err = openWitness(o.Witness, o.Lost); err != nil {
			return nil, err
		}
	}
	// With a damaged meta page bbolt falls back on the state before the last commit. A disk writes a meta page's one sector whole, so the last commit was
	// acknowledged: the store is taken to be behind.
	if shape.one && s.head.Store != "" && (s.seen.Store == "" || s.seen == s.head) {
		s.seen = s.head
		s.seen.Revision++
	}
	// A process that was killed after its last commit may not have noted it. Without this, one killed after another leaves
	// the witness any number of commits behind. Of another incarnation the engine judges first.
	if s.seen.Store == s.head.Store && s.seen.Incarnation == s.head.Incarnation && s.seen.Before(s.head) {
		s.witness.note(s.head)
	}
	return s, nil
}

// Head is that of the last commit; zero in an empty store.
func (s *Store) Head() core.Head {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head
}

// Seen is the newest head that was known outside the file when it was opened; zero where nothing was. With Head().Before(Seen()) the file is not the
// newest: it was put back from a backup, made anew, or lost its last commit to damage.
func (s *Store) Seen() core.Head { return s.seen }

// Stats are numbers of the file.
type Stats struct {
	Bytes int64 // of the file's used part
	Free  int64 // of these, free to be used again; Open gives them back when they are more than half
}

// Stats are the file's numbers now.
func (s *Store) Stats() (Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return Stats{}, err
	}
	var out Stats
	err := s.view(func(tx *bbolt.Tx) error { out.Bytes = tx.Size(); return nil })
	st := s.db.Stats()
	out.Free = int64(st.FreePageN+st.PendingPageN) * pageSize
	return out, err
}

// Close lets the file and its lock go. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	w := s.witness
	s.witness = nil
	s.mu.Unlock()
	return errors.Join(w.close(), s.paged.Close())
}

func readHead(tx *bbolt.Tx) (core.Head, error) {
	v := tx.Bucket(bucketName(engine.TableMeta)).Get(appendKey(nil, engine.Meta{}.Slot()))
	if v == nil {
		return core.Head{}, nil
	}
	r, err := new(record.Decoder).Decode(v[:len(v)-sumSize])
	if err != nil {
		return core.Head{}, err
	}
	return r.(engine.Meta).Head, nil
}
