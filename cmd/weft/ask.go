package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
)

// server is the path of the server's socket.
func (o *options) server() (string, error) {
	if err := o.there(); err != nil {
		return "", err
	}
	return filepath.Join(o.dir, "server.sock"), nil
}

// here is the run directory of this host's agent and the node's name: --dir is it, or holds it as agent. A simulated system has none.
func (o *options) here() (rundir.Dir, string, bool) {
	o.resolve()
	for _, dir := range []string{o.dir, filepath.Join(o.dir, "agent")} {
		abs, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		if h, err := rundir.Dir(abs).Hooks(); err == nil {
			return rundir.Dir(abs), h.Node, true
		}
	}
	return "", "", false
}

// resolve takes the folder of the daemons where nobody named another and no simulated system is in the current folder.
func (o *options) resolve() {
	if o.dir != defaultDir {
		return
	}
	if _, err := os.Stat(o.dir); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if info, err := os.Stat(daemonDir); err == nil && info.IsDir() {
		o.dir = daemonDir
	}
}

// agent is the path of a node's socket.
func (o *options) agent(node string) (string, error) {
	if dir, name, ok := o.here(); ok && node == name {
		return dir.Socket(os.Geteuid() == 0), nil
	}
	folder, err := o.node(node)
	return filepath.Join(folder, "agent.sock"), err
}

// node is a node's folder. The name becomes part of a path, so it is looked at first.
func (o *options) node(name string) (string, error) {
	if err := core.CheckName("node", name, core.MaxNodeName); err != nil {
		return "", err
	}
	if err := o.there(); err != nil {
		return "", err
	}
	folder := dev.Folder(o.dir, name)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(o.dir, "server.sock")); err == nil && filepath.Clean(o.dir) != defaultDir {
			if _, err := os.Stat(filepath.Dir(folder)); errors.Is(err, fs.ErrNotExist) { // a real system: its agents are on their own hosts
				return "", core.Errorf(core.NotThere, "node %q: its agent does not run on this host, and answers on its own only", core.Clip(name)).
					WithRemedy("run this on the node itself; `weft nodes` lists the nodes there are")
			}
		}
		return "", core.Errorf(core.NotThere, "node %q: the system in %s has none of that name", core.Clip(name), o.dir).WithRemedy("`weft nodes` lists them")
	}
	return folder, nil
}

// there says what to start where there is no system at all.
func (o *options) there() error {
	o.resolve()
	info, err := os.Stat(o.dir)
	switch {
	case err == nil && !info.IsDir():
		return core.Errorf(core.BadCall, "dir %s: it is no folder", o.dir).WithRemedy("name the folder of a running system with --dir")
	case errors.Is(err, fs.ErrNotExist):
		return core.Errorf(core.ServerAway, "dir %s: there is no such folder, so no system runs there", o.dir).
			WithRemedy("start `weft dev` for a simulated one, or name the folder of a running one with --dir")
	}
	return nil
}

// ask makes one call to the server.
func (o *options) ask(ctx context.Context, verb string, in, out any) error {
	path, err := o.server()
	if err != nil {
		return err
	}
	return hook.Call(ctx, path, verb, in, out)
}

// askNode makes one call to a node's agent.
func (o *options) askNode(ctx context.Context, node, verb string, in, out any) error {
	path, err := o.agent(node)
	if err != nil {
		return err
	}
	return hook.Call(ctx, path, verb, in, out)
}

// list gathers a list of the server's.
func list[T any](ctx context.Context, o *options, verb string, in any) ([]T, error) {
	path, err := o.server()
	if err != nil {
		return nil, err
	}
	return hook.List[T](ctx, path, verb, in)
}

// listNode gathers a list of a node's agent.
func listNode[T any](ctx context.Context, o *options, node, verb string) ([]T, error) {
	path, err := o.agent(node)
	if err != nil {
		return nil, err
	}
	return hook.List[T](ctx, path, verb, nil)
}

// splitJob reads a job as the lists show it, SCHEDULER/ID or ID, and refuses what no scheduler gives.
func splitJob(text string) (scheduler, id string, err error) {
	id = text
	if label, rest, ok := strings.Cut(text, "/"); ok {
		if core.CheckName("scheduler", label, core.MaxScheduler) != nil {
			return "", "", core.Errorf(core.BadCall, "job %q: %q is no scheduler's label", core.Clip(text), core.Clip(label)).WithRemedy("write ID or SCHEDULER/ID, as `weft jobs` shows it")
		}
		scheduler, id = label, rest
	}
	return scheduler, id, core.CheckJobID(id)
}
