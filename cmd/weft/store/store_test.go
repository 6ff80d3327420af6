package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/store/backup"
	"github.com/weft-hpc/weft/store/bolt"
	"github.com/weft-hpc/weft/store/record"
	"github.com/weft-hpc/weft/store/storetest"
)

func meta(revision uint64) engine.Meta {
	return engine.Meta{Head: core.Head{Store: "a", Epoch: 1, Revision: revision}, Serial: 3}
}

// saved writes a backup of records, and gives its path.
func saved(t *testing.T, list ...engine.Record) string {
	t.Helper()
	var out bytes.Buffer
	err := backup.Write(&out, func(put func([]byte) error) error { return putAll(put, list) })
	path := filepath.Join(t.TempDir(), "backup")
	if err == nil {
		err = os.WriteFile(path, out.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// printed runs a command, and gives its output.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	stdout := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = stdout }()
	cmd := New(&cli.Options{})
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Text of a store can do nothing to a terminal.
func TestShowHostileText(t *testing.T) {
	job := storetest.Job(1)
	job.Job.User, job.Job.Job = "eve\x1b]0;", "7\n8"
	path := saved(t, meta(1), engine.Node{Name: "n1\x1b[2J", Drained: "a \u202e fan\r", DrainedBy: "\x07"}, job,
		engine.Transition{Serial: 1, State: 200, Why: "\x1b[31m"})
	for _, args := range [][]string{{"show", path}, {"show", path, "-o", "json"}} {
		text := printed(t, args...)
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && core.Shown(r) != r }); i >= 0 {
			t.Errorf("%v: %q", args, text[i:])
		}
	}
}

// broken stops at one of the steps of a copy, as if it was killed there.
type broken struct {
	place
	steps *int
}

var errKilled = errors.New("killed")

func (b broken) step() error {
	if *b.steps--; *b.steps < 0 {
		return errKilled
	}
	return nil
}

func (b broken) create(ctx context.Context, from string, fill func(put func([]byte) error) error) error {
	if err := b.step(); err != nil {
		return err
	}
	return errors.Join(b.place.create(ctx, from, fill), b.step())
}

func (b broken) hold(ctx context.Context) (held, error) {
	h, err := b.place.hold(ctx)
	return brokenHeld{h, b}, err
}

type brokenHeld struct {
	held
	broken
}

func (h brokenHeld) Move(ctx context.Context, m record.Move) error {
	if err := h.step(); err != nil {
		return err
	}
	return errors.Join(h.held.Move(ctx, m), h.step())
}

// A copy that is killed at any point leaves at most one store that a server can use, and another call ends it.
func TestACopyThatIsKilled(t *testing.T) {
	inFolder := func(t *testing.T, name string) place {
		p, err := fileAt(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Run("files", func(t *testing.T) { t.Parallel(); copies(t, inFolder, inFolder) })
	endpoints := etcdtest.Start(t).Client().Endpoints()
	belowPrefix := func(t *testing.T, name string) place {
		p, err := etcdAt(config.Etcd{Endpoints: endpoints, Prefix: t.Name() + "/" + name + "/", Lease: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Run("file to etcd", func(t *testing.T) { t.Parallel(); copies(t, inFolder, belowPrefix) })
	t.Run("etcd to file", func(t *testing.T) { t.Parallel(); copies(t, belowPrefix, inFolder) })
	t.Run("etcd", func(t *testing.T) { t.Parallel(); copies(t, belowPrefix, belowPrefix) })
}

// copies kills copies between two kinds of places.
func copies(t *testing.T, fromAt, toAt func(t *testing.T, name string) place) {
	want := []engine.Record{meta(9), engine.Node{Name: "n1"}, storetest.Job(1), storetest.Job(2)}
	for killed := range 7 {
		t.Run(fmt.Sprint("killed at ", killed), func(t *testing.T) {
			from, to := fromAt(t, "from"), toAt(t, "to")
			err := from.create(t.Context(), "", func(put func([]byte) error) error { return putAll(put, want) })
			if err != nil {
				t.Fatal(err)
			}
			steps := killed
			_, err = moveTo(t.Context(), broken{from, &steps}, broken{to, &steps})
			if (err == nil) != (killed == 6) {
				t.Fatalf("the copy has other steps: %v", err)
			}
			left := slices.DeleteFunc([]place{from, to}, func(p place) bool { return !usable(t, p) })
			if len(left) > 1 {
				t.Fatal("both stores can be used")
			}
			if killed == 6 || killed == 5 { // it has ended
				if len(left) != 1 || left[0].String() != to.String() {
					t.Errorf("%v can be used, want %v", left, to)
				}
				return
			}
			if n, err := moveTo(t.Context(), from, to); err != nil || n != len(want) {
				t.Fatalf("again: %d, %v", n, err)
			}
			if usable(t, from) || !usable(t, to) {
				t.Error("another server can use it")
			}
		})
	}
}

func putAll(put func([]byte) error, list []engine.Record) error {
	for _, r := range list {
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

// usable reports whether a server can use the store at a place.
func usable(t *testing.T, p place) bool {
	t.Helper()
	if f, ok := p.(inFile); ok {
		if _, err := os.Stat(string(f)); err != nil {
			return false
		}
		s, err := bolt.Open(string(f), bolt.Options{})
		if core.ReasonOf(err) == core.StoreMoved {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		return s.Close() == nil
	}
	s, err := p.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	n := 0
	if err := s.Load(t.Context(), func(engine.Record) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return s.Moved() == record.Move{} && n > 0
}
