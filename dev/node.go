package dev

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	machine "github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/store/bolt"
)

// Node is one simulated node: an agent, its NICs, and the local jobs on it.
type Node struct {
	name   string
	folder string
	boot   string
	driver *sim.Driver
	ledger bolt.Ledger
	table  *local.Table
	agent  *agent.Agent
	gone   chan local.Entry
}

// Join is what `weft run` tells a node about its child there.
type Join struct {
	Job string `json:"job"`
	PID int32  `json:"pid"`
}

// Begin is what `weft run` tells the first node of its job.
type Begin struct {
	local.Wish
	Hosts []string `json:"hosts"`
}

// maxGone is how many ends of local jobs may wait to be cleaned up on a node.
const maxGone = local.MaxJobs

func (s *System) newNode(name string, address uint32) (*Node, error) {
	n := &Node{name: name, folder: Folder(s.o.Dir, name), gone: make(chan local.Entry, maxGone)}
	if err := os.MkdirAll(filepath.Join(n.folder, "env"), 0o755); err != nil {
		return nil, err
	}
	boot, err := bootID(filepath.Join(n.folder, "boot"))
	if err != nil {
		return nil, err
	}
	n.boot = boot
	n.driver = sim.New(sim.Options{Dir: NICs(s.o.Dir, name), NICs: s.o.NICs, Address: address, Boot: boot, Latency: s.o.Latency, NoSync: true, Release: s.o.Release})
	if n.ledger, err = bolt.OpenLedger(filepath.Join(n.folder, "ledger.db")); err != nil {
		return nil, err
	}
	n.table, err = local.Open(local.Options{
		Node: name, File: filepath.Join(n.folder, "jobs.json"), Cores: s.o.Cores, Log: s.o.Log.With(core.LogNode, name),
		Gone: func(e local.Entry) { n.gone <- e },
	})
	if err != nil {
		return nil, errors.Join(err, n.ledger.Close())
	}
	if s.o.PerUser > 0 {
		n.table.SetPerUser(s.o.PerUser)
	}
	return n, nil
}

// start runs the node's agent and its socket.
func (n *Node) start(s *System) error {
	a, err := agent.New(s.ctx, agent.Needs{
		Node: n.name, Boot: n.boot, Driver: n.driver, Authority: &s.link, Store: n.ledger, Environ: filepath.Join(n.folder, "env"), Log: s.o.Log,
		Hooks: map[string]core.Hooks{s.o.Local: s.plugin}, Machine: machine.Config{
			SelfService: []string{s.o.Local},
			Served:      func(vnis []core.VNI) bool { return s.o.Config.Served(n.name, vnis) != "" },
		},
	})
	if err != nil {
		return err
	}
	n.agent = a
	ln, err := listener.Listen(filepath.Join(n.folder, "agent.sock"), 0o666)
	if err != nil {
		return err
	}
	site := s.o.Site
	site.Checks = map[string]core.Checker{"driver sim": n.driver}
	verbs := a.Verbs(site, map[string]listener.Handler{"begin": n.begin(s), "join": n.join(s)})
	socket := &listener.Server{Bounds: listener.Users(), Log: s.o.Log}
	s.group.Go(func() { _ = a.Run(s.ctx) })
	s.group.Go(func() {
		if err := socket.Serve(s.ctx, ln, verbs.Handle); err != nil {
			s.o.Log.Warn("the node's socket", core.LogNode, n.name, core.LogError, err)
		}
	})
	s.group.Go(func() { n.cleanUp(s) })
	return nil
}

// begin makes the caller's process a job.
func (n *Node) begin(s *System) listener.Handler {
	return func(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
		var b Begin
		if err := req.Decode(&b); err != nil {
			return nil, err
		}
		if len(b.Hosts) == 0 {
			b.Hosts = []string{n.name}
		}
		seen := map[string]bool{}
		for _, h := range b.Hosts {
			switch {
			case s.nodes[h] == nil:
				return nil, core.Errorf(core.NotThere, "node %q: there is none of that name", core.Clip(h)).WithRemedy("`weft nodes` lists them")
			case seen[h]:
				return nil, core.Errorf(core.BadCall, "node %s: the job names it twice", h)
			}
			seen[h] = true
		}
		if _, err := local.ParseOptions(b.Options); err != nil {
			return nil, err
		}
		return n.table.Begin(ctx, peer, b.Wish, b.Hosts...)
	}
}

// join makes a process of the caller's this node's part of his job.
func (n *Node) join(s *System) listener.Handler {
	return func(_ context.Context, peer core.Peer, req hook.Request) (any, error) {
		var j Join
		if err := req.Decode(&j); err != nil {
			return nil, err
		}
		for _, other := range s.nodes {
			e, ok := other.table.Get(j.Job)
			if !ok || other == n {
				continue
			}
			if !peer.Root() && e.UID != peer.UID {
				return nil, core.Errorf(core.NotAllowed, "job %s: it is another user's", j.Job)
			}
			return n.table.Join(e, j.PID)
		}
		return nil, core.Errorf(core.JobUnknown, "job %s: no process of it lives", core.Clip(j.Job))
	}
}

// cleanUp cleans up after local jobs whose process is over, however it ended.
func (n *Node) cleanUp(s *System) {
	root := core.Peer{Node: n.name}
	for {
		select {
		case <-s.ctx.Done():
			return
		case e := <-n.gone:
			key := core.Key{JobID: core.JobID{Scheduler: s.o.Local, Job: e.Job}}
			out := n.agent.Do(s.ctx, core.Intent{Action: core.CleanUp, Key: key, UID: e.UID, Began: hook.Boottime()}, root)
			if out.Err != nil && s.ctx.Err() == nil {
				s.o.Log.Warn("a job that is over was not cleaned up; the server's order will do it", core.LogJob, e.Job, core.LogNode, n.name, core.LogError, out.Err)
			}
		}
	}
}

func (n *Node) close(log *slog.Logger) {
	if err := errors.Join(n.table.Close(), n.ledger.Close()); err != nil {
		log.Warn("the node's files", core.LogNode, n.name, core.LogError, err)
	}
}
