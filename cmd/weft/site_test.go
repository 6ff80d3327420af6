package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/dev/effort"
	"github.com/weft-hpc/weft/dev/gatetest"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
	certs "github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/server"
)

// daemons are a system as a site has it: a server and agents, each a process of its own, TLS between them, and simulated NICs behind driver plugins that
// are processes too.
type daemons struct {
	t     testing.TB
	dir   string
	port  int
	names []string                       // all nodes of the system
	nodes []string                       // those with an agent
	pool  string                         // VNIs of pool "jobs"
	admin string                         // admin_group
	more  string                         // further blocks of config.hcl
	site  func(name, text string) string // changes a daemon's config.hcl; nil: nothing does
	at    string                         // folder of the server's socket
	gates map[string]*gatetest.Gate      // the network between an agent and the server; none: nothing is in between
	procs map[string]*exec.Cmd
}

// theServer is the server's name among the daemons.
const theServer = "server"

// newDaemons makes the files of a system; nothing runs yet. The pool rests a VNI for the least that may be configured, so that VNIs come around again.
func newDaemons(t testing.TB, pool, admin string, nodes ...string) *daemons {
	t.Helper()
	effort.NeedFull(t)
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		t.Fatal(err)
	}
	d := &daemons{t: t, dir: dir, names: nodes, nodes: nodes, pool: pool, admin: admin, at: "run", procs: map[string]*exec.Cmd{}}
	t.Cleanup(d.end)
	d.must(os.Chmod(dir, 0o755))
	d.must(os.Mkdir(d.path("run"), 0o755))
	now := time.Now()
	d.must(certs.Init(d.path("tls"), []string{"127.0.0.1"}, now))
	for _, n := range nodes {
		d.must(certs.IssueNode(d.path("tls"), n, now))
		d.must(os.MkdirAll(d.path(n+".tls"), 0o700))
		for from, to := range map[string]string{certs.CAFile: certs.CAFile, n + ".crt": n + ".crt", n + ".key": n + ".key"} {
			text, err := os.ReadFile(d.path("tls", from))
			d.must(err)
			d.must(os.WriteFile(d.path(n+".tls", to), text, 0o600))
		}
	}
	// A copy, since a checkout need not belong to root.
	d.must(os.Mkdir(d.path("policy"), 0o755))
	shipped, err := filepath.Glob("../../policy/*.policy.hcl")
	d.must(err)
	for _, path := range shipped {
		text, err := os.ReadFile(path)
		d.must(err)
		d.must(os.WriteFile(d.path("policy", filepath.Base(path)), text, 0o644))
	}
	d.port = freePort(t)
	d.configure()
	return d
}

// configure writes the daemons' config.hcl: a host's differs from another's in its paths alone.
func (d *daemons) configure() {
	d.t.Helper()
	for _, name := range append([]string{theServer}, d.names...) {
		text := fmt.Sprintf(`
nodes  = %q
policy = %q
pool "jobs" {
  vnis       = %q
  quarantine = "1s"
}
scheduler "local" "local" {
  jobs_per_user = 100
}
driver "sim" {
  nics  = 2
  state = %q
  sync  = false
}
server {
  socket      = "run/server.sock"
  store       = "server.db"
  witness     = "run/server.head"
  listen      = "127.0.0.1:%[5]d"
  tls         = "tls"
  admin_group = %[6]q
}
agent {
  server = "127.0.0.1:%[9]d"
  dir    = %[7]q
  tls    = %[8]q
}
%[10]s`, strings.Join(d.names, ","), d.path("policy"), d.pool, d.path(name+".nic"), d.port, d.admin, name, name+".tls", d.way(name), d.more)
		if d.admin == "" {
			text = strings.ReplaceAll(text, "  admin_group = \"\"\n", "")
		}
		if d.site != nil {
			text = d.site(name, text)
		}
		d.must(os.WriteFile(d.path(name+".hcl"), []byte(text), 0o644))
	}
}

// way is the port by which a node reaches the server.
func (d *daemons) way(node string) int {
	if g := d.gates[node]; g != nil {
		return g.Port()
	}
	return d.port
}

// freePort is one that nobody listens at. Somebody else may take it before the server does: start tells then, and another is taken.
func freePort(t testing.TB) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

func (d *daemons) path(name ...string) string {
	return filepath.Join(append([]string{d.dir}, name...)...)
}

func (d *daemons) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// up starts all daemons and waits until every node is in session.
func (d *daemons) up() {
	d.t.Helper()
	for try := 1; ; try++ {
		d.start(theServer)
		if d.serves() {
			break
		}
		if try == 5 {
			d.t.Fatal("the server does not start")
		}
		d.port = freePort(d.t) // somebody else has taken it meanwhile
		d.configure()
	}
	for _, n := range d.nodes {
		d.start(n)
	}
	d.attached()
}

// serves waits until the server answers; false when it has ended instead.
func (d *daemons) serves() bool {
	d.t.Helper()
	p, answers := d.procs[theServer], false
	d.until("the server answers", func() (bool, string) {
		if over(p) {
			return true, ""
		}
		var st server.Status
		err := hook.Call(d.t.Context(), d.socket(), "status", nil, &st)
		answers = err == nil
		return answers, fmt.Sprint(err)
	})
	return answers
}

// over reports whether a process has ended; it is not waited for.
func over(p *exec.Cmd) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
	_, rest, ok := bytes.Cut(stat, []byte(") "))
	return err != nil || !ok || rest[0] == 'Z'
}

// attached waits until every node is in session with the server.
func (d *daemons) attached() {
	d.t.Helper()
	d.until("every node is attached", func() (bool, string) {
		rows, err := hook.List[server.NodeRow](d.t.Context(), d.socket(), "nodes", nil)
		up := 0
		for _, r := range rows {
			if r.State == "up" && len(r.NICs) == 2 {
				up++
			}
		}
		return err == nil && up >= len(d.nodes), fmt.Sprint(rows, err)
	})
}

// start starts a daemon.
func (d *daemons) start(name string) {
	d.t.Helper()
	verb := "agent"
	if !slices.Contains(d.names, name) {
		verb = theServer
	}
	d.procs[name] = d.weft(name+".log", verb, "--config", d.path(name+".hcl"))
}

// weft starts a command of weft's in the background; what it says goes to a file.
func (d *daemons) weft(log string, args ...string) *exec.Cmd {
	d.t.Helper()
	path, err := exec.LookPath("weft")
	d.must(err)
	f, err := os.OpenFile(d.path(log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	d.must(err)
	defer f.Close()
	c := exec.Command(path, args...)
	c.Args[0], c.Stdout, c.Stderr = "weft", f, f
	d.must(c.Start())
	return c
}

// kill ends a daemon by SIGKILL, in the middle of whatever it does.
func (d *daemons) kill(name string) {
	d.t.Helper()
	p := d.procs[name]
	d.must(p.Process.Kill())
	_ = p.Wait()
	if p.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		d.t.Fatalf("%s had ended by itself: %v\n%s", name, p.ProcessState, d.log(name))
	}
}

// end leaves nothing behind.
func (d *daemons) end() {
	for name, p := range d.procs {
		if !over(p) {
			_ = p.Process.Kill()
		}
		_ = p.Wait()
		if d.t.Failed() {
			d.t.Logf("%s said:\n%s", name, d.log(name))
		}
	}
	if !d.t.Failed() {
		_ = os.RemoveAll(d.dir)
	}
}

func (d *daemons) log(name string) string {
	text, _ := os.ReadFile(d.path(name + ".log"))
	if len(text) > 8<<10 {
		text = text[len(text)-8<<10:]
	}
	return string(text)
}

func (d *daemons) socket() string { return d.path(d.at, "server.sock") }

func (d *daemons) run(node string) rundir.Dir { return rundir.Dir(d.path(node)) }

func (d *daemons) ask(node, verb string, in, out any) error {
	return hook.Call(d.t.Context(), d.run(node).Socket(os.Geteuid() == 0), verb, in, out)
}

// until waits for what must come. Nothing waits that long when all is well.
func (d *daemons) until(what string, so func() (bool, string)) {
	d.t.Helper()
	limit := time.NewTimer(3 * patience)
	defer limit.Stop()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, longest) {
		ok, seen := so()
		if ok {
			return
		}
		select {
		case <-time.After(pause):
		case <-limit.C:
			d.t.Fatalf("%s: not within %s; last seen: %s", what, 3*patience, seen)
		}
	}
}

// plugin is the process of a node's driver; 0 while there is none.
func (d *daemons) plugin(node string) (pid int, state string) {
	r, err := d.pluginRow(node, "driver")
	if err != nil {
		return 0, err.Error()
	}
	return r.PID, r.State
}

// pluginRow is a daemon's plugin of a kind.
func (d *daemons) pluginRow(name, kind string) (plugin.Row, error) {
	var rows []plugin.Row
	path := d.socket()
	if name != theServer {
		path = d.run(name).Socket(os.Geteuid() == 0)
	}
	if err := hook.Call(d.t.Context(), path, "plugins", nil, &rows); err != nil {
		return plugin.Row{}, err
	}
	for _, r := range rows {
		if r.Kind == kind {
			return r, nil
		}
	}
	return plugin.Row{State: "there is none"}, nil
}

// services are those of jobs that a node's NICs hold, read from the NICs' own state: no daemon is asked.
func (d *daemons) services(node string) []core.Service {
	d.t.Helper()
	all, err := nicServices(d.t.Context(), d.path(node+".nic"))
	d.must(err)
	return all
}

func nicServices(ctx context.Context, dir string) ([]core.Service, error) {
	all, err := sim.At(dir).Services(ctx)
	if err != nil {
		return nil, err
	}
	var of []core.Service
	for _, s := range all {
		if !s.System && !s.Default {
			of = append(of, s)
		}
	}
	return of, nil
}

// clean waits until nothing is left of any job: no reservation, no VNI in use, no service on any NIC.
func (d *daemons) clean() {
	d.t.Helper()
	d.until("nothing is left of any job", func() (bool, string) {
		var st server.Status
		if err := hook.Call(d.t.Context(), d.socket(), "status", nil, &st); err != nil {
			return false, err.Error()
		}
		rows, err := hook.List[server.VNIRow](d.t.Context(), d.socket(), "vnis", nil)
		left := 0
		for _, n := range d.nodes {
			left += len(d.services(n))
		}
		used := 0
		for _, p := range st.Pools {
			used += p.Used
		}
		return err == nil && len(rows) == 0 && left == 0 && used == 0, fmt.Sprintf("%v; %d services; pools %+v; live %v", rows, left, st.Pools, st.Live)
	})
}

// task is a process that `weft run` made a job.
type task struct {
	cmd   *exec.Cmd
	stdin io.Closer
	errs  bytes.Buffer
	vnis  string // SLINGSHOT_VNIS as the command sees it
	ids   string // SLINGSHOT_SVC_IDS
	job   string
}

// errNoJob says that `weft run` did not start its command.
var errNoJob = errors.New("the job was not started")

// begin runs a job on a node that lives until finish. The error says that it was not started, and why.
func (d *daemons) begin(node string) (*task, error) {
	path, err := exec.LookPath("weft")
	if err != nil {
		return nil, err
	}
	k := &task{cmd: exec.Command(path, "--dir", d.path(node), "run", "--", "sh", "-c", `echo "$SLINGSHOT_VNIS $SLINGSHOT_SVC_IDS $WEFT_JOB"; exec cat`)}
	k.cmd.Args[0], k.cmd.Stderr = "weft", &k.errs
	if k.stdin, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := k.cmd.Start(); err != nil {
		return nil, err
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if n, _ := fmt.Sscan(line, &k.vnis, &k.ids, &k.job); n != 3 {
		k.stdin.Close()
		_ = k.cmd.Wait()
		return nil, fmt.Errorf("%w: %q %s", errNoJob, line, k.errs.String())
	}
	return k, nil
}

func (d *daemons) mustBegin(node string) *task {
	d.t.Helper()
	k, err := d.begin(node)
	if err != nil {
		d.t.Fatalf("node %s: %v", node, err)
	}
	d.t.Cleanup(k.finish)
	return k
}

// finish ends the job's process.
func (k *task) finish() {
	k.stdin.Close()
	_ = k.cmd.Wait()
}
