package main

import (
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ended waits until a daemon ends by itself and gives its exit code and the last line that it said.
func (d *daemons) ended(name string) (code int, said string) {
	d.t.Helper()
	p := d.procs[name]
	d.until(name+" ends", func() (bool, string) { return over(p), d.log(name) })
	_ = p.Wait()
	lines := strings.Split(strings.TrimSpace(d.log(name)), "\n")
	return p.ProcessState.ExitCode(), lines[len(lines)-1]
}

// A daemon whose store or ledger is no file, is damaged, or lacks its last commit says so and ends. Once an
// administrator has moved a ledger away, the node holds what it finds on its NICs.
func TestDaemonsRefuseBadFiles(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	k := d.mustBegin("n1")
	before := d.services("n1")
	for name, path := range map[string]string{theServer: d.path("server.db"), "n1": d.path("n1", "ledger.db")} {
		d.kill(name)
		whole, err := os.ReadFile(path)
		d.must(err)
		for kind, put := range map[string]func() error{
			"FIFO":        func() error { return syscall.Mkfifo(path, 0o600) },
			"folder":      func() error { return os.Mkdir(path, 0o700) },
			"text":        func() error { return os.WriteFile(path, []byte(strings.Repeat("no store\n", 2000)), 0o600) },
			"short file":  func() error { return os.WriteFile(path, whole[:3*4096], 0o600) },
			"lost commit": func() error { return os.WriteFile(path, append(make([]byte, 4096), whole[4096:]...), 0o600) },
		} {
			if kind == "lost commit" && name == theServer {
				continue // its witness judges
			}
			d.must(os.RemoveAll(path))
			d.must(put())
			d.start(name)
			code, said := d.ended(name)
			if code != 1 || !strings.HasPrefix(said, "weft: ") || !strings.Contains(said, path) {
				t.Errorf("%s with a %s: exit code %d, and it said %q", name, kind, code, said)
			}
		}
		d.must(os.RemoveAll(path))
		if name == theServer {
			d.must(os.WriteFile(path, whole, 0o600))
		}
		d.start(name)
	}
	d.attached()
	if diff := cmp.Diff(before, d.services("n1")); diff != "" {
		t.Errorf("without its ledger the agent did not keep the services: -before +after\n%s", diff)
	}
	if second := d.mustBegin("n1"); second.vnis == k.vnis {
		t.Errorf("VNI %s is in two jobs", k.vnis)
	}
}

// A store or ledger that another program cuts short ends no daemon and is not written to any more.
func TestFilesAreCutUnderDaemons(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	d.mustBegin("n1")
	for name, path := range map[string]string{theServer: d.path("server.db"), "n1": d.path("n1", "ledger.db")} {
		whole, err := os.ReadFile(path)
		d.must(err)
		d.must(os.Truncate(path, 2*4096))
		if k, err := d.begin("n1"); err == nil {
			t.Errorf("%s: job %s began though its file was cut", name, k.job)
		} else if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "another program cut it") {
			t.Errorf("%s: it does not say why: %v", name, err)
		}
		d.terminate(name)
		d.must(os.WriteFile(path, whole, 0o600))
		d.start(name)
		d.attached()
	}
}

// terminate ends a daemon by SIGTERM within 5 seconds.
func (d *daemons) terminate(name string) {
	d.t.Helper()
	p, began := d.procs[name], time.Now()
	d.must(p.Process.Signal(syscall.SIGTERM))
	d.until(name+" ends", func() (bool, string) { return over(p), d.log(name) })
	if took := time.Since(began); took > 5*time.Second {
		d.t.Errorf("%s took %v to end after SIGTERM", name, took)
	}
	_ = p.Wait()
}

// A daemon ends by SIGTERM at every moment of its start.
func TestDaemonsEndWhileTheyStart(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	for range 8 {
		for _, name := range []string{theServer, "n1"} {
			d.start(name)
			<-time.After(time.Duration(rand.Int64N(int64(300 * time.Millisecond))))
			d.terminate(name)
		}
	}
}
