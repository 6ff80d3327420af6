package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/hook/rundir"
)

const serverSocket = "server.sock"

// daemonDir is DaemonDir, but in tests.
var daemonDir = DaemonDir

// Here is the run directory of this host's agent and the node's name: --dir is it, or holds it as agent. A simulated system has none.
func (o *Options) Here() (rundir.Dir, string, bool) {
	o.resolve()
	for _, dir := range o.agents() {
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

// agents are the folders in which this host's agent may be.
func (o *Options) agents() []string { return []string{o.Dir, filepath.Join(o.Dir, "agent")} }

// Begun reports whether an agent of this host has made its folder. It is Here only a moment later.
func (o *Options) Begun() bool {
	return slices.ContainsFunc(o.agents(), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "ledger.db"))
		return err == nil
	})
}

// resolve takes the folder of the daemons where nobody named another and no simulated system is in the current folder.
func (o *Options) resolve() {
	if o.Dir != DefaultDir {
		return
	}
	if _, err := os.Stat(o.Dir); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if info, err := os.Stat(daemonDir); err == nil && info.IsDir() {
		o.Dir = daemonDir
	}
}

// Socket is the path of the socket of a node's agent; of the server where node is empty.
func (o *Options) Socket(node string) (string, error) {
	if node == "" {
		if err := o.There(); err != nil {
			return "", err
		}
		path := filepath.Join(o.Dir, serverSocket)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && o.Begun() {
			return "", core.Errorf(core.ServerAway, "%s: there is no socket, but an agent's folder", path).
				WithRemedy("`journalctl -u weft-agent` tells whether the agent has started; for the system, ask on the server's host")
		}
		return path, nil
	}
	if dir, ok := o.Agent(node); ok {
		return dir.Socket(os.Geteuid() == 0), nil
	}
	folder, err := o.Node(node)
	return rundir.Dir(folder).DevSocket(), err
}

// Agent is the run directory of a node's agent: of this host's, or of one that `weft dev --servers` runs.
func (o *Options) Agent(node string) (rundir.Dir, bool) {
	if dir, name, ok := o.Here(); ok && node == name {
		return dir, true
	}
	folder, err := o.Node(node)
	if err != nil {
		return "", false
	}
	h, err := rundir.Dir(folder).Hooks()
	return rundir.Dir(folder), err == nil && h.Node == node
}

// Node is a node's folder. The name becomes part of a path, so it is looked at first.
func (o *Options) Node(name string) (string, error) {
	if err := core.CheckName("node", name, core.MaxNodeName); err != nil {
		return "", err
	}
	if err := o.There(); err != nil {
		return "", err
	}
	folder := dev.Folder(o.Dir, name)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(o.Dir, serverSocket)); err == nil && filepath.Clean(o.Dir) != DefaultDir {
			if _, err := os.Stat(filepath.Dir(folder)); errors.Is(err, fs.ErrNotExist) { // a real system: its agents are on their own hosts
				return "", core.Errorf(core.NotThere, "node %q: its agent does not run on this host, and answers on its own only", core.Clip(name)).
					WithRemedy("run this on the node itself; `weft nodes` lists the nodes there are")
			}
		}
		return "", core.Errorf(core.NotThere, "node %q: the system in %s has none of that name", core.Clip(name), o.Dir).WithRemedy("`weft nodes` lists them")
	}
	return folder, nil
}

// There says what to start where there is no system at all.
func (o *Options) There() error {
	o.resolve()
	info, err := os.Stat(o.Dir)
	switch {
	case err == nil && !info.IsDir():
		return core.Errorf(core.BadCall, "dir %s: it is no folder", o.Dir).WithRemedy("name the folder of a running system with --dir")
	case errors.Is(err, fs.ErrNotExist):
		return core.Errorf(core.ServerAway, "dir %s: there is no such folder, so no system runs there", o.Dir).
			WithRemedy("start `weft dev` for a simulated one, or name the folder of a running one with --dir")
	}
	return nil
}
