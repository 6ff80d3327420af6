// Package pbstest is a simulated PBS complex: a server, hosts with their MOMs, and jobs, which run the events of hooks in the order and with the consequences
// that were observed on OpenPBS 23.06, and answer PBS's commands. It is for tests: of the hook file, of the adapter, and of whole systems.
//
// Nothing in it waits: what takes PBS time (retries, kill delays, node_fail_requeue) happens when a test says so.
package pbstest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// Server is what pbs_server's host is called; its nodes are n1, n2 …
const Server = "pbs1"

// maxTries is how often a job may be started before the server holds it: twice PBS_MAX_HOPCOUNT, and the try after that is the last.
const maxTries = 21

// Exit statuses that PBS gives by itself.
const (
	ExitHookDelete = -19 // a hook deleted the job
	ExitLaunch     = -17 // execjob_launch failed on the mother superior
	ExitMOMLost    = -4  // MOM came back without her jobs
)

// Vnode is a part of a host.
type Vnode struct {
	Name    string
	Offline bool
	Down    bool
	Comment string
	Sharing string // "": default_shared
	Cores   int    // 0: it shows none
}

// Host is one with a MOM.
type Host struct {
	Name   string
	Vnodes []*Vnode
	jobs   []*Job // that its MOM has
}

// Job is one that was submitted.
type Job struct {
	ID        string
	Name      string // Job_Name; "": STDIN
	User      string
	Group     string
	Queue     string
	Account   string
	Reserved  string            // the reservation that it runs in
	Hosts     int               // how many it wants
	Cores     int               // on each
	Resources map[string]string // Resource_List beyond that
	Rerunable bool

	State     string // a letter, as job_state
	Substate  int
	Runs      int // run_count
	Submitted int64
	On        []*Host // the mother superior first
	Comment   string
	Exit      int
	Env       map[string]string // of its script, as execjob_launch left it
	Messages  []string          // of qmsg
}

// Event is one run of a hook.
type Event struct {
	Name string // execjob_begin …
	Host *Host  // nil: in the server
	Job  *Job   // nil: in exechost_startup and exechost_periodic
	Jobs []*Job // exechost_periodic: those that MOM has
}

// Result is what a hook did. The zero value accepts.
type Result struct {
	Rejected bool
	Message  string
	Delete   bool              // of the job
	Failed   bool              // an exception, or the alarm
	Offline  map[string]string // vnodes that it took offline, with their comments; those of other hosts take effect too
	Env      map[string]string // execjob_launch: what it left
}

// Hook runs a hook; nil: the site has none.
type Hook func(Event) Result

// Complex is a server and its hosts. It is safe for concurrent use; a Hook is called with nothing locked but the one that moves jobs.
type Complex struct {
	Hook      Hook
	Events    []string // the events that the hooks are for; empty: all
	FailClose bool     // fail_action = offline_vnodes
	Forgets   bool     // job_history_enable is False: a job that has finished is unknown, and qstat -x lists none
	Hides     bool     // query_other_jobs is False, and Weft is an ordinary user

	move  sync.Mutex // whoever moves jobs: one at a time, as one pbs_server does
	mu    sync.Mutex // of all below, never held while a hook runs
	hosts []*Host
	jobs  []*Job
	clock int64
	past  []string
}

// New makes a complex of n hosts with one vnode each.
func New(n int) *Complex {
	c := &Complex{clock: 1795836284}
	for i := range n {
		name := "n" + strconv.Itoa(i+1)
		c.hosts = append(c.hosts, &Host{Name: name, Vnodes: []*Vnode{{Name: name}}})
	}
	return c
}

// Split gives a host several vnodes, as pbs_cgroups does with vnode_per_numa_node.
func (c *Complex) Split(host string, n int) {
	h := c.Host(host)
	h.Vnodes = nil
	for i := range n {
		h.Vnodes = append(h.Vnodes, &Vnode{Name: fmt.Sprintf("%s[%d]", host, i)})
	}
}

// Host by its name.
func (c *Complex) Host(name string) *Host {
	i := slices.IndexFunc(c.hosts, func(h *Host) bool { return h.Name == name })
	return c.hosts[i]
}

// Hosts are all of them.
func (c *Complex) Hosts() []*Host { return slices.Clone(c.hosts) }

// Job by its id; nil: there is none.
func (c *Complex) Job(id string) *Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(id)
}

// State of a job, as job_state.
func (c *Complex) State(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(id).State
}

func (c *Complex) find(id string) *Job {
	if i := slices.IndexFunc(c.jobs, func(j *Job) bool { return j.ID == id }); i >= 0 {
		return c.jobs[i]
	}
	return nil
}

// Past is what happened, a line each: EVENT HOST JOB#RUN, where the server's host is "-".
func (c *Complex) Past() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.past)
}

// Forget begins Past anew.
func (c *Complex) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.past = nil
}

// Submit puts a job into the queue. Empty fields are filled: of one host and one core, rerunable.
func (c *Complex) Submit(j Job) *Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	j.ID = cmp.Or(j.ID, strconv.Itoa(len(c.jobs)+1)+"."+Server)
	j.User, j.Group, j.Queue = cmp.Or(j.User, "tester"), cmp.Or(j.Group, "tester"), cmp.Or(j.Queue, "workq")
	j.Hosts, j.Cores, j.State, j.Substate, j.Submitted = max(j.Hosts, 1), max(j.Cores, 1), "Q", 10, c.clock
	c.jobs = append(c.jobs, &j)
	return &j
}

// fire runs the hook of an event.
func (c *Complex) fire(name string, h *Host, j *Job, jobs ...*Job) Result {
	line := name + " -"
	if h != nil {
		line = name + " " + h.Name
	}
	if j != nil {
		line += fmt.Sprintf(" %s#%d", j.ID, j.Runs)
	}
	if c.Hook == nil || len(c.Events) > 0 && !slices.Contains(c.Events, name) {
		return Result{}
	}
	c.mu.Lock()
	c.past = append(c.past, line)
	c.mu.Unlock()
	r := c.Hook(Event{Name: name, Host: h, Job: j, Jobs: jobs})
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Failed {
		r.Rejected, r.Message = true, "encountered an exception. Please inform Admin"
		if c.FailClose && (name == "execjob_begin" || name == "exechost_startup") {
			r.Offline = map[string]string{}
			for _, v := range h.Vnodes {
				r.Offline[v.Name] = "offlined by hook due to hook error"
			}
		}
	}
	for _, o := range c.hosts {
		for _, v := range o.Vnodes {
			if comment, ok := r.Offline[v.Name]; ok {
				v.Offline, v.Comment = true, comment
			}
		}
	}
	return r
}

func (h *Host) usable() bool {
	return !slices.ContainsFunc(h.Vnodes, func(v *Vnode) bool { return v.Offline || v.Down })
}

func (h *Host) drop(j *Job) { h.jobs = slices.DeleteFunc(h.jobs, func(o *Job) bool { return o == j }) }
