package history_test

import (
	"bytes"
	"encoding/json"
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
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func made(serial uint64) engine.Reservation {
	r := engine.Reservation{Serial: serial, Made: noon.Add(time.Duration(serial) * time.Minute), VNIs: []engine.Taken{{VNI: 1024 + core.VNI(serial)}}, Grant: engine.Decision{Policy: "p", Now: noon.Unix()}}
	r.Job.User, r.Job.Account, r.Job.Queue = "ann", "phys", "io"
	r.Job.Placements = []core.Placement{{Hosts: "n[1-2]", Nodes: 2, Cores: 8}}
	r.Job.Request.VNIs = 1
	return r
}

func open(t *testing.T, path string, size int64) *history.Writer {
	t.Helper()
	w, err := history.Open(path, size, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func shut(t *testing.T, w *history.Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.jsonl")
	w := open(t, path, 0)
	w.Made(made(1))
	w.Made(made(2))
	w.Ended(1, noon.Add(time.Hour))
	w.Ended(7, noon) // was made before there was a history
	shut(t, w)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString("{\"serial\":3,\"ma\n") // a write that failed
	_ = f.Close()
	w = open(t, path, 0)
	w.Ended(1, noon.Add(2*time.Hour)) // once more, when its VNI is free
	shut(t, w)
	rows, bad, err := history.Read(path, time.Time{})
	if err != nil || bad != 1 || len(rows) != 2 {
		t.Fatalf("%d rows, %d bad, %v", len(rows), bad, err)
	}
	r := rows[0]
	if r.Serial != 1 || !r.Ended.Equal(noon.Add(time.Hour)) || r.Job.User != "ann" || r.Job.Nodes != "n[1-2]" || r.Job.Cores != 8 || r.Job.Request.VNIs != 1 || r.VNIs[0] != 1025 || r.Policy != "p" {
		t.Errorf("%+v", r)
	}
	if !r.Job.Now.Equal(noon) {
		t.Errorf("it was decided at %v, not %v", r.Job.Now, noon)
	}
	if !rows[1].Ended.IsZero() {
		t.Errorf("a job that runs has ended: %+v", rows[1])
	}
	if rows, _, _ = history.Read(path, noon.Add(90*time.Minute)); len(rows) != 1 || rows[0].Serial != 2 {
		t.Errorf("since then there are %+v", rows)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// As it is printed it is read again.
	var b bytes.Buffer
	for _, r := range rows {
		_ = json.NewEncoder(&b).Encode(r)
	}
	again, err := history.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, again); diff != "" {
		t.Error(diff)
	}
}

func TestSizeAndCountAreBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.jsonl")
	const size = 1000
	for i := range uint64(100) { // anew each time: a restart counts what the file has
		w := open(t, path, size)
		w.Made(made(i + 1))
		shut(t, w)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != history.Files+1 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		if info, _ := e.Info(); info.Size() > size {
			t.Errorf("%s has %d bytes", e.Name(), info.Size())
		}
	}
	rows, bad, err := history.Read(path, time.Time{})
	if err != nil || bad != 0 || len(rows) < 5 || rows[len(rows)-1].Serial != 100 {
		t.Fatalf("%d rows, %d bad, %v", len(rows), bad, err)
	}
	for i, r := range rows {
		if r.Serial != rows[0].Serial+uint64(i) {
			t.Errorf("row %d is %d", i, r.Serial)
		}
	}
}

func TestWritesThatFailStopNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "jobs.jsonl")
	w := open(t, path, 1)
	w.Made(made(1))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(100_000) { // more than may wait
		w.Made(made(i))
	}
	shut(t, w)
	if _, _, err := history.Read(path, time.Time{}); err == nil {
		t.Error("a history that is not there was read")
	}
	if _, err := history.Open(path, 0, slog.Default()); err == nil || !strings.Contains(err.Error(), "jobs.jsonl") {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"made":"2026-01-01T12:00:00Z","job":{"user":"ann","nodes":4}}`))
	f.Add([]byte("{}\n\n[]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := history.Parse(bytes.NewReader(text))
		if err == nil && len(rows) > bytes.Count(text, []byte("\n"))+1 {
			t.Errorf("%d rows", len(rows))
		}
	})
}

// TestRefusals: they stand beside the jobs, and those of the last day are found again.
func TestRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.jsonl")
	if all, err := history.Refusals(path, noon, 9); len(all) > 0 || err != nil {
		t.Errorf("without a file: %+v, %v", all, err)
	}
	w := open(t, path, 300) // several files
	job := core.JobID{Scheduler: "tioga", Job: "7"}
	w.Refused(job, 1000, "n1", "long ago", noon.Add(-time.Hour))
	w.Made(made(1))
	for i := range 3 {
		w.Refused(job, 1000, "n1", "no VNI is left", noon.Add(time.Duration(i)*time.Minute))
	}
	shut(t, w)
	all, err := history.Refusals(path, noon, 2)
	want := []history.Refusal{
		{Job: job, UID: 1000, Node: "n1", Why: "no VNI is left", At: noon.Add(time.Minute)},
		{Job: job, UID: 1000, Node: "n1", Why: "no VNI is left", At: noon.Add(2 * time.Minute)},
	}
	if diff := cmp.Diff(want, all); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if rows, bad, err := history.Read(path, time.Time{}); len(rows) != 1 || bad != 0 || err != nil {
		t.Errorf("the jobs beside them: %+v, %d bad, %v", rows, bad, err)
	}
}
