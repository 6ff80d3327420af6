package daemon

import (
	"context"
	"path/filepath"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/plugins/local"
)

// adapters are a node's halves of the schedulers.
type adapters struct {
	hooks      map[string]core.Hooks
	schedulers map[string]core.Scheduler
	requeuers  map[string]core.Requeuer // of those that this node may speak to
	types      map[string]string
	own        []string // labels of type local
	verbs      map[string]listener.Handler
	tables     map[string]*local.Table
	plugins    map[string]*local.Plugin
	gone       chan ended
	agent      *agent.Agent
	node       string
}

// ended is a local job whose process is over.
type ended struct {
	label string
	entry local.Entry
}

// BeginArgs begin a local job.
type BeginArgs struct {
	local.Wish
	Scheduler string   `json:"scheduler,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
}

func newAdapters(ctx context.Context, site *Site, name, dir string, plugins *host.Host, in *blocks, o Options) (*adapters, error) {
	a := &adapters{
		node: name, hooks: map[string]core.Hooks{}, schedulers: map[string]core.Scheduler{}, requeuers: map[string]core.Requeuer{}, types: map[string]string{}, tables: map[string]*local.Table{}, plugins: map[string]*local.Plugin{},
		gone: make(chan ended, local.MaxJobs),
	}
	a.verbs = map[string]listener.Handler{"begin": a.begin}
	for _, p := range site.Config.Schedulers {
		a.types[p.Name] = p.Type
		if p.Type != "local" {
			s, findings := in.spec(host.Scheduler, p, host.Self)
			if len(findings) > 0 {
				return a, findingsError(findings)
			}
			if started, err := plugins.Start(ctx, s); started == nil {
				return a, err
			}
			names := aliasesOf(p)
			hooks, err := plugins.Hooks(p.Name)
			if err != nil {
				return a, err
			}
			a.hooks[p.Name] = names.hooks(hooks)
			if p.At != "" && p.At != name { // the scheduler's commands are elsewhere
				continue
			}
			half, err := plugins.Scheduler(p.Name)
			if err != nil {
				return a, err
			}
			half = names.scheduler(half)
			a.requeuers[p.Name], _ = half.(core.Requeuer) // one that is none answers so
			if p.At == name {
				a.schedulers[p.Name] = half
			}
			continue
		}
		// The local adapter holds this node's processes by their pidfds, which a plugin's restart would lose: it runs in the agent.
		table, err := local.Open(local.Options{
			Node: name, File: filepath.Join(dir, "jobs."+p.Name+".json"), Log: o.Log, Gone: func(e local.Entry) { a.gone <- ended{p.Name, e} },
		})
		if err != nil {
			return a, err
		}
		plugin := local.New(p.Name, table)
		if findings := configure(ctx, plugin, p); len(findings) > 0 {
			return a, findingsError(findings)
		}
		a.plugins[p.Name] = plugin
		a.tables[p.Name], a.hooks[p.Name], a.schedulers[p.Name] = table, plugin, plugin
		a.own = append(a.own, p.Name)
	}
	return a, nil
}

// configure applies a block to a local adapter.
func configure(ctx context.Context, plugin *local.Plugin, p config.Plugin) []hclfile.Finding {
	values, findings := p.Decode(plugin.Schema())
	if findings != nil {
		return findings
	}
	return p.Complain(plugin.Configure(ctx, values))
}

// reconfigure applies the blocks of local adapters, which are part of the agent: all of them, or none.
func (a *adapters) reconfigure(ctx context.Context, anew []config.Plugin) (findings []hclfile.Finding) {
	for _, p := range anew {
		if plugin := a.plugins[p.Name]; plugin != nil {
			findings = append(findings, configure(ctx, plugin, p)...)
		}
	}
	return findings
}

// begin makes the caller's process a job of the local scheduler that it names, or of the only one.
func (a *adapters) begin(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args BeginArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	if args.Scheduler == "" && len(a.own) == 1 {
		args.Scheduler = a.own[0]
	}
	table := a.tables[args.Scheduler]
	if table == nil {
		return nil, core.Errorf(core.BadCall, "scheduler %q: config.hcl declares none of type local and that name", core.Clip(args.Scheduler))
	}
	if len(args.Hosts) == 0 {
		args.Hosts = []string{a.node}
	}
	if len(args.Hosts) > 1 {
		return nil, core.Errorf(core.BadRequest, "job: %d nodes are wanted, and a local job has one", len(args.Hosts)).WithRemedy("only `weft dev` starts commands on several nodes")
	}
	if _, err := local.ParseOptions(args.Options); err != nil {
		return nil, err
	}
	return table.Begin(ctx, peer, args.Wish, args.Hosts...)
}

// run cleans up after local jobs whose process is over, however it ended.
func (a *adapters) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-a.gone:
			key := core.Key{JobID: core.JobID{Scheduler: e.label, Job: e.entry.Job}}
			a.agent.Do(ctx, core.Intent{Action: core.CleanUp, Key: key, UID: e.entry.UID, Began: hook.Boottime()}, core.Peer{})
		}
	}
}

func (a *adapters) close() error {
	for _, t := range a.tables {
		if err := t.Close(); err != nil {
			return err
		}
	}
	return nil
}
