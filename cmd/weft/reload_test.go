package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
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

	d.must(os.WriteFile(d.path("policy", "b.policy.hcl"), []byte(failing), 0o644))
	if got := d.reload("n1"); !strings.HasPrefix(got, "agent: policy files: in force now, as ") {
		t.Error(got)
	}

	// What a reload can do is done, what it cannot is said, again until there was a restart.
	d.edit("n1", "nics  = 2", "nics  = 3")
	d.edit("n1", `"127.0.0.1:`, `"localhost:`)
	d.edit("n1", `tls    = "n1.tls"`, `tls    = "other.tls"`)
	want := "agent: driver \"sim\": in force now\n" +
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
	if said := d.reload("n1"); !strings.Contains(said, `scheduler "local": in force now`) {
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

// The servers of a data service follow a reload, on the server and on the node.
func TestServersOfAServiceFollowAReload(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.more = "service \"daos\" {\n  vnis       = \"5000-5003\"\n  servers    = \"daos1\"\n  quarantine = \"1s\"\n}\n"
	d.configure()
	d.up()
	uid := uint32(4242)
	_, err := sim.At(d.path("n1.nic")).Foreign(t.Context(), "cxi0", &uid, []core.VNI{5000})
	d.must(err)
	from := "daos1"
	for _, c := range []struct{ servers, held, kind string }{
		{"daos1", "held", "unknown"},
		{"n1", "free", "service"},
		{"daos2", "held", "unknown"},
	} {
		for _, of := range []struct{ daemon, dir, other string }{{theServer, "run", "agents"}, {"n1", "n1", "server"}} {
			d.edit(of.daemon, `servers    = "`+from, `servers    = "`+c.servers)
			said, want := d.reload(of.dir), `service "daos": in force now; reload the `+of.other+" too\n"
			if c.servers != from && !strings.Contains(said, want) {
				t.Errorf("servers = %q: %s says %q, want %q", c.servers, of.daemon, said, want)
			}
		}
		from = c.servers
		began := time.Now()
		d.until("the VNI of the service is "+c.held, func() (bool, string) {
			rows, err := hook.List[server.VNIRow](t.Context(), d.socket(), "vnis", nil)
			held := len(rows) == 1 && rows[0].State == "held"
			return err == nil && (held || len(rows) == 0 && c.held == "free"), fmt.Sprint(rows, err)
		})
		if took := time.Since(began); took > patience {
			t.Errorf("servers = %q: the node waited %v until it read its NICs again", c.servers, took)
		}
		var rows []agent.ServiceRow
		d.must(d.ask("n1", "services", nil, &rows))
		at := slices.IndexFunc(rows, func(r agent.ServiceRow) bool { return slices.Contains(r.VNIs, 5000) })
		if at < 0 || rows[at].Kind != c.kind {
			t.Errorf("servers = %q: the node shows %+v, want %s", c.servers, rows, c.kind)
		}
		if os.Geteuid() == 0 { // only root may ask
			var orphans []agent.CleanRow
			d.must(d.ask("n1", "clean", agent.CleanArgs{DryRun: true}, &orphans))
			if proposed := len(orphans) == 1; proposed != (c.kind == "unknown") {
				t.Errorf("servers = %q: weft clean would remove %+v", c.servers, orphans)
			}
		}
	}
}
