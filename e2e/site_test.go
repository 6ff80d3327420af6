package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/server"
)

// nics is how many each node has.
const nics = 2

// site is a Slurm cluster with Weft: one server, an agent on each node, every plugin a process of its own.
type site struct {
	*cluster
	port   int
	boots  map[string]int // how often a node has booted
	server user           // who runs the server
	setup
}

// setup is in what sites differ.
type setup struct {
	alloc      bool              // PrologFlags=Alloc
	prolog     string            // prolog_timeout with Alloc, default 30s: srun waits for every Prolog
	lines      []string          // more lines of slurm.conf
	pool       string            // VNIs of pool "jobs"; default 2000-2999
	quarantine string            // default 1s, the least
	policy     string            // one more file of the policy
	nodes      []string          // default n1 and n2
	prefix     string            // of Slurm's name of a node, before Weft's; config.hcl's alias maps them
	bare       bool              // Slurm without the hooks, Weft's daemons run
	spank      bool              // slurmstepd asks by weft.so; Epilog is the only hook
	mode       string            // more lines of the scheduler's block
	hooked     bool              // spank: beside the three hooks
	hooks      map[string]string // other scripts for prolog, taskprolog and epilog: {} stands for the call of weft-hook
}

// four are the nodes of a test of which some see nothing of a job.
var four = []string{"n1", "n2", "n3", "n4"}

// theServer is the server's name among the processes; a node's agent is "agent-" and the node.
const theServer = "server"

func agentOf(node string) string { return "agent-" + node }

// newSite makes and starts a site.
func newSite(t testing.TB, s setup) *site {
	t.Helper()
	needSlurm(t)
	if s.nodes == nil {
		s.nodes = []string{"n1", "n2"}
	}
	if s.pool == "" {
		s.pool = "2000-2999"
	}
	if s.quarantine == "" {
		s.quarantine = "1s"
	}
	dir := folder(t)
	w := &site{setup: s, boots: map[string]int{}, server: user{name: "root"}}
	lines := slices.Clone(s.lines)
	if s.spank && !s.hooked {
		s.bare, w.bare = true, true
	}
	if !s.bare {
		lines = append(lines, w.hookLines()...)
	}
	names := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		names[i] = s.prefix + n
	}
	w.cluster = newCluster(t, dir, lines, names...)
	w.identities()
	w.policies()
	text := fmt.Sprintf("#!/bin/sh\nexec %s/weft-hook --dir %s/${SLURMD_NODENAME#%s} \"$@\"\n", bin, dir, w.prefix)
	must(t, os.WriteFile(w.theHook(), []byte(text), 0o755))
	if !s.bare {
		w.written = w.install
	}
	if s.spank {
		buildSpank(t, filepath.Join(dir, "weft.so"))
		w.written = w.stack
	}
	t.Cleanup(w.finish)
	w.cluster.up()
	w.serve()
	for _, n := range w.nodes() {
		w.startAgent(n)
	}
	w.attached()
	return w
}

// nodes are Weft's names of the nodes; Slurm's are the cluster's.
func (w *site) nodes() []string { return w.setup.nodes }

// hookLines is what slurm.conf says beside the lines that `weft init slurm` writes.
func (w *site) hookLines() []string {
	if w.alloc {
		return []string{"PrologFlags=Alloc", "BatchStartTimeout=130"} // as docs/slurm.md says, for a Prolog that may wait
	}
	return nil
}

// theHook is the weft-hook that the hook files call. All nodes are one host here, so the name of the node says which agent is meant; at a site each host has one.
func (w *site) theHook() string { return w.path("weft-hook") }

// install puts the hooks into slurm.conf as an administrator does; no daemon reads it by that.
func (w *site) install() {
	w.t.Helper()
	must(w.t, os.RemoveAll(w.path("hooks"))) // of a cluster that did not start
	w.mustRoot(filepath.Join(bin, "weft"), "init", "slurm", "--write", "--conf", w.conf(), "--hooks", w.path("hooks"), "--weft-hook", w.theHook())
	for phase, text := range w.hooks {
		call := w.theHook() + " slurm " + phase
		must(w.t, os.WriteFile(w.path("hooks", phase), []byte("#!/bin/sh\n"+strings.ReplaceAll(text, "{}", call)+"\n"), 0o755))
	}
}

// stack gives each node's slurmd a plugstack.conf with its own agent.
func (w *site) stack() {
	w.t.Helper()
	if w.hooked {
		w.install()
	}
	text, err := os.ReadFile(w.conf())
	must(w.t, err)
	if !w.hooked {
		epilog := w.path("epilog")
		must(w.t, os.WriteFile(epilog, []byte("#!/bin/sh\n"+w.theHook()+" slurm epilog || :\n"), 0o755))
		text = append(text, "Epilog="+epilog+"\n"...)
		must(w.t, os.WriteFile(w.conf(), text, 0o644))
	}
	for _, n := range w.nodes() {
		own := w.stacked(n, filepath.Join(bin, "weft-hook"))
		must(w.t, os.WriteFile(w.path(n+".slurm.conf"), append(text, "PlugStackConfig="+own+"\n"...), 0o644))
	}
}

// stacked writes a node's plugstack.conf, which new steps obey at once, and tells its path.
func (w *site) stacked(node, hook string) string {
	w.t.Helper()
	path := w.path(node + ".plugstack.conf")
	line := fmt.Sprintf("required %s timeout=12 scheduler=slurm run=%s hook=%s\n", w.path("weft.so"), w.path(node), hook)
	must(w.t, os.WriteFile(path, []byte(line), 0o644))
	return path
}

// identities makes the certificates: the server's folder has the authority's key, a node's only its own.
func (w *site) identities() {
	w.t.Helper()
	now := time.Now()
	must(w.t, identity.Init(w.path("tls"), []string{"127.0.0.1"}, now))
	for _, n := range w.nodes() {
		must(w.t, identity.IssueNode(w.path("tls"), n, now))
		must(w.t, os.MkdirAll(w.path(n+".tls"), 0o700))
		for _, f := range []string{identity.CAFile, n + ".crt", n + ".key"} {
			text, err := os.ReadFile(w.path("tls", f))
			must(w.t, err)
			must(w.t, os.WriteFile(w.path(n+".tls", f), text, 0o600))
		}
	}
}

// policies copies the shipped policy and puts the site's own beside it.
func (w *site) policies() {
	w.t.Helper()
	must(w.t, os.MkdirAll(w.path("policy"), 0o755))
	shipped, err := filepath.Glob("../policy/*.policy.hcl")
	must(w.t, err)
	for _, f := range shipped {
		if strings.HasSuffix(f, "_test.policy.hcl") {
			continue // they are of the shipped policy alone
		}
		text, err := os.ReadFile(f)
		must(w.t, err)
		must(w.t, os.WriteFile(w.path("policy", filepath.Base(f)), text, 0o644))
	}
	if w.policy != "" {
		must(w.t, os.WriteFile(w.path("policy", "zz-site.policy.hcl"), []byte(w.policy), 0o644))
	}
}

// configs writes config.hcl, which differs between hosts in paths alone.
func (w *site) configs() {
	w.t.Helper()
	limit := ""
	if w.alloc {
		limit = fmt.Sprintf("\n  prolog_timeout = %q", cmp.Or(w.prolog, "30s"))
	}
	if w.prefix != "" {
		var pairs []string
		for _, n := range w.nodes() {
			pairs = append(pairs, fmt.Sprintf("%q = %q", w.prefix+n, n))
		}
		limit += "\n  alias = { " + strings.Join(pairs, ", ") + " }"
	}
	if w.mode != "" {
		limit += "\n  " + w.mode
	}
	for _, name := range append([]string{theServer}, w.nodes()...) {
		text := fmt.Sprintf(`
nodes  = %[1]q
policy = "policy"
pool "jobs" {
  vnis       = %[2]q
  quarantine = %[3]q
}
scheduler "slurm" "tioga" {
  bin   = %[12]q
  conf  = %[4]q
  every = "1s"%[11]s
  task_prolog = %[13]q
}
driver "sim" {
  nics  = %[5]d
  state = %[6]q
  sync  = false
  boot  = %[10]q
}
server {
  socket = "run/server.sock"
  store  = "run/server.db"
  witness = "run/server.head"
  listen = "127.0.0.1:%[7]d"
  tls    = "tls"
}
agent {
  server = "127.0.0.1:%[7]d"
  dir    = %[8]q
  tls    = %[9]q
}
`, strings.Join(w.nodes(), ","), w.pool, w.quarantine, w.conf(), nics, w.path(name+".nic"), w.port, name, name+".tls", w.boot(name), limit, commandsFolder(), w.path("hooks", "taskprolog"))
		must(w.t, os.WriteFile(w.path(name+".hcl.new"), []byte(text), 0o644))
		must(w.t, os.Rename(w.path(name+".hcl.new"), w.path(name+".hcl"))) // another node's agent may be reading it
	}
}

// boot is a node's boot id.
func (w *site) boot(node string) string { return fmt.Sprintf("boot-%d-of-%s", w.boots[node], node) }

// reboot is what is left of a node's agent and NICs after one: nothing.
func (w *site) reboot(node string) {
	w.t.Helper()
	w.boots[node]++
	must(w.t, os.RemoveAll(w.path(node)))
	w.configs()
}

// serve starts the server and waits until it answers.
func (w *site) serve() {
	w.t.Helper()
	must(w.t, os.MkdirAll(w.path("run"), 0o755))
	for range 3 {
		if w.port == 0 {
			w.port = freePorts(w.t, 1)[0]
			w.configs()
		}
		w.startServer()
		answers := false
		until(w.t, "the server answers", func() (bool, string) {
			_, err := w.status()
			answers = err == nil
			return answers || w.procs[theServer].over(), fmt.Sprint(err)
		})
		if answers {
			return
		}
		w.port = 0 // somebody else has taken it meanwhile
	}
	w.t.Fatalf("the server does not start\n%s", tail(w.path("server.log"), 4000))
}

func (w *site) startServer() {
	w.t.Helper()
	w.procs[theServer] = spawnAs(w.t, w.server, theServer, w.path("server.log"), w.environ(), filepath.Join(bin, "weft"), "server",
		"--config", w.path("server.hcl"))
}

func (w *site) startAgent(node string) {
	w.t.Helper()
	w.procs[agentOf(node)] = spawn(w.t, agentOf(node), w.path(agentOf(node)+".log"), w.environ(), filepath.Join(bin, "weft"), "agent",
		"--config", w.path(node+".hcl"), "--boot", w.boot(node))
}

// finish stops Weft before its folders go.
func (w *site) finish() {
	for _, name := range slices.Sorted(maps.Keys(w.procs)) {
		if name == theServer || strings.HasPrefix(name, "agent-") {
			w.procs[name].stop()
			if w.t.Failed() {
				w.t.Logf("%s:\n%s", name, tail(w.procs[name].log, 6000))
			}
		}
	}
}

// weft is an operator's verb on the server.
func (w *site) weft(args ...string) (string, error) {
	return w.root(append([]string{filepath.Join(bin, "weft"), "--dir", w.path("run")}, args...)...)
}

func (w *site) socket() string { return w.path("run", "server.sock") }

func (w *site) status() (server.Status, error) {
	var s server.Status
	err := hook.Call(w.t.Context(), w.socket(), "status", nil, &s)
	return s, err
}

// attached waits until every node is in session.
func (w *site) attached() {
	w.t.Helper()
	until(w.t, "every node is in session", func() (bool, string) {
		rows, err := hook.List[server.NodeRow](w.t.Context(), w.socket(), "nodes", nil)
		up := 0
		for _, r := range rows {
			if r.State == "up" && len(r.NICs) == nics {
				up++
			}
		}
		return err == nil && up >= len(w.nodes()), fmt.Sprint(rows, err)
	})
}

// rows are the VNIs that are not free, as `weft vnis` lists them.
func (w *site) rows() ([]server.VNIRow, error) {
	return hook.List[server.VNIRow](w.t.Context(), w.socket(), "vnis", nil)
}

// services are those of jobs that a node's NICs hold.
func (w *site) services(node string) []core.Service {
	w.t.Helper()
	return slices.DeleteFunc(w.everyService(node), func(s core.Service) bool { return s.System || s.Default })
}

// everyService lists the services that a node's NICs hold, read from the NICs' own state: no daemon is asked.
func (w *site) everyService(node string) []core.Service {
	w.t.Helper()
	all, err := sim.At(w.path(node + ".nic")).Services(w.t.Context())
	must(w.t, err)
	return all
}

// allServices counts the services of jobs on all nodes.
func (w *site) allServices() int {
	w.t.Helper()
	n := 0
	for _, node := range w.nodes() {
		n += len(w.services(node))
	}
	return n
}

// clean waits until nothing is left of any job: no service on a NIC, no VNI that is not free.
func (w *site) clean() {
	w.t.Helper()
	until(w.t, "nothing is left of any job", func() (bool, string) {
		rows, err := w.rows()
		left := w.allServices()
		return err == nil && len(rows) == 0 && left == 0, fmt.Sprintf("%d services; %v; %+v", left, err, rows)
	})
	st, err := w.status()
	must(w.t, err)
	for _, p := range st.Pools {
		if p.Used != 0 {
			w.t.Errorf("pool %+v: VNIs are in use that no reservation has", p)
		}
	}
}

// rundir is a node's run directory.
func (w *site) rundir(node string) rundir.Dir { return rundir.Dir(w.path(node)) }

// seen is what one task of a job saw of its surroundings.
type seen struct {
	Node, VNIs, Devices, IDs, TCs, Job, Step string
}

// show is a command that a task runs to tell them, one line of JSON.
const show = `printf '{"Node":"%s","VNIs":"%s","Devices":"%s","IDs":"%s","TCs":"%s","Job":"%s","Step":"%s"}\n' ` +
	`"$SLURMD_NODENAME" "$SLINGSHOT_VNIS" "$SLINGSHOT_DEVICES" "$SLINGSHOT_SVC_IDS" "$SLINGSHOT_TCS" "$SLURM_JOB_ID" "$SLURM_STEP_ID"`

// read finds what tasks told in what a command said.
func read(t testing.TB, text string) []seen {
	t.Helper()
	var all []seen
	for line := range strings.Lines(text) {
		var s seen
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &s) == nil {
			all = append(all, s)
		}
	}
	return all
}
