package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/server"
)

// TestServerOfAUser: PrivateData=jobs hides the jobs of others from a server with an ordinary User=. The server says so
// and keeps a job on two nodes. No node vouches for the job, since it is an allocation without a process. Its Epilog
// does nothing: Slurm's answers alone can end the job, and do once root asks.
func TestServerOfAUser(t *testing.T) {
	t.Parallel()
	w := newSite(t, setup{alloc: true, lines: []string{"PrivateData=jobs"},
		hooks: map[string]string{"epilog": "exit 0"}})
	w.mustAs(alice, "salloc", "--no-shell", "-J", "idle", "-N2")
	job := strings.TrimSpace(w.mustRoot("squeue", "-h", "-n", "idle", "-o", "%i"))
	until(t, "both nodes have its services", func() (bool, string) { return w.allServices() == 2*nics, w.state(job) })
	serveAs := func(u user) {
		t.Helper()
		w.procs[theServer].stop()
		w.mustRoot("chown", "-R", u.name, w.path("run"), w.path("tls"))
		w.server = u
		w.startServer()
	}
	ask := func(to any, verb string) bool { // weft trusts root's server, and its caller's
		t.Helper()
		out, err := w.as(w.server, filepath.Join(bin, "weft"), "--dir", w.path("run"), verb, "-o", "json")
		return err == nil && json.Unmarshal([]byte(out), to) == nil
	}

	serveAs(bob)
	var st server.Status
	var over time.Time // without that word the job is lost after two answers, which takes 2 s
	until(t, "the server calls Slurm blind, and 5 s pass", func() (bool, string) {
		if n := w.allServices(); n != 2*nics {
			t.Fatalf("job %s is %s, and has %d services", job, w.state(job), n)
		}
		if over.IsZero() && ask(&st, "status") && len(st.Blind) == 1 {
			over = time.Now().Add(5 * time.Second)
		}
		return !over.IsZero() && time.Now().After(over), fmt.Sprint(st.Blind)
	})
	if why := st.Blind[0]; !strings.Contains(why, "PrivateData=jobs hides jobs from user "+bob.name) {
		t.Errorf("status: %q", why)
	}
	var rows []server.VNIRow
	if !ask(&rows, "vnis") || len(rows) != 1 {
		t.Errorf("job %s is %s, and has the VNIs %+v", job, w.state(job), rows)
	}

	serveAs(user{name: "root"})
	w.attached()
	w.mustRoot("scancel", job)
	w.clean()
	if st, err := w.status(); err != nil || len(st.Blind) != 0 {
		t.Errorf("root's server is blind: %q %v", st.Blind, err)
	}
}
