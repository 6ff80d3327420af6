package policy

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/policy/facts"
)

// explained is a decision, what it was made of and how it came about.
type explained struct {
	Job     facts.Job `json:"job"`
	Live    *granted  `json:"live,omitempty"`    // of a job that runs
	Outside *outside  `json:"outside,omitempty"` // nodes of the job that the configuration does not have
	policy.Trace
}

type explainArgs struct {
	rulesArgs
	live, file string
	job        facts.Job
	nodes      string
	options    []string
}

func newPolicyExplain(o *cli.Options) *cobra.Command {
	a := &explainArgs{}
	cmd := &cobra.Command{
		Use: "explain [FILES]", Short: "Explain the decision on a job, by rule and line", Args: cobra.ArbitraryArgs,
		Long: `Decide on a job as the server does, and explain the decision. Weft shows each
attribute with the rule and line that set it, and the value that it replaced.
For every rule, Weft shows why the rule applies to the job or not: the part of
its condition that was false, and the values that it read.

Flags describe the job, or --job does, in the JSON that -o json shows below
"job". Weft decides by FILES (policy files and folders of them), or by the
policy that the configuration names. It asks no server.

With --live, Weft asks the server for a job that it knows, and for the policy
that granted the job, even if another policy is in force now. Only root and
admin_group see the jobs of other users. Weft shows the limit of a quota; only
the server knows the usage.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := a.explain(cmd, o, args)
			if err != nil {
				return err
			}
			return cli.Print(o, out, printExplained)
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.live, "live", "", "explain a `JOB` that the server knows, by its id in weft jobs")
	o.JobNames().Flag(cmd, "live")
	f.StringVar(&a.file, "job", "", "read the job in JSON from this `FILE`; - is standard input")
	f.StringVar(&a.job.User, "user", "", "name of the job's user")
	f.Uint32Var(&a.job.UID, "uid", 0, "number of the job's user")
	f.Uint32Var(&a.job.GID, "gid", 0, "number of the job's group")
	f.StringSliceVar(&a.job.Groups, "groups", nil, "groups of the job's user")
	f.StringVar(&a.job.Account, "account", "", "account of the job")
	f.StringVar(&a.job.Queue, "queue", "", "queue or partition of the job")
	f.StringVar(&a.job.Scheduler, "scheduler", "",
		"name of the job's scheduler in the configuration (default: the only scheduler)")
	told(cmd, "qos", "quality of service of the job", &a.job.QOS)
	told(cmd, "reservation", "reservation of the job; \"\": none", &a.job.Reservation)
	told(cmd, "constraints", "what the job's nodes must have, as its scheduler writes it", &a.job.Constraints)
	f.Func("time-limit", "time limit of the job in `SECONDS`, or unlimited", func(text string) error {
		n, err := facts.ParseSeconds(text)
		a.job.TimeLimit = &n
		return err
	})
	nowFlag(cmd, &a.job.Now, "decide as at this `TIME`, such as 2026-12-01T06:00:00Z (default: now; a live job's own)")
	f.StringVarP(&a.nodes, "nodes", "N", "1", "number of nodes, or a hostlist")
	f.IntVar(&a.job.Cores, "cores", 1, "cores on each node")
	f.StringArrayVar(&a.options, "option", nil,
		"an option of the job, as the users of --scheduler write it; may be repeated")
	cli.OptionNames(func(ctx context.Context) (core.RequestParser, func(), error) {
		r := a.load(nil)
		return r.parser(ctx, r.scheduler(a.job.Scheduler))
	}).Flag(cmd, "option")
	a.Flags(cmd)
	return o.Listing(cmd)
}

// described are the flags that describe a job.
var described = []string{"user", "uid", "gid", "groups", "account", "queue", "scheduler", "qos", "reservation",
	"constraints", "time-limit", "nodes", "cores", "option"}

// told is a flag of a fact that is unknown where it is not given.
func told(cmd *cobra.Command, name, usage string, to **string) {
	cmd.Flags().Func(name, usage, func(text string) error { *to = &text; return nil })
}

// nowFlag is --now.
func nowFlag(cmd *cobra.Command, to *time.Time, usage string) {
	cmd.Flags().TimeVar(to, "now", time.Time{}, []string{time.RFC3339}, usage)
}

func (a *explainArgs) explain(cmd *cobra.Command, o *cli.Options, files []string) (explained, error) {
	var flags []string
	for _, name := range described {
		if cmd.Flags().Changed(name) {
			flags = append(flags, "--"+name)
		}
	}
	switch {
	case a.live != "" && (a.file != "" || len(flags) > 0 || len(files) > 0):
		return explained{}, cli.Misuse(cmd, "policy explain: --live takes the job and its policy from the server; leave out %s", strings.Join(append(flags, files...), " "))
	case a.file != "" && len(flags) > 0:
		return explained{}, cli.Misuse(cmd, "policy explain: --job describes the whole job; leave out %s", strings.Join(flags, " "))
	case a.live != "":
		return a.granted(cmd.Context(), o)
	}
	r, err := a.usable(files)
	if err != nil {
		return explained{}, err
	}
	job := a.job
	job.Nodes = facts.Nodes(a.nodes)
	if a.file != "" {
		in, err := cli.Input(a.file)
		if err != nil {
			return explained{}, cli.Usage("job: %w", err)
		}
		defer in.Close()
		if job, err = facts.Read(in); err != nil {
			return explained{}, err
		}
		if !a.job.Now.IsZero() {
			job.Now = a.job.Now
		}
	}
	job.Scheduler = r.scheduler(job.Scheduler)
	switch {
	case job.Scheduler != "" && !slices.Contains(r.Env.Schedulers, job.Scheduler):
		return explained{}, cli.Usage("policy explain: the configuration has no scheduler %q; there are: %s", core.Clip(job.Scheduler), cmp.Or(strings.Join(r.Env.Schedulers, ", "), "-"))
	case a.file == "" && job.Cores < 1:
		return explained{}, cli.Misuse(cmd, "policy explain: --cores %d: a job has at least 1 on each node", job.Cores)
	}
	parse := func(given []string) (core.Request, error) {
		parser, end, err := r.parser(cmd.Context(), job.Scheduler)
		if err != nil {
			return core.Request{}, err
		}
		defer end()
		return parser.ParseRequest(cmd.Context(), given)
	}
	if err := job.Options(a.options, parse); err != nil {
		return explained{}, err
	}
	if job.Now.IsZero() {
		job.Now = time.Now()
	}
	facts, err := r.facts(job)
	if err != nil {
		return explained{}, err
	}
	out := asExplained(r.Policy, facts)
	out.Outside, err = r.outside(facts.Job)
	return out, err
}

func asExplained(p *policy.Policy, f engine.Facts) explained {
	return explained{Job: facts.Of(f.Job).At(f.Now), Trace: p.Explain(f)}
}

func (r ruleset) facts(job facts.Job) (engine.Facts, error) {
	j, err := job.Job(r.Env.Nodes)
	if err != nil {
		return engine.Facts{}, err
	}
	list, err := hostlist.Parse(r.Env.Nodes)
	return engine.Facts{Job: j, System: engine.System{Nodes: int(list.Count()), Topology: r.Env.Topology}, Now: job.Moment()}, err
}

// scheduler is the one of that name, or the only one.
func (r ruleset) scheduler(name string) string {
	if name == "" && len(r.Env.Schedulers) == 1 {
		return r.Env.Schedulers[0]
	}
	return name
}

// parser is the adapter of a scheduler, which reads its users' options, and a function that ends it. Without a scheduler
// the options are those of `weft run`.
func (r ruleset) parser(ctx context.Context, scheduler string) (core.RequestParser, func(), error) {
	if r.Config != nil {
		for _, s := range r.Config.Schedulers {
			if s.Name == scheduler {
				return plugin.Parser(ctx, s)
			}
		}
	}
	return local.New("local"), func() {}, nil
}
