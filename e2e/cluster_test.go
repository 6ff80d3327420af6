package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cpus is how many cores Slurm takes each node to have.
const cpus = 64

// cluster is a Slurm of its own on this machine: one controller, some slurmds, its own munge, ports and state.
type cluster struct {
	t     testing.TB
	dir   string
	nodes []string
	lines []string // more lines of slurm.conf
	ports []int    // the controller's, then each node's
	procs map[string]*process

	written func() // is called after slurm.conf was written, if there is such a thing
}

// The names of a cluster's daemons; a node's slurmd has the node's.
const (
	theMunge      = "munged"
	theController = "slurmctld"
)

// user is who submits.
type user struct {
	name     string
	uid, gid uint32
}

// process is what a process of the user's is started with. It dies with the test.
func (u user) process() *syscall.SysProcAttr {
	who := &syscall.Credential{Uid: u.uid, Gid: u.gid, NoSetGroups: u.uid == 0}
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: who}
}

// Users that every Debian has; neither can log in.
var (
	alice = user{"games", 5, 60}
	bob   = user{"man", 6, 12}
)

// newCluster makes the files of a cluster; nothing runs yet.
func newCluster(t testing.TB, dir string, lines []string, nodes ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: dir, nodes: nodes, lines: lines, procs: map[string]*process{}}
	for _, d := range []string{"munge", "state", "log", "out"} {
		must(t, os.MkdirAll(c.path(d), 0o755))
	}
	must(t, os.Chmod(c.path("out"), 0o1777))
	key := make([]byte, 128)
	_, _ = rand.Read(key)
	must(t, os.WriteFile(c.path("munge", "munge.key"), key, 0o600))
	t.Cleanup(c.end)
	return c
}

func (c *cluster) path(name ...string) string {
	return filepath.Join(append([]string{c.dir}, name...)...)
}

func (c *cluster) conf() string { return c.path("slurm.conf") }

// confOf is a node's own slurm.conf where it has one.
func (c *cluster) confOf(node string) string {
	if own := c.path(node + ".slurm.conf"); exists(own) {
		return own
	}
	return c.conf()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// change writes slurm.conf with other lines of the test's own; ports stay.
func (c *cluster) change(lines ...string) {
	c.t.Helper()
	c.lines = lines
	c.write()
}

// configure takes ports and writes slurm.conf.
func (c *cluster) configure() {
	c.t.Helper()
	c.ports = freePorts(c.t, 1+len(c.nodes))
	c.write()
}

func (c *cluster) write() {
	c.t.Helper()
	host, err := os.Hostname()
	must(c.t, err)
	host, _, _ = strings.Cut(host, ".")
	var text strings.Builder
	fmt.Fprintf(&text, `ClusterName=tioga
SlurmctldHost=%[2]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[1]s/munge/munge.socket,cred_expire=30
CredType=cred/munge
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool-%%n
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd-%%n.pid
SlurmctldLogFile=%[1]s/log/slurmctld.log
SlurmdLogFile=%[1]s/log/slurmd-%%n.log
SlurmctldDebug=info
SlurmdDebug=info
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
ReturnToService=2
KillWait=2
InactiveLimit=0
MinJobAge=10
SlurmdTimeout=10
MessageTimeout=10
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmdParameters=config_overrides
`, c.dir, host, c.ports[0])
	for i, n := range c.nodes {
		fmt.Fprintf(&text, "NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d State=UNKNOWN\n", n, host, c.ports[1+i], cpus)
	}
	fmt.Fprintln(&text, "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO")
	for _, l := range c.lines {
		fmt.Fprintln(&text, l)
	}
	must(c.t, os.WriteFile(c.conf(), []byte(text.String()), 0o644))
	if c.written != nil {
		c.written()
	}
}

// up starts the cluster and waits until every node is idle.
func (c *cluster) up() {
	c.t.Helper()
	for try := 1; ; try++ {
		c.configure()
		c.start(theMunge)
		until(c.t, "munged listens", func() (bool, string) {
			_, err := os.Stat(c.path("munge", "munge.socket"))
			return err == nil || c.procs[theMunge].over(), fmt.Sprint(err)
		})
		c.start(theController)
		for _, n := range c.nodes {
			c.start(n)
		}
		if c.idle() {
			return
		}
		if try == 3 {
			c.t.Fatalf("the cluster does not start\n%s\n%s", tail(c.path("log", "slurmctld.log"), 4000), tail(c.path("slurmctld.out"), 4000))
		}
		c.halt() // somebody else has taken one of its ports meanwhile
	}
}

// idle waits until all nodes are; false when a daemon has ended instead.
func (c *cluster) idle() bool {
	c.t.Helper()
	all := true
	until(c.t, "every node is idle", func() (bool, string) {
		for _, p := range c.procs {
			if p.over() {
				all = false
				return true, ""
			}
		}
		out, _ := c.root("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T")
		return strings.Count(out, " idle\n") == len(c.nodes), out
	})
	return all
}

// start starts one of the cluster's daemons, of which it keeps what it knew.
func (c *cluster) start(name string) {
	c.t.Helper()
	switch name {
	case theMunge:
		c.procs[name] = spawn(c.t, name, c.path("munged.out"), c.environ(), "munged", "--force", "--foreground", "--num-threads=4",
			"-S", c.path("munge", "munge.socket"), "--key-file", c.path("munge", "munge.key"), "--pid-file", c.path("munge", "munged.pid"),
			"--log-file", c.path("munge", "munged.log"), "--seed-file", c.path("munge", "seed"))
	case theController:
		c.procs[name] = spawn(c.t, name, c.path("slurmctld.out"), c.environ(), "slurmctld", "-D", "-f", c.conf())
	default:
		must(c.t, os.MkdirAll(c.path("spool-"+name), 0o755))
		c.procs[name] = spawn(c.t, name, c.path("slurmd-"+name+".out"), c.environ(), "slurmd", "-D", "-N", name, "-f", c.confOf(name))
	}
}

// environ is what the cluster's daemons and commands run with: nothing of the test's own but a mark.
func (c *cluster) environ() []string {
	return []string{"PATH=" + searchPath(), "SLURM_CONF=" + c.conf(), "WEFT_E2E=" + c.dir, "LC_ALL=C"}
}

// as runs a command as a user, in the folder that everybody may write to, and returns all that it says.
func (c *cluster) as(u user, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := c.command(ctx, u, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (c *cluster) command(ctx context.Context, u user, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir = append(c.environ(), "USER="+u.name, "HOME=/nonexistent"), c.path("out")
	cmd.SysProcAttr = u.process()
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func (c *cluster) root(args ...string) (string, error) { return c.as(user{name: "root"}, args...) }

// mustRoot is root's command that has to succeed.
func (c *cluster) mustRoot(args ...string) string {
	c.t.Helper()
	return c.mustAs(user{name: "root"}, args...)
}

func (c *cluster) mustAs(u user, args ...string) string {
	c.t.Helper()
	out, err := c.as(u, args...)
	if err != nil {
		c.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// batch submits a script and returns the job's id.
func (c *cluster) batch(u user, script string, options ...string) string {
	c.t.Helper()
	return c.batchWith(u, nil, script, options...)
}

// batchWith is batch from a shell with these variables. sbatch --export=ALL,A=B would have slurmd of 26.05 run the
// user's login shell, which these users do not have.
func (c *cluster) batchWith(u user, variables []string, script string, options ...string) string {
	c.t.Helper()
	path := c.path("out", fmt.Sprintf("job-%d.sh", time.Now().UnixNano()))
	must(c.t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
	command := slices.Concat([]string{"env"}, variables, []string{"sbatch", "--parsable"}, options, []string{path})
	out, err := c.as(u, command...)
	if err != nil {
		c.t.Fatalf("sbatch: %v\n%s", err, out)
	}
	lines := strings.Fields(out)
	return lines[len(lines)-1]
}

// touch makes a file that everybody may see.
func (c *cluster) touch(path string) {
	c.t.Helper()
	must(c.t, os.WriteFile(path, nil, 0o644))
}

// state is a job's, "" once the controller has forgotten it.
func (c *cluster) state(job string) string {
	out, err := c.root("squeue", "-h", "-a", "-t", "all", "-j", job, "-o", "%T")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// awaitState waits until a job is in one of the states.
func (c *cluster) awaitState(job string, states ...string) string {
	c.t.Helper()
	var s string
	until(c.t, "job "+job+" is "+strings.Join(states, " or "), func() (bool, string) {
		s = c.state(job)
		for _, want := range states {
			if s == want {
				return true, ""
			}
		}
		return false, s
	})
	return s
}

// nodeState is a node's state and the reason that stands beside it.
func (c *cluster) nodeState(node string) (state, reason string) {
	out, _ := c.root("sinfo", "-h", "-N", "-p", "main", "-n", node, "-o", "%T|%E")
	state, reason, _ = strings.Cut(strings.TrimSpace(out), "|")
	return state, reason
}

// nothingDrained fails the test when a node was taken out of service.
func (c *cluster) nothingDrained() {
	c.t.Helper()
	for _, n := range c.nodes {
		if state, reason := c.nodeState(n); strings.HasPrefix(state, "drain") || strings.HasPrefix(state, "down") {
			c.t.Errorf("node %s is %s: %s", n, state, reason)
		}
	}
}

// halt stops the daemons in the order in which none waits for another.
func (c *cluster) halt() {
	for _, n := range c.nodes {
		if p := c.procs[n]; p != nil {
			p.stop()
		}
	}
	for _, n := range []string{theController, theMunge} {
		if p := c.procs[n]; p != nil {
			p.stop()
		}
	}
	c.procs = map[string]*process{}
}

// end leaves nothing behind: steps outlive their slurmd, and carry the cluster's mark.
func (c *cluster) end() {
	if p := c.procs[theController]; p != nil && !p.over() {
		_, _ = c.root("scancel", "-f", "--state=RUNNING")
		_, _ = c.root("scancel", "-f", "--state=PENDING")
	}
	c.halt()
	for _, pid := range marked("WEFT_E2E=" + c.dir) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if c.t.Failed() {
		for _, f := range []string{"slurmctld.log"} {
			c.t.Logf("%s:\n%s", f, tail(c.path("log", f), 6000))
		}
		for _, n := range c.nodes {
			c.t.Logf("slurmd %s:\n%s", n, tail(c.path("log", "slurmd-"+n+".log"), 4000))
		}
	}
}
