package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/server"
)

// Bounds of a cluster.
const (
	MaxServers = 5
	MaxNodes   = 64 // each is a process
)

const (
	lease      = 3 * time.Second // of the server that leads
	startsIn   = time.Minute
	lookEvery  = 200 * time.Millisecond
	lookWithin = 500 * time.Millisecond // a stopped server does not answer
)

// Options of a Cluster.
type Options struct {
	Dir        string // made when it is not there
	Servers    int
	Nodes      []string
	NICs       int // a node
	Config     hclfile.Source
	Policy     string // folder of the policy
	Admins     string // admin_group
	Quarantine time.Duration
	Tell       func(format string, args ...any) // a line for the person who runs it
}

// Cluster is running from Start to Stop.
type Cluster struct {
	o       Options
	claim   *os.File
	etcd    string // its program
	servers []daemon
	agents  []daemon
	spawn   spawner
	layers  []layer // in the order of their start

	mu    sync.Mutex
	pids  map[string]int
	ready bool
	ended chan error // one that ended before all were ready
}

// daemon is a server or an agent.
type daemon struct {
	name   string
	verb   string
	folder string
}

// Start starts a cluster, and returns when a server leads and every node is in session. Stop must follow, also after an
// error.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c := &Cluster{o: o, pids: map[string]int{}, ended: make(chan error, 1)}
	var err error
	if c.etcd, err = exec.LookPath("etcd"); err != nil {
		return c, core.Errorf(core.NotThere, "dev: %d servers share an etcd, and the PATH has none", o.Servers).
			WithRemedy("install etcd 3.4 or later, on Debian the package etcd-server; without --servers there is one server")
	}
	if len(o.Nodes) > MaxNodes {
		return c, core.Errorf(core.BadConfig, "dev: config.hcl has %d nodes, and each is a process here: %d at most",
			len(o.Nodes), MaxNodes).WithRemedy("name fewer with `nodes`, or run one server")
	}
	if c.claim, err = dev.Claim(o.Dir, o.Nodes); err != nil {
		return c, err
	}
	if err := c.write(); err != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, startsIn)
	defer cancel()
	c.spawn = newSpawner()
	c.startEtcd()
	if err := c.await(ctx, "etcd answers", c.etcdAnswers); err != nil {
		return c, err
	}
	c.start(c.servers)
	c.start(c.agents)
	return c, c.await(ctx, "a server leads and every node is in session", func(ctx context.Context) bool {
		d, st, ok := c.leader(ctx)
		return ok && st.Attached == len(o.Nodes) && c.link(d) == nil
	})
}

// await waits until something is so. It ends with an error where a process ends before.
func (c *Cluster) await(ctx context.Context, what string, so func(context.Context) bool) error {
	for !so(ctx) {
		select {
		case err := <-c.ended:
			return err
		case <-ctx.Done():
			return core.Errorf(core.TimedOut, "dev: it is not so yet that %s: %w", what, context.Cause(ctx)).
				WithRemedy("see the logs below " + c.o.Dir)
		case <-time.After(lookEvery):
		}
	}
	return nil
}

// leader is the server that leads, and what it says.
func (c *Cluster) leader(ctx context.Context) (daemon, server.Status, bool) {
	for _, d := range c.servers {
		var st server.Status
		ctx, cancel := context.WithTimeout(ctx, lookWithin)
		err := hook.Call(ctx, d.socket(), "status", nil, &st)
		cancel()
		if err == nil && st.Servers != nil && st.Servers.Leads {
			return d, st, true
		}
	}
	return daemon{}, server.Status{}, false
}

// Watch tells which server leads, and makes its socket that of the system, until ctx ends.
func (c *Cluster) Watch(ctx context.Context) {
	c.mu.Lock()
	c.ready = true
	c.mu.Unlock()
	last := 0
	for {
		if d, _, ok := c.leader(ctx); ok {
			if pid := c.pid(d.name); pid != last && c.link(d) == nil {
				last = pid
				c.o.Tell("%s leads: process %d; after `kill -9 %[2]d` another leads within %s", d.name, pid, lease+time.Second)
			}
		}
		if !poll.Pause(ctx, lookEvery) {
			return
		}
	}
}

func (c *Cluster) socket() string { return filepath.Join(c.o.Dir, "server.sock") }

// link gives the socket of a server the name of the system's.
func (c *Cluster) link(d daemon) error {
	made := c.socket() + ".new"
	_ = os.Remove(made)
	if err := os.Link(d.socket(), made); err != nil {
		return err
	}
	return os.Rename(made, c.socket())
}

// Stop ends every process: agents first, etcd last. Services on the simulated NICs stay, as they would on real ones.
func (c *Cluster) Stop() {
	for i := len(c.layers) - 1; i >= 0; i-- {
		c.layers[i].stop()
	}
	if c.spawn != nil {
		close(c.spawn)
	}
	if c.claim != nil {
		_ = os.Remove(c.socket())
		c.claim.Close()
	}
}

func (d daemon) socket() string { return filepath.Join(d.folder, "server.sock") }

func (d daemon) config() string { return filepath.Join(d.folder, "config.hcl") }

func (c *Cluster) pid(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pids[name]
}

// etcdOf is how servers reach etcd.
func (c *Cluster) etcdOf() (*config.Etcd, error) {
	dir, err := filepath.Abs(c.etcdFolder())
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, clientSocket)
	if len(path) > hook.MaxPath {
		return nil, core.Errorf(core.BadConfig, "dir %s: etcd's socket has a path of %d bytes, and the kernel takes %d",
			core.Clip(c.o.Dir), len(path), hook.MaxPath).WithRemedy("give a folder with a shorter path")
	}
	return &config.Etcd{Endpoints: []string{"unix://" + path}, Prefix: config.DefaultPrefix, Lease: lease}, nil
}

func serverName(i int) string { return fmt.Sprintf("server%d", i+1) }
