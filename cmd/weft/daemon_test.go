package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

func TestDaemonsRunAJob(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	k := d.mustBegin("n1")
	if k.vnis == "" || strings.Contains(k.vnis, ",") {
		t.Fatalf("SLINGSHOT_VNIS=%s", k.vnis)
	}
	all := d.services("n1")
	if len(all) != 2 {
		t.Fatalf("2 NICs have %d services: %+v", len(all), all)
	}
	for _, s := range all {
		if s.Owner != core.UID(uint32(os.Geteuid())) || core.FormatVNIs(s.VNIs) != k.vnis {
			t.Errorf("service %d of %s: owner %v, VNIs %v", s.ID, s.Device, s.Owner, s.VNIs)
		}
	}
	k.finish()
	d.clean()
}

func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	k := d.mustBegin("n1")
	before := d.services("n1")
	d.kill(theServer)

	// The job never notices, and its end needs no server.
	other, err := d.begin("n1")
	if err == nil {
		other.finish()
		t.Fatal("a job was started without a server")
	}
	if !strings.Contains(err.Error(), "server") {
		t.Errorf("it does not say what is missing: %v", err)
	}
	d.start(theServer)
	d.attached()
	second := d.mustBegin("n1")
	if second.vnis == k.vnis {
		t.Fatalf("VNI %s is in two jobs", k.vnis)
	}
	if diff := cmp.Diff(before, only(d.services("n1"), k.vnis)); diff != "" {
		t.Errorf("the job's services are others now: -before +after\n%s", diff)
	}
	d.kill(theServer)
	k.finish()
	d.until("the job's services are gone without a server", func() (bool, string) {
		left := only(d.services("n1"), k.vnis)
		return len(left) == 0, core.FormatVNIs(vnisOf(left))
	})
	d.start(theServer)
	second.finish()
	d.clean()
}

func TestAgentIsKilled(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	k := d.mustBegin("n1")
	before := d.services("n1")
	id := core.JobID{Scheduler: "local", Job: k.job}
	d.kill("n1")
	e, err := rundir.ReadEnviron(rundir.EnvironPath(d.run("n1").Environs(), id))
	if err != nil || value(e.Variables, "SLINGSHOT_VNIS") != k.vnis {
		t.Fatalf("without its agent the job's environment is %+v, %v", e, err)
	}
	if diff := cmp.Diff(before, d.services("n1")); diff != "" {
		t.Fatalf("the services went with the agent: %s", diff)
	}
	d.start("n1")
	d.attached()
	var rows []agent.EnvRow
	d.until("the restarted agent answers", func() (bool, string) { // the server may still count the session of the one before
		err := d.ask("n1", "env", agent.EnvArgs{Scheduler: "local", Job: k.job}, &rows)
		return err == nil, fmt.Sprint(err)
	})
	got := map[string]string{}
	for _, r := range rows {
		got[r.Name] = r.Value
	}
	if got["SLINGSHOT_VNIS"] != k.vnis || got["SLINGSHOT_SVC_IDS"] != k.ids {
		t.Errorf("the restarted agent tells %v, and the job has VNI %s, services %s", got, k.vnis, k.ids)
	}
	if diff := cmp.Diff(before, d.services("n1")); diff != "" {
		t.Errorf("the restarted agent did not keep the services: %s", diff)
	}
	second := d.mustBegin("n1")
	if second.vnis == k.vnis {
		t.Fatalf("VNI %s is in two jobs", k.vnis)
	}

	// A job that ends while no agent runs is cleaned up by the next.
	d.kill("n1")
	k.finish()
	second.finish()
	d.start("n1")
	d.clean()
}

// TestLedgerIsLost: `weft clean` leaves the services of a job whose record is lost until the job has ended.
func TestLedgerIsLost(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	k := d.mustBegin("n1")
	before := d.services("n1")
	d.kill("n1")
	d.must(os.Remove(d.path("n1", "ledger.db")))
	d.start("n1")
	d.attached()
	d.says("n1", "clean", "^cxi0 +[0-9]+ .* kept +job local/"+k.job)
	d.says("n1", "doctor", "services: each is of job local/"+k.job)
	if diff := cmp.Diff(before, d.services("n1")); diff != "" {
		t.Errorf("the services of the job that runs: (-before +now):\n%s", diff)
	}
	k.finish()
	d.says("n1", "clean", "removed")
	d.clean()
}

func TestDriverIsKilled(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	k := d.mustBegin("n1")
	pid, state := d.plugin("n1")
	if pid == 0 || state != "ready" {
		t.Fatalf("the driver is no process: %d %s", pid, state)
	}
	if err := d.weft("list.log", "--dir", d.path("n1"), "plugin", "list").Wait(); err != nil || !slices.Equal(strings.Fields(d.log("list"))[14:17], []string{fmt.Sprint(pid), version, "1"}) {
		t.Errorf("plugin list: %v:\n%s", err, d.log("list"))
	}
	d.must(syscall.Kill(pid, syscall.SIGKILL))
	second := d.mustBegin("n1") // waits for the driver that starts anew
	if second.vnis == k.vnis {
		t.Fatalf("VNI %s is in two jobs", k.vnis)
	}
	again, _ := d.plugin("n1")
	if again == pid || again == 0 {
		t.Errorf("the driver is pid %d, and was %d", again, pid)
	}
	if err := d.weft("restart.log", "--dir", d.path("n1"), "plugin", "restart", "driver", "sim").Wait(); err != nil {
		t.Fatalf("plugin restart: %v: %s", err, d.log("restart"))
	}
	if third, state := d.plugin("n1"); third == again || third == 0 || state != "ready" {
		t.Errorf("after a restart the driver is pid %d, %s, and was %d", third, state, again)
	}
	k.finish()
	second.finish()
	d.clean()
}

// TestDriverStartsSlowly: an agent is there while its driver starts, and whoever asks it waits.
func TestDriverStartsSlowly(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	weft, err := exec.LookPath("weft")
	d.must(err)
	slow := fmt.Sprintf("until [ -e %s ]; do sleep 0.05; done; exec %s plugin serve driver sim sim", d.path("go"), weft)
	text, err := os.ReadFile(d.path("n1.hcl"))
	d.must(err)
	block := fmt.Sprintf("driver \"sim\" {\n  command = [\"/bin/sh\", \"-c\", %q]", slow)
	d.must(os.WriteFile(d.path("n1.hcl"), []byte(strings.Replace(string(text), "driver \"sim\" {", block, 1)), 0o644))
	d.start(theServer)
	d.start("n1")
	d.says("n1", "doctor --limit 1s", "agent: .*/n1/root.sock: no answer within the time limit")
	d.must(os.WriteFile(d.path("go"), nil, 0o644))
	d.says("n1", "plugin list", "^driver +sim +ready")
	d.attached()
	d.mustBegin("n1").finish()
	d.clean()
}

// TestDriverIsStopped: the node takes no job while its driver's process hangs, says why, and keeps what it holds.
func TestDriverIsStopped(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1", "n2")
	d.up()
	k := d.mustBegin("n1")
	before := d.services("n1")
	pid, _ := d.plugin("n1")
	d.must(syscall.Kill(pid, syscall.SIGSTOP))
	why := "NICs cannot be read: node n1: the NIC driver has not answered for "
	if _, err := d.begin("n1"); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("a job on n1: %v", err)
	}
	d.says("run", "nodes", "^n1 +up +.*"+why)
	d.says("run", "status", "^nodes: 2 of 2 attached, 1 drained$")
	d.says("n1", "doctor", why)
	d.mustBegin("n2")
	d.must(syscall.Kill(pid, syscall.SIGCONT))
	d.says("run", "nodes", `^n1 +up +2/2 +1 +[0-9-]+ +-$`)
	if diff := cmp.Diff(before, d.services("n1")); diff != "" {
		t.Errorf("the services of the job that runs: (-before +now):\n%s", diff)
	}
	d.mustBegin("n1")
	k.finish()
}

// TestPluginsInTheDaemonsHaveTheirVersion, as those that are processes have.
func TestPluginsInTheDaemonsHaveTheirVersion(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.more = "scheduler \"slurm\" \"tioga\" { in_process = true }\n"
	d.configure()
	d.edit("n1", "sync  = false", "sync  = false\n  in_process = true")
	d.up()
	for _, of := range [][2]string{{theServer, "scheduler"}, {"n1", "scheduler"}, {"n1", "driver"}} {
		if row, err := d.pluginRow(of[0], of[1]); err != nil || row.Version != version || row.PID != 0 {
			t.Errorf("the %s of %s: %+v, %v", of[1], of[0], row, err)
		}
	}
}

func TestAuditHasItsFile(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.edit(theServer, `tls         = "tls"`, "tls = \"tls\"\n  audit = \"server.audit\"")
	d.edit("n1", "tls    =", "audit  = \"n1.audit\"\n  tls    =")
	d.up()
	said := func(name, what string) {
		t.Helper()
		d.until(name+" has "+what, func() (bool, string) {
			text, err := os.ReadFile(d.path(name))
			return strings.Contains(string(text), what), fmt.Sprintf("%s%v", text, err)
		})
	}
	d.mustBegin("n1").finish()
	said("server.audit", `"msg":"grant"`)
	if strings.Contains(d.log(theServer), "msg=grant ") {
		t.Error("the server's log has it too")
	}
	d.must(os.Rename(d.path("server.audit"), d.path("server.audit.1")))
	d.must(d.procs[theServer].Process.Signal(syscall.SIGHUP))
	d.until("SIGHUP opens it anew", func() (bool, string) {
		_, err := os.Stat(d.path("server.audit"))
		return err == nil, fmt.Sprint(err)
	})
	d.mustBegin("n1").finish()
	said("server.audit", `"msg":"grant"`)
	if err := d.weft("restart.log", "--dir", d.path("n1"), "plugin", "restart", "driver", "sim").Wait(); err != nil {
		t.Errorf("plugin restart: %v: %s", err, d.log("restart"))
	}
	said("n1.audit", `"msg":"restart-plugin"`)
	d.clean()
}

func TestUserFillsTheSocket(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can call as another user")
	}
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	greedy := newPerson(t, 64001, 64001)
	if a := greedy.try(t, request{Socket: d.run("n1").UsersSocket(), Fill: 300}); a.Reason != "" {
		t.Fatal(a.Error)
	}
	// Root's hooks have a socket of their own, and other users the greater part of theirs.
	d.mustBegin("n1")
	other := newPerson(t, 64002, 64002)
	if a := other.try(t, request{Socket: d.run("n1").UsersSocket(), Verb: "begin", Body: []byte("{}")}); a.Reason != "" {
		t.Errorf("another user: %s", a.Error)
	}
	d.mustBegin("n1")
}

// only gives the services whose VNIs are these.
func only(all []core.Service, vnis string) []core.Service {
	var out []core.Service
	for _, s := range all {
		if core.FormatVNIs(s.VNIs) == vnis {
			out = append(out, s)
		}
	}
	return out
}

func vnisOf(all []core.Service) []core.VNI {
	var out []core.VNI
	for _, s := range all {
		out = append(out, s.VNIs...)
	}
	return out
}

func value(vars []core.Variable, name string) string {
	for _, v := range vars {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}
