package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/hook"
)

// reload runs `weft reload` for a daemon's folder and gives what it says.
func (d *daemons) reload(dir string) string {
	d.t.Helper()
	d.must(os.RemoveAll(d.path("reload.log")))
	_ = d.weft("reload.log", "--dir", d.path(dir), "reload").Wait()
	return d.log("reload")
}

// edit replaces a text in a daemon's config.hcl.
func (d *daemons) edit(name, old, new string) {
	d.t.Helper()
	text, err := os.ReadFile(d.path(name + ".hcl"))
	d.must(err)
	if !strings.Contains(string(text), old) {
		d.t.Fatalf("%s.hcl has no %q", name, old)
	}
	d.must(os.WriteFile(d.path(name+".hcl"), []byte(strings.ReplaceAll(string(text), old, new)), 0o644))
}

// nics are a node's NICs as its driver tells them now; 0 while it cannot.
func (d *daemons) nics(node string) int {
	rows, err := hook.List[agent.ServiceRow](d.t.Context(), d.run(node).Socket(os.Geteuid() == 0), "services", nil)
	if err != nil {
		return 0
	}
	seen := map[string]bool{}
	for _, r := range rows {
		seen[r.Device] = true
	}
	return len(seen)
}

// A server that was killed leaves its socket behind, and must not be in the way of the agent beside it.
func TestAgentReloadsBesideADeadServer(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: d.path("n1/server.sock"), Net: "unix"})
	d.must(err)
	l.SetUnlinkOnClose(false)
	d.must(l.Close())
	if got := d.reload("n1"); !strings.Contains(got, "agent: nothing is different\n") || !strings.Contains(got, "server.sock: nobody listens there any more") {
		t.Error(got)
	}
}

func TestAgentReloads(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	k := d.mustBegin("n1")
	before := d.services("n1")
	if diff := cmp.Diff("agent: nothing is different\n", d.reload("n1")); diff != "" {
		t.Error(diff)
	}

	// What a reload can do is done, what it cannot is said, again until there was a restart.
	d.edit("n1", "nics  = 2", "nics  = 3")
	d.edit("n1", `"127.0.0.1:`, `"localhost:`)
	d.edit("n1", `tls    = "n1.tls"`, `tls    = "other.tls"`)
	want := "agent: driver \"sim sim\": in force now\n" +
		"agent: server: listen: nothing of the agent's; reload the server too\n" +
		"agent: agent: server: in force now\n" +
		"agent: agent: tls: needs a restart\n"
	if diff := cmp.Diff(want, d.reload("n1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("agent: agent: tls: needs a restart\n", d.reload("n1")); diff != "" {
		t.Error(diff)
	}
	d.until("the driver has its new block", func() (bool, string) { n := d.nics("n1"); return n == 3, fmt.Sprint(n) })

	// What is wrong changes nothing, and shows its line.
	pid, _ := d.plugin("n1")
	d.edit("n1", "nics  = 3", "nics  = 99")
	said := d.reload("n1")
	for _, part := range []string{"n1.hcl:12:", "a simulated node has 1 to 16 NICs", "nothing was changed; the configuration from before stays in force"} {
		if !strings.Contains(said, part) {
			t.Errorf("it does not say %q:\n%s", part, said)
		}
	}
	d.until("the driver has its former block again", func() (bool, string) {
		now, state := d.plugin("n1")
		return d.nics("n1") == 3 && now != pid && state == "ready", fmt.Sprint(d.nics("n1"), now, state)
	})
	d.edit("n1", "nics  = 99", "nicks = 3\n  nocks = 4")
	said = d.reload("n1")
	for _, part := range []string{"n1.hcl:12:", `did you mean "nics"?`, "    12 | ", "n1.hcl:13:", "nothing was changed; the configuration from before stays in force"} {
		if !strings.Contains(said, part) {
			t.Errorf("of names that there are none of it does not say %q:\n%s", part, said)
		}
	}
	if row, err := d.pluginRow("n1", "driver"); err != nil || row.Deaths != 0 || row.State != "ready" {
		t.Errorf("what was only tried is a death of the driver: %+v, %v", row, err)
	}
	if log := d.log("n1"); strings.Contains(log, "cannot be started until this is mended") {
		t.Errorf("the log tells of the driver what is the reload's:\n%s", log)
	}
	d.edit("n1", "pool", "pol")
	if said := d.reload("n1"); !strings.Contains(said, "n1.hcl:4:") {
		t.Errorf("a typo: %s", said)
	}

	// The agent takes what is right.
	d.configure()
	d.edit("n1", "jobs_per_user = 100", "jobs_per_user = 1")
	if said := d.reload("n1"); !strings.Contains(said, `scheduler "local local": in force now`) {
		t.Error(said)
	}
	if diff := cmp.Diff(before, only(d.services("n1"), k.vnis)); diff != "" {
		t.Errorf("the job's services are others now: -before +after\n%s", diff)
	}
	if p := newPerson(t, 64001, 64001); os.Geteuid() == 0 {
		for _, want := range []bool{true, false} {
			a := p.try(t, request{Socket: d.run("n1").UsersSocket(), Verb: "begin", Body: []byte("{}")})
			if (a.Reason == "") != want {
				t.Errorf("a user who may have one job: %+v", a)
			}
		}
	}
	d.attached()
	k.finish()
	d.mustBegin("n1").finish()
	d.clean()
}
