package bolt_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/bolt"
	"github.com/weft-hpc/weft/store/memory"
	"github.com/weft-hpc/weft/store/record"
	"github.com/weft-hpc/weft/store/storetest"
)

func child(t *testing.T, mode, dir string, under ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(under, exe, dir)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"="+mode)
	cmd.Stderr = os.Stderr
	return cmd
}

// work is the batch of a revision: now many large records, now their deletion, so that the file grows, empties and is compacted; and always a few small.
func work(revision uint64) []engine.Record {
	batch := []engine.Record{storetest.Job(revision), engine.Transition{Serial: revision, State: engine.Active}}
	for i := range revision % 5 {
		batch = append(batch, engine.Join{Serial: revision, Node: fmt.Sprint("n", i), Boot: "b"})
	}
	if revision > 30 {
		batch = append(batch, engine.Delete{At: engine.Reservation{Serial: revision - 30}.Slot()}, engine.Tombstone{Serial: revision})
	}
	if large := strings.Repeat(string(rune('a'+revision%26)), 16<<10); revision%4 == 0 {
		for i := range 20 {
			r := engine.Text{Hash: fmt.Sprint(i), Text: large}
			if revision%8 == 0 {
				batch = append(batch, r)
			} else {
				batch = append(batch, engine.Delete{At: r.Slot()})
			}
		}
	}
	return append(batch, meta(revision))
}

func paths(dir string) (store string, o bolt.Options) {
	return filepath.Join(dir, "weft.db"), bolt.Options{Witness: filepath.Join(dir, "head")}
}

// commitForever writes each revision to standard output once its commit is acknowledged.
func commitForever(dir string) error {
	path, o := paths(dir)
	s, err := bolt.Open(path, o)
	if err != nil {
		return err
	}
	for revision := s.Head().Revision + 1; ; revision++ {
		if err := s.Commit(context.Background(), work(revision)); err != nil {
			return err
		}
		if err := binary.Write(os.Stdout, binary.BigEndian, revision); err != nil {
			return err
		}
	}
}

// TestKill kills a committing process at random moments: in its commits, while it opens the store, while it compacts it.
func TestKill(t *testing.T) {
	t.Parallel()
	for lane := range 4 {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			killLane(t, 50)
		})
	}
}

// killLane kills one process after the other over one store.
func killLane(t *testing.T, rounds int) {
	dir := t.TempDir()
	path, _ := paths(dir)
	model, at := memory.New(), uint64(0)
	more, compacted := 0, 0
	var before os.FileInfo
	for round := range rounds {
		cmd := child(t, "commit", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acks := bufio.NewReader(out)
		acked := at
		read := func() bool {
			var revision uint64
			if err := binary.Read(acks, binary.BigEndian, &revision); err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatal(err)
				}
				return false
			}
			if revision != acked+1 {
				t.Fatalf("round %d: revision %d was acknowledged after %d", round, revision, acked)
			}
			acked = revision
			return true
		}
		// Some are killed before their first commit, at any time from exec on; the others at any time within one.
		moment := time.Duration(rand.Int64N(int64(time.Millisecond)))
		if round%4 == 0 {
			moment = time.Duration(rand.Int64N(int64(25 * time.Millisecond)))
		} else {
			for range rand.IntN(7) + 1 {
				if !read() {
					t.Fatalf("round %d: the child ended by itself", round)
				}
			}
		}
		<-time.NewTimer(moment).C
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for read() {
		}
		_ = cmd.Wait()
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) && acked == 0 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && !os.SameFile(before, info) {
			compacted++
		}
		before = info

		// A copy is looked at, so that what the killed one left is the next one's to open.
		twin, o := copied(t, dir)
		s := open(t, twin, o)
		head := s.Head().Revision
		if head != acked && head != acked+1 {
			t.Fatalf("round %d: %d was the last revision acknowledged, the store has %d", round, acked, head)
		}
		more += int(head - acked)
		for ; at < head; at++ {
			commit(t, model, work(at+1)...)
		}
		if want, got := image(t, model), image(t, s); !bytes.Equal(want, got) {
			t.Fatalf("round %d: the store at revision %d has %d bytes of records, or others than the %d that were written", round, head, len(got), len(want))
		}
		if s.Head().Before(s.Seen()) || s.Seen().Revision+1 < head {
			t.Fatalf("round %d: the witness says %+v, the store %+v", round, s.Seen(), s.Head())
		}
		shut(t, s)
	}
	if compacted == 0 {
		t.Error("no killed process had compacted the file, so that was not tried")
	}
	t.Logf("%d kills in %d revisions: %d fell between a commit and its acknowledgement, %d times the child had compacted the file", rounds, at, more, compacted)
}

func copied(t *testing.T, dir string) (string, bolt.Options) {
	to := t.TempDir()
	for _, name := range []string{"weft.db", "head"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths(to)
}

// image is all of a store's records as bytes.
func image(t *testing.T, s engine.Store) []byte {
	var b []byte
	for _, r := range all(t, s) {
		var err error
		if b, err = record.Append(b, r); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// commitFew makes ten commits and acknowledges each in a write of its own.
func commitFew(dir string) error {
	path, o := paths(dir)
	s, err := bolt.Open(path, o)
	if err != nil {
		return err
	}
	for revision := range uint64(10) {
		if _, err := os.Stdout.WriteString("begin\n"); err != nil {
			return err
		}
		if err := s.Commit(context.Background(), []engine.Record{storetest.Job(revision), meta(revision + 1)}); err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString("done\n"); err != nil {
			return err
		}
	}
	return s.Close()
}

// TestCommitSyncsBeforeItAnswers counts syncs, since a killed process leaves its writes in the page cache whether they were synced or not.
func TestCommitSyncsBeforeItAnswers(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed, so syncs cannot be counted")
	}
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace")
	cmd := child(t, "few", dir, strace, "-f", "-qq", "-e", "trace=write,pwrite64,fdatasync,fsync", "-e", "signal=none", "-o", trace)
	if err := cmd.Run(); err != nil {
		t.Fatalf("under strace: %v", err)
	}
	lines, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	var commits, syncs, unsynced int
	for line := range strings.Lines(string(lines)) {
		switch {
		case strings.Contains(line, `"begin\n"`):
			syncs, unsynced = 0, 0
		case strings.Contains(line, `"done\n"`):
			commits++
			// One for the data before the meta page that leads to it, one for the meta page.
			if syncs < 2 {
				t.Errorf("commit %d answered after %d syncs", commits, syncs)
			}
			if unsynced > 0 {
				t.Errorf("commit %d answered with %d writes to its file after the last sync", commits, unsynced)
			}
		case strings.Contains(line, "sync") && strings.Contains(line, "= 0"):
			syncs++
			unsynced = 0
		case strings.Contains(line, "pwrite64(") && !strings.Contains(line, "weft2"):
			unsynced++
		}
	}
	if commits != 10 {
		t.Errorf("the trace shows %d commits of 10", commits)
	}
}

// fillDisk commits under a limit of the file's size until it fails.
func fillDisk(dir string) error {
	path, o := paths(dir)
	s, err := bolt.Open(path, o)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	limit := was
	limit.Cur = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	model := memory.New()
	ctx := context.Background()
	full := uint64(0)
	for revision := uint64(1); full == 0; revision++ {
		batch := []engine.Record{engine.Text{Hash: fmt.Sprint(revision), Text: strings.Repeat("x", 50000)}, meta(revision)}
		err := s.Commit(ctx, batch)
		switch e := core.AsError(err); {
		case err == nil:
			if err := model.Commit(ctx, batch); err != nil {
				return err
			}
		case e.Reason != core.StoreFailed || !errors.Is(err, syscall.EFBIG) && !strings.Contains(err.Error(), syscall.EFBIG.Error()):
			return fmt.Errorf("on a full disk: %w", err)
		default:
			full = revision
		}
		if revision > 100 {
			return errors.New("the disk never got full")
		}
	}
	check := func(when string) error {
		var want, got []string
		if err := model.Load(ctx, func(r engine.Record) error { want = append(want, fmt.Sprint(r)); return nil }); err != nil {
			return err
		}
		if err := s.Load(ctx, func(r engine.Record) error { got = append(got, fmt.Sprint(r)); return nil }); err != nil {
			return fmt.Errorf("%s the store cannot be read: %w", when, err)
		}
		if len(want) < 5 || strings.Join(want, "\n") != strings.Join(got, "\n") {
			return fmt.Errorf("%s the store has %d records, not the %d that were acknowledged", when, len(got), len(want))
		}
		return nil
	}
	if err := check("on a full disk"); err != nil {
		return err
	}
	big := []engine.Record{engine.Text{Hash: "big", Text: strings.Repeat("x", 1<<20)}, meta(full)}
	for range 2 {
		if err := s.Commit(ctx, big); err == nil || core.AsError(err).Reason != core.StoreFailed {
			return fmt.Errorf("a second commit on a full disk: %w", err)
		}
		if err := check("after a second failure"); err != nil {
			return err
		}
	}
	if left, _ := filepath.Glob(path + ".new"); len(left) > 0 {
		return errors.New("a file in the making was left on the full disk")
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	for _, to := range []engine.Store{s, model} {
		if err := to.Commit(ctx, big); err != nil {
			return fmt.Errorf("with room again: %w", err)
		}
	}
	return check("with room again")
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	cmd := child(t, "disk full", t.TempDir())
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}

// hold keeps the store open until standard input ends.
func hold(dir string) error {
	path, o := paths(dir)
	s, err := bolt.Open(path, o)
	if err != nil {
		return err
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

func TestSecondOpenNamesTheFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, o := paths(dir)
	cmd := child(t, "hold", dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "open\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	_, err = bolt.Open(path, o)
	e := reason(t, err, core.StoreLocked)
	want := fmt.Sprintf("store: %s: process %d (%s) has it open", path, cmd.Process.Pid, filepath.Base(os.Args[0]))
	if e.What != want {
		t.Errorf("got  %q\nwant %q", e.What, want)
	}
	err = restore(path, strings.NewReader(""), time.Now())
	reason(t, err, core.StoreLocked)
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, o)
	_, err = bolt.Open(path, o)
	if e := reason(t, err, core.StoreLocked); !strings.Contains(e.What, fmt.Sprintf("process %d ", os.Getpid())) {
		t.Errorf("in one process: %q", e.What)
	}
	commit(t, s, meta(1))
}
