package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// doctor runs the doctor on the daemon in a folder, and gives its output.
func (d *daemons) doctor(code int, dir string) string {
	d.t.Helper()
	d.must(os.RemoveAll(d.path("doctor.log")))
	p := d.weft("doctor.log", "--dir", d.path(dir), "doctor", "--config", d.path("n1.hcl"))
	_ = p.Wait()
	if got := p.ProcessState.ExitCode(); got != code {
		d.t.Errorf("the doctor in %s ends with %d, want %d:\n%s", dir, got, code, d.log("doctor"))
	}
	return "\n" + d.log("doctor")
}

// TestDaemonsBelieveOnlyRootsFiles spoils one file after the other, through which another user could tell a daemon what
// to do. The daemon must not start then, and must say what fixes it.
func TestDaemonsBelieveOnlyRootsFiles(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up() // leaves a store, a witness and a ledger
	d.kill(theServer)
	d.kill("n1")
	const stranger = 64001
	for _, tt := range []struct {
		path, what string
		mode       os.FileMode // 0: it belongs to a stranger
		of         []string    // daemons
	}{
		{path: "server.hcl", what: "the configuration", of: []string{theServer}},
		{path: "n1.hcl", what: "the configuration", mode: 0o664, of: []string{"n1"}},
		{path: "policy", what: "the policy", mode: 0o777, of: []string{theServer, "n1"}},
		{path: "policy", what: "the policy", mode: 0o777 | os.ModeSticky, of: []string{theServer}},
		{path: "policy/default.policy.hcl", what: "the policy", mode: 0o646, of: []string{theServer, "n1"}},
		{path: "tls", what: "a certificate", mode: 0o770, of: []string{theServer}},
		{path: "tls/ca.crt", what: "a certificate", of: []string{theServer}},
		{path: "tls/server.key", what: "a key", mode: 0o640, of: []string{theServer}},
		{path: "tls/ca.key", what: "a key", mode: 0o604, of: []string{theServer}},
		{path: "n1.tls/n1.key", what: "a key", mode: 0o644, of: []string{"n1"}},
		{path: "n1.tls/n1.crt", what: "a certificate", mode: 0o666, of: []string{"n1"}},
		{path: "run", what: "the run directory", mode: 0o775, of: []string{theServer}},
		{path: "run/server.head", what: "the store's witness", of: []string{theServer}},
		{path: "server.db", what: "the store", mode: 0o620, of: []string{theServer}},
		{path: "n1", what: "the run directory", of: []string{"n1"}},
		{path: "n1/ledger.db", what: "the ledger", mode: 0o622, of: []string{"n1"}},
		{path: ".", what: "the configuration", mode: 0o757, of: []string{theServer, "n1"}},
	} {
		path := d.path(tt.path)
		before, err := os.Stat(path)
		d.must(err)
		if tt.mode == 0 {
			d.must(os.Chown(path, stranger, -1))
		} else {
			d.must(os.Chmod(path, tt.mode))
		}
		for _, name := range tt.of {
			d.must(os.RemoveAll(d.path(name + ".log")))
			d.start(name)
			p := d.procs[name]
			d.until(name+" ends", func() (bool, string) {
				return over(p) || strings.Contains(d.log(name), "msg=serving"), d.log(name)
			})
			if !over(p) {
				t.Errorf("%s: %s believes it", tt.path, name)
				d.kill(name)
				continue
			}
			_ = p.Wait()
			if code := p.ProcessState.ExitCode(); code != 2 {
				t.Errorf("%s: %s ends with %d", tt.path, name, code)
			}
			for _, part := range []string{path + ": error: " + tt.what, "`ch"} {
				if said := d.log(name); !strings.Contains(said, part) {
					t.Errorf("%s: %s does not say %q:\n%s", tt.path, name, part, said)
				}
			}
		}
		d.must(os.Chmod(path, before.Mode()))
		d.must(os.Chown(path, int(before.Sys().(*syscall.Stat_t).Uid), -1))
	}
	d.up()

	// While daemons run, the doctor warns of it; of a daemon that does not run it tells what keeps it from its start.
	k := d.mustBegin("n1")
	env := rundir.EnvironPath(d.run("n1").Environs(), core.JobID{Scheduler: "local", Job: k.job})
	said := d.doctor(0, "run") + d.doctor(0, "n1")
	if n := strings.Count(said, "\ngood      no other user can change the files"); n != 2 {
		t.Errorf("%d daemons have good files:\n%s", n, said)
	}
	d.must(os.Chmod(d.path("policy", "default.policy.hcl"), 0o666))
	d.must(os.Chmod(env, 0o644))
	for _, dir := range []string{"run", "n1"} {
		want := "warning   " + d.path("policy", "default.policy.hcl") + ": the policy depends on it: others than"
		if said := d.doctor(1, dir); !strings.Contains(said, want) {
			t.Errorf("the doctor in %s does not say %q:\n%s", dir, want, said)
		}
	}
	if want, said := "warning   "+env+": it is not believed", d.doctor(1, "n1"); !strings.Contains(said, want) {
		t.Errorf("the doctor does not say %q:\n%s", want, said)
	}
	d.kill("n1")
	for _, want := range []string{"critical  the agent does not", "critical  " + d.path("policy", "default.policy.hcl")} {
		if said := d.doctor(2, "n1"); !strings.Contains(said, want) {
			t.Errorf("the doctor of an agent that does not run does not say %q:\n%s", want, said)
		}
	}

	// A reload refuses what a start would.
	if said := d.reload("run"); !strings.Contains(said, "default.policy.hcl: error: the policy depends on it") {
		t.Errorf("the reload says:\n%s", said)
	}
}
