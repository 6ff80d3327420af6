package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/daemon"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// TestTwoHosts: a copy of a node comes with the node's certificate while a job runs on the node. The job keeps its VNI
// and its services, neither host gets another job, and every list says why. Without the copy, the node is in service
// again, in the same boot.
func TestTwoHosts(t *testing.T) {
	t.Parallel()
	for _, boot := range []string{"b1", "b2"} {
		t.Run(boot, func(t *testing.T) {
			t.Parallel()
			d := newDaemons(t, "2000-2009", "", "n1", "n2")
			d.copied()
			d.serve(5 * time.Second)
			d.boot("n1", "b1")
			d.boot("n2", "b")
			d.attached()
			k := d.mustBegin("n1")
			before := d.services("n1")

			d.boot("copy", boot)
			refused := make(chan error, 1)
			go func() {
				_, err := d.begin("copy") // while it waits, the copy comes again every other second
				refused <- err
			}()
			hosts := `two hosts have its certificate: 127\.0\.0\.1 with boot b1 and 127\.0\.0\.1 with boot ` + boot
			why := ": " + hosts + "\n +remedy: stop the agent of the copied host"
			for _, c := range []struct{ dir, verb, says string }{
				{"run", "nodes", `^n1 +up +2/2 +1 +[0-9-]+ +` + hosts + `$`},
				{"run", "resume n1", "^weft: node n1: it stays drained: " + hosts + "; stop the agent of the copied host"},
				{"run", "status", "^TWO HOSTS HAVE ONE CERTIFICATE, SO NOTHING OF n1 IS FREED OR GRANTED: `weft nodes`"},
				{"run", "doctor", "^critical +node n1: nothing of it is freed or granted\n +server" + why},
				{"n1", "doctor", "^critical +no job starts on this node, and nothing that it holds is freed\n +node" + why},
				{"copy", "doctor", `no connection stands: .*` + hosts},
			} {
				d.says(c.dir, c.verb, c.says)
			}
			if _, err := d.begin("n1"); err == nil || !regexp.MustCompile(hosts).MatchString(err.Error()) {
				t.Errorf("a job on n1: %v", err)
			}
			if other := d.mustBegin("n2"); other.vnis == k.vnis {
				t.Errorf("VNI %s is in two jobs", k.vnis)
			}
			if err := <-refused; err == nil {
				t.Error("the copy got a job")
			}
			if got := d.services("copy"); len(got) > 0 {
				t.Errorf("the copy made %+v", got)
			}

			d.kill("copy")
			d.until("n1 is in service again", d.hasBoot("b1"))
			if diff := cmp.Diff(before, d.services("n1")); diff != "" {
				t.Errorf("the services of the job that runs: (-before +now):\n%s", diff)
			}
			d.says("n1", "doctor", `^(good|notice|warning)`)
			d.mustBegin("n1")
		})
	}
}

// TestTwoHostsWhereOneWasStopped: while the agent of a node is stopped, the server takes a copied host for its next
// boot. When the agent goes on within the pool's quarantine, all that it held is held again, and stands.
func TestTwoHostsWhereOneWasStopped(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1", "n2")
	d.edit("server", `quarantine = "1s"`, `quarantine = "60s"`)
	d.copied()
	d.serve(5 * time.Second)
	d.boot("n1", "b1")
	d.boot("n2", "b")
	d.attached()
	k := d.mustBegin("n1")
	before := d.services("n1")

	d.must(d.procs["n1"].Process.Signal(syscall.SIGSTOP))
	d.boot("copy", "b2")
	d.until("the copy is taken for the next boot", d.hasBoot("b2"))
	d.says("run", "vnis", `^`+k.vnis+` +jobs +quarantined`)
	d.must(d.procs["n1"].Process.Signal(syscall.SIGCONT))
	d.says("run", "nodes", `^n1 .* two hosts have its certificate: .* with boot b2 and .* with boot b1$`)
	d.says("run", "vnis", `^`+k.vnis+` +jobs +active`)
	if other := d.mustBegin("n2"); other.vnis == k.vnis {
		t.Errorf("VNI %s is in two jobs", k.vnis)
	}

	d.kill("copy")
	d.until("n1 is in service again", d.hasBoot("b1"))
	if diff := cmp.Diff(before, d.services("n1")); diff != "" {
		t.Errorf("the services of the job that runs: (-before +now):\n%s", diff)
	}
	d.says("run", "vnis", `^`+k.vnis+` +jobs +active`)
	d.mustBegin("n1")
}

// TestTwoHostsOfUnlikeHardware: other hardware is no reboot, also while the agent of the node is stopped.
func TestTwoHostsOfUnlikeHardware(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1", "n2")
	d.copied()
	d.serve(5 * time.Second)
	d.boot("n1", "b1", "--hardware", "board1")
	d.boot("n2", "b")
	d.attached()
	k := d.mustBegin("n1")
	before := d.services("n1")

	d.must(d.procs["n1"].Process.Signal(syscall.SIGSTOP))
	d.boot("copy", "b2", "--hardware", "board2")
	d.says("run", "nodes", `^n1 .* two hosts have its certificate: .* with boot b1 and .* with boot b2$`)
	d.says("run", "vnis", `^`+k.vnis+` +jobs +active`)
	d.kill("copy")
	d.must(d.procs["n1"].Process.Signal(syscall.SIGCONT))
	d.until("n1 is in service again", d.hasBoot("b1"))
	if diff := cmp.Diff(before, d.services("n1")); diff != "" {
		t.Errorf("the services of the job that runs: (-before +now):\n%s", diff)
	}
	d.says("run", "vnis", `^`+k.vnis+` +jobs +active`)
	d.mustBegin("n1")
}

// copied makes the configuration of a copy of n1, which has its own run directory and NICs.
func (d *daemons) copied() {
	text, err := os.ReadFile(d.path("n1.hcl"))
	d.must(err)
	own := strings.NewReplacer(`"n1"`, `"copy"`, "n1.nic", "copy.nic")
	d.must(os.WriteFile(d.path("copy.hcl"), []byte(own.Replace(string(text))), 0o644))
}

// hasBoot tells whether n1 is in service with a boot id.
func (d *daemons) hasBoot(id string) func() (bool, string) {
	return func() (bool, string) {
		rows, err := hook.List[server.NodeRow](d.t.Context(), d.socket(), "nodes", nil)
		return err == nil && rows[0].State == "up" && rows[0].Drained == "" && rows[0].Boot == id, fmt.Sprint(rows, err)
	}
}

// serve starts the server in this process. There the second host of a node is gone when it has not come for away.
func (d *daemons) serve(away time.Duration) {
	d.t.Helper()
	site, err := cli.ReadSite(d.path(theServer+".hcl"), 0)
	d.must(err)
	site.Engine.Rules.Away = away
	ctx, end := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- daemon.Server(ctx, site, daemon.Options{
			Version: version, Log: slog.New(slog.DiscardHandler), Ready: func() { close(ready) },
		})
	}()
	d.t.Cleanup(func() {
		end()
		<-ended
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		d.t.Fatal(err)
	}
}

// boot starts an agent, on a host that has this boot id.
func (d *daemons) boot(name, id string, more ...string) {
	d.t.Helper()
	args := append([]string{"agent", "--config", d.path(name + ".hcl"), "--boot", id}, more...)
	d.procs[name] = d.weft(name+".log", args...)
}

// says waits until a verb at a daemon's folder prints what matches want.
func (d *daemons) says(dir, verb, want string) {
	d.t.Helper()
	path, err := exec.LookPath("weft")
	d.must(err)
	like := regexp.MustCompile("(?m)" + want)
	d.until("weft "+verb+" in "+dir+" prints "+want, func() (bool, string) {
		var out bytes.Buffer
		c := exec.Command(path, slices.Concat([]string{"--dir", d.path(dir)}, strings.Fields(verb))...)
		c.Args[0], c.Stdout, c.Stderr = "weft", &out, &out
		_ = c.Run() // a critical finding is no failure here
		return like.Match(out.Bytes()), out.String()
	})
}
