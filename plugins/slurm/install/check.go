package install

import (
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plan"
)

// The limits of Weft's hooks, in seconds: the adapter's own, of which prolog_timeout in config.hcl changes Prolog's.
const (
	prologLimit = 8
	epilogLimit = 10
	longLimit   = 120 // what prolog_timeout is best set to with PrologFlags=Alloc
)

// Slurm's own defaults.
const (
	messageTimeout    = 10
	batchStartTimeout = 10
)

// allocating are the flags that make Slurm run Prolog when it allocates the nodes (slurm.conf(5) and Slurm's read_config.c: each sets Alloc too).
var allocating = []string{"Alloc", "Contain", "X11", "NoHold", "RunInJob"}

// check judges the settings that matter to Weft's hooks, in the order in which an administrator should mend them. prolog
// says that Prolog and TaskProlog are among the hooks.
func (p *Plan) check(c *conf, o Options, prolog bool) {
	alloc := o.Alloc || c.has("PrologFlags", allocating...)
	for _, s := range c.Strange {
		p.add(plan.Warning, s, "line", "correct the line", "Slurm does not understand %q", core.Clip(s.Value))
	}
	p.switchType(c, o)
	p.users(c)
	if prolog {
		p.prologFlags(c, alloc)
		p.timeouts(c, alloc)
	} else {
		p.limits(c, alloc, prolog)
	}
	if c.has("SlurmctldParameters", "enable_configless") {
		s, _ := c.last("SlurmctldParameters")
		p.add(plan.Warning, s, "SlurmctldParameters", "bring the hook files to every node by other means, before the lines are in slurm.conf",
			"enable_configless: slurmctld hands slurm.conf to the nodes, and no hook file with it")
	}
	if s, ok := c.last("LaunchParameters"); ok && c.has("LaunchParameters", "use_interactive_step") {
		p.add(plan.Fine, s, "LaunchParameters", "", "use_interactive_step: the shell of salloc runs on the job's first node and has the job's variables")
	} else {
		p.add(plan.Fine, s, "LaunchParameters", "", "without use_interactive_step the shell of salloc runs where salloc does, and has none of the job's variables; its sruns have them")
	}
}

func (p *Plan) switchType(c *conf, o Options) {
	s, set := c.last("SwitchType")
	switch {
	case slingshots(s) && o.Observed:
		p.add(plan.Warning, s, "SwitchType", "see that `weft status` shows the scheduler as observed before slurmd reads the lines",
			"%s makes VNIs and services; Weft makes none, since config.hcl has `mode = \"observe\"`, but for the jobs of `enforce`", s.Value)
	case slingshots(s) && o.Files:
		p.add(plan.Warning, s, "SwitchType", "", "%s makes VNIs and services until it is taken out; then slurm.conf may name the hook files", s.Value)
	case slingshots(s):
		p.add(plan.Refusal, s, "SwitchType", "set `mode = \"observe\"`, or let all jobs end, take SwitchType and SwitchParameters out, restart slurmctld and every slurmd, "+
			"and run this again: docs/slurm.md tells the whole way",
			"%s makes VNIs and services of its own for each step: two jobs could get one VNI", s.Value)
	case set && !strings.EqualFold(s.Value, "switch/none"):
		p.add(plan.Warning, s, "SwitchType", "set switch/none if the nodes have Slingshot NICs only", "%s is for another network", s.Value)
	default:
		p.add(plan.Fine, s, "SwitchType", "", "Slurm leaves VNIs and services alone")
	}
}

func (p *Plan) users(c *conf) {
	if s, set := c.last("SlurmdUser"); set && s.Value != "root" && s.Value != "0" {
		p.add(plan.Refusal, s, "SlurmdUser", "set SlurmdUser=root, which is its default", "slurmd runs as %s, and so do Prolog and Epilog: only root may make a job's services", s.Value)
	} else {
		p.add(plan.Fine, s, "SlurmdUser", "", "Prolog and Epilog run as root")
	}
	s, _ := c.last("SlurmUser")
	p.add(plan.Fine, s, "SlurmUser", "", "the Weft server asks Slurm as root, whom it lets see, cancel, requeue and drain whatever SlurmUser is")
}

func (p *Plan) prologFlags(c *conf, alloc bool) {
	s, _ := c.last("PrologFlags")
	if alloc {
		what := "Prolog runs on each node when the job gets it: ssh, mpirun over ssh and salloc's shell find their services"
		if !c.has("PrologFlags", "DeferBatch") {
			what += "; a batch script starts once its first node's Prolog is over, and DeferBatch makes it wait for all"
		}
		p.add(plan.Fine, s, "PrologFlags", "", "%s", what)
	} else {
		p.add(plan.Warning, s, "PrologFlags", "run this with --alloc, or set PrologFlags=Alloc; a single srun then takes about 0.1 s longer",
			"without Alloc, Prolog runs on a node only when the job's first step starts there: on a node without a step, ssh and mpirun over ssh find no service, nor does the shell of salloc")
	}
	if c.has("PrologFlags", "Serial") {
		p.add(plan.Warning, s, "PrologFlags", "take Serial out unless the site's own hooks need it", "with Serial one hook at a time runs on a node: jobs of a shared node wait for each other's Prolog and Epilog")
	}
	if c.has("PrologFlags", "NoHold") {
		p.add(plan.Warning, s, "PrologFlags", "take NoHold out if users ssh to the nodes of their jobs", "with NoHold salloc's shell starts before the Prologs are over: an ssh that comes too early finds no service; steps do wait")
	}
}

func (p *Plan) timeouts(c *conf, alloc bool) {
	n, s, ends := c.seconds("MessageTimeout", messageTimeout)
	switch {
	case alloc:
		p.add(plan.Fine, s, "MessageTimeout", "", "with Alloc, srun waits for Prolog, however long it takes")
	case ends && 2*n <= prologLimit:
		p.add(plan.Refusal, s, "MessageTimeout", "set MessageTimeout=10 or more, or PrologFlags=Alloc", "srun gives up after twice %d s, and Weft's Prolog may take %d s when the server is away", n, prologLimit)
	case ends && n < messageTimeout:
		p.add(plan.Warning, s, "MessageTimeout", "set MessageTimeout=10 or more, or a shorter prolog_timeout in config.hcl",
			"srun gives up after twice %d s; Weft's Prolog may take %d s of them when the server is away, and the site's own comes on top", n, prologLimit)
	default:
		p.add(plan.Fine, s, "MessageTimeout", "", "srun waits longer than Weft's Prolog may take, which is %d s", prologLimit)
	}
	p.limits(c, alloc, true)
	if n, s, ends := c.seconds("BatchStartTimeout", batchStartTimeout); alloc && ends && n < longLimit {
		p.add(plan.Warning, s, "BatchStartTimeout", "set BatchStartTimeout=130 before prolog_timeout in config.hcl is raised to 120s",
			"slurmctld may take a batch job for lost whose Prolog waits longer than %d s for the Weft server", n)
	}
}

// limits judges the times after which slurmd kills a hook.
func (p *Plan) limits(c *conf, alloc, prolog bool) {
	for _, t := range []struct {
		key   string
		limit int
	}{{"PrologEpilogTimeout", max(prologLimit, epilogLimit)}, {"PrologTimeout", prologLimit}, {"EpilogTimeout", epilogLimit}} {
		n, s, ends := c.seconds(t.key, 0)
		switch {
		case !prolog && t.key == "PrologTimeout":
		case ends && n <= t.limit:
			p.add(plan.Refusal, s, t.key, "set it to 30 or more, and to 130 or more for a prolog_timeout of 120s; or take it out",
				"slurmd kills a hook after %d s and drains the node, while Weft's may take %d s when the server is away", n, t.limit)
		case ends && alloc && n <= longLimit && t.key != "EpilogTimeout":
			p.add(plan.Warning, s, t.key, "set it to 130 or more before prolog_timeout in config.hcl is raised to 120s", "slurmd kills a Prolog after %d s and drains the node: prolog_timeout must stay below that", n)
		case ends:
			p.add(plan.Fine, s, t.key, "", "slurmd kills a hook after %d s only", n)
		}
	}
}
