// Package adapters keeps what server and agent need of schedulers' adapters: their halves on a node, the hooks that are answered beside the server, and what
// weft-hook must know of both.
package adapters

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/plugins/local"
)

// Node holds a node's halves of the schedulers.
type Node struct {
	Hooks      map[string]core.Hooks
	Schedulers map[string]core.SchedulerClient
	Requeuers  map[string]core.SchedulerClient // those that this node may speak to
	types      map[string]string
	observed   map[string]bool // labels of the schedulers whose jobs are only observed
	Own        []string        // labels of type local
	Verbs      map[string]listener.Handler
	local      map[string]localHalf // by label
	gone       chan ended
	Agent      *agent.Agent
	node       string
}

// localHalf is an adapter of type local, which runs in the agent.
type localHalf struct {
	*local.Plugin
	table *local.Table
}

// ended is a local job whose process is over.
type ended struct {
	label string
	entry local.Entry
}

type BeginArgs struct {
	local.Wish
	Scheduler string   `json:"scheduler,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
}

func NewNode(ctx context.Context, site *settings.Site, name, dir string, plugins *host.Host, in *plugin.Blocks, log *slog.Logger) (*Node, error) {
	a := &Node{
		node: name, Hooks: map[string]core.Hooks{}, types: map[string]string{}, gone: make(chan ended, local.MaxJobs),
		Schedulers: map[string]core.SchedulerClient{}, Requeuers: map[string]core.SchedulerClient{},
		local: map[string]localHalf{}, observed: map[string]bool{},
	}
	a.Verbs = map[string]listener.Handler{"begin": a.begin}
	for _, p := range site.Config.Schedulers {
		a.types[p.Name], a.observed[p.Name] = p.Type, p.Observe
		if p.Type != "local" {
			s, findings := in.Spec(host.Scheduler, p)
			if len(findings) > 0 {
				return a, config.AsError(findings)
			}
			started, err := plugins.Start(ctx, s)
			if started == nil {
				return a, err
			}
			names := plugin.AliasesOf(p)
			a.Hooks[p.Name] = names.Hooks(started.Hooks())
			if p.At != "" && p.At != name { // the scheduler's commands are elsewhere
				continue
			}
			half := names.Scheduler(started.Scheduler())
			a.Requeuers[p.Name] = half
			if p.At == name {
				a.Schedulers[p.Name] = half
			}
			continue
		}
		// The local adapter holds this node's processes by their pidfds, which a plugin's restart would lose: it runs in the agent.
		table, err := local.Open(local.Options{
			Node: name, File: filepath.Join(dir, "jobs."+p.Name+".json"), Log: log, Gone: func(e local.Entry) { a.gone <- ended{p.Name, e} },
		})
		if err != nil {
			return a, err
		}
		half := local.New(p.Name, table)
		if _, findings := p.Apply(ctx, half); len(findings) > 0 {
			return a, config.AsError(findings)
		}
		a.local[p.Name] = localHalf{half, table}
		a.Hooks[p.Name], a.Schedulers[p.Name] = half, core.Dispatcher{Of: half}
		a.Own = append(a.Own, p.Name)
	}
	return a, nil
}

// Reconfigure applies the blocks of local adapters, which are part of the agent: all of them, or none.
func (a *Node) Reconfigure(ctx context.Context, anew []config.Plugin) (findings []hclfile.Finding) {
	for _, p := range anew {
		if half, ok := a.local[p.Name]; ok {
			_, wrong := p.Apply(ctx, half)
			findings = append(findings, wrong...)
		}
	}
	return findings
}

// begin makes the caller's process a job of the local scheduler that it names, or of the only one.
func (a *Node) begin(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args BeginArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	if args.Scheduler == "" && len(a.Own) == 1 {
		args.Scheduler = a.Own[0]
	}
	table := a.local[args.Scheduler].table
	if table == nil {
		return nil, core.Errorf(core.BadCall, "scheduler %q: config.hcl declares none of type local and that name", core.Clip(args.Scheduler))
	}
	if len(args.Hosts) == 0 {
		args.Hosts = []string{a.node}
	}
	if len(args.Hosts) > 1 {
		return nil, core.Errorf(core.BadRequest, "job: %d nodes are wanted, and a local job has one", len(args.Hosts)).WithRemedy("only `weft dev` without --servers starts commands on several nodes")
	}
	if _, err := local.ParseOptions(args.Options); err != nil {
		return nil, err
	}
	return table.Begin(ctx, peer, args.Wish, args.Hosts...)
}

// Run cleans up after local jobs whose process is over, however it ended.
func (a *Node) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-a.gone:
			key := core.Key{JobID: core.JobID{Scheduler: e.label, Job: e.entry.Job}}
			a.Agent.Do(ctx, core.Intent{Action: core.CleanUp, Key: key, UID: e.entry.UID, Began: hook.Boottime()}, core.Peer{})
		}
	}
}

func (a *Node) Close() (err error) {
	for _, half := range a.local {
		err = errors.Join(err, half.table.Close())
	}
	return err
}
