package bolt_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/disktest"
	"github.com/weft-hpc/weft/store/bolt"
)

// TestPowerIsCut cuts the power of a store whose syncs and writes fail now and then. The store keeps each acknowledged
// commit, and each record that Load told. A restart every few commits compacts it.
func TestPowerIsCut(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]string{
		"sound disk":                    nil,
		"the sync of pages fails":       {"fdatasync:error=EIO:when=9+12"},
		"the sync of a meta page fails": {"fdatasync:error=EIO:when=10+12"},
		"a write fails":                 {"pwrite64:error=ENOSPC:when=60+41"},
	} {
		t.Run(name, func(t *testing.T) {
			disktest.Cut(t, faults, commitAndRestart, whatWasToldIsThere)
		})
	}
}

// commitAndRestart goes on after each failed commit. Now and then, and before a restart, it loads everything again, as
// the server always does.
func commitAndRestart(dir string, tell func(string)) error {
	path, failed := filepath.Join(dir, "weft.db"), 0
	for revision := uint64(1); revision < 30; {
		s, err := bolt.Open(path, bolt.Options{})
		if failed++; err != nil && failed < 10 {
			continue
		}
		if err != nil {
			return err
		}
		for end := revision + 10; revision < end; revision++ {
			err := s.Commit(context.Background(), work(revision))
			if err == nil {
				tell(fmt.Sprint(revision))
				continue
			}
			if failed++; failed%2 == 0 && revision+1 < end {
				continue
			}
			var there []string
			err = s.Load(context.Background(), func(r engine.Record) error {
				if r, ok := r.(engine.Reservation); ok {
					there = append(there, fmt.Sprint(r.Serial))
				}
				return nil
			})
			if err != nil {
				return err
			}
			tell(strings.Join(there, " "))
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

func whatWasToldIsThere(t *testing.T, dir string, told []string) {
	if len(told) == 0 {
		return
	}
	s, err := bolt.Open(filepath.Join(dir, "weft.db"), bolt.Options{})
	if err != nil {
		t.Fatalf("after %q: %v", told, err)
	}
	var there []uint64
	for _, r := range all(t, s) {
		if r, ok := r.(engine.Reservation); ok {
			there = append(there, r.Serial)
		}
	}
	head := s.Head().Revision
	shut(t, s)
	for _, serial := range strings.Fields(strings.Join(told, " ")) {
		n, _ := strconv.ParseUint(serial, 10, 64)
		if n > head || n+30 > head && !slices.Contains(there, n) {
			t.Fatalf("after %q reservation %d is lost: the store is at revision %d and has %d", told, n, head, there)
		}
	}
}

// TestWitnessOutlivesThePower: the first commit of an incarnation is durable in the witness too. A copy of the store
// from before that commit is then known as old.
func TestWitnessOutlivesThePower(t *testing.T) {
	t.Parallel()
	disktest.Cut(t, nil, incarnations, func(t *testing.T, dir string, told []string) {
		if len(told) == 0 {
			return
		}
		path, o := paths(dir)
		s, err := bolt.Open(path, o)
		if err != nil {
			t.Fatalf("after %q: %v", told, err)
		}
		defer shut(t, s)
		want, _ := strconv.ParseUint(told[len(told)-1], 10, 64)
		if got := s.Seen().Incarnation; got < want {
			t.Errorf("incarnation %d has granted, and the witness knows %d", want, got)
		}
	})
}

// incarnations commits in some and tells each after its first commit.
func incarnations(dir string, tell func(string)) error {
	path, o := paths(dir)
	for incarnation := uint64(1); incarnation < 4; incarnation++ {
		s, err := bolt.Open(path, o)
		if err != nil {
			return err
		}
		for range 3 {
			m := meta(s.Head().Revision + 1)
			m.Head.Epoch, m.Head.Incarnation = incarnation, incarnation
			if err := s.Commit(context.Background(), []engine.Record{m}); err != nil {
				return err
			}
			tell(fmt.Sprint(incarnation))
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}
