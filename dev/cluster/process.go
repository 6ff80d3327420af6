package cluster

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
)

const (
	again    = 5 * time.Second // a process that ended starts again, as systemd has it
	endsIn   = 5 * time.Second // after SIGTERM, and before SIGKILL
	lastLine = 4 << 10
)

// The sockets of etcd in its folder. etcd takes a host and a port for a name.
const (
	clientSocket = "client:1"
	peerSocket   = "peer:1"
)

// spawner starts processes. It has a thread for itself: a process that it starts is killed when that thread ends, and
// so also when this process is killed.
type spawner chan func()

func newSpawner() spawner {
	s := make(spawner)
	go func() {
		runtime.LockOSThread()
		for f := range s {
			f()
		}
	}()
	return s
}

func (s spawner) start(cmd *exec.Cmd) (err error) {
	done := make(chan struct{})
	s <- func() {
		err = cmd.Start()
		close(done)
	}
	<-done
	return err
}

// layer is processes that start and end together.
type layer struct {
	cancel context.CancelFunc
	all    *sync.WaitGroup
}

func (l layer) stop() {
	l.cancel()
	l.all.Wait()
}

func (c *Cluster) layer() (context.Context, *sync.WaitGroup) {
	ctx, cancel := context.WithCancel(context.Background())
	l := layer{cancel, &sync.WaitGroup{}}
	c.layers = append(c.layers, l)
	return ctx, l.all
}

func (c *Cluster) etcdFolder() string { return filepath.Join(c.o.Dir, "etcd") }

func (c *Cluster) startEtcd() {
	const client, peer = "unix://" + clientSocket, "unix://" + peerSocket
	ctx, all := c.layer()
	all.Go(func() {
		c.keep(ctx, "etcd", filepath.Join(c.etcdFolder(), "log"), func(cmd *exec.Cmd) {
			for _, socket := range []string{clientSocket, peerSocket} { // etcd may have been killed
				_ = os.Remove(filepath.Join(c.etcdFolder(), socket))
			}
			cmd.Path, cmd.Dir = c.etcd, c.etcdFolder()
			cmd.Args = []string{
				"etcd", "--name", "dev", "--data-dir", "data", "--log-level", "warn",
				"--listen-client-urls", client, "--advertise-client-urls", client,
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "dev=" + peer,
			}
		})
	})
}

func (c *Cluster) etcdAnswers(context.Context) bool {
	conn, err := net.Dial("unix", filepath.Join(c.etcdFolder(), clientSocket))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func (c *Cluster) start(daemons []daemon) {
	ctx, all := c.layer()
	for _, d := range daemons {
		all.Go(func() {
			c.keep(ctx, d.name, filepath.Join(d.folder, "log"), func(cmd *exec.Cmd) {
				cmd.Path, cmd.Args = "/proc/self/exe", []string{"weft", d.verb, "--config", d.config()}
			})
		})
	}
}

// keep runs a process, and starts it again when it ends, until ctx ends.
func (c *Cluster) keep(ctx context.Context, name, log string, make func(*exec.Cmd)) {
	for {
		err := c.run(ctx, name, log, make)
		if ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		ready := c.ready
		c.mu.Unlock()
		if !ready {
			err := core.Errorf(core.InternalFault, "dev: %s ended: %w: %s", name, err, core.Clip(last(log))).
				WithRemedy("see " + log)
			select {
			case c.ended <- err:
			default:
			}
			return
		}
		c.o.Tell("%s ended: %v; it starts again in %s; its log: %s", name, err, again, log)
		if !poll.Pause(ctx, again) {
			return
		}
	}
}

func (c *Cluster) run(ctx context.Context, name, log string, make func(*exec.Cmd)) error {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := exec.CommandContext(ctx, "weft")
	cmd.Err = nil // make says which program it is
	make(cmd)
	cmd.Stdout, cmd.Stderr = f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} // Ctrl-C comes by Stop, in its order
	cmd.Cancel = func() error {
		err := cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Process.Signal(syscall.SIGCONT) // a user may have stopped it
		return err
	}
	cmd.WaitDelay = endsIn
	if err := c.spawn.start(cmd); err != nil {
		return err
	}
	c.mu.Lock()
	c.pids[name] = cmd.Process.Pid
	c.mu.Unlock()
	return cmd.Wait()
}

// last is the last line of a log.
func last(log string) string {
	text, _ := os.ReadFile(log)
	text = bytes.TrimSpace(text[max(0, len(text)-lastLine):])
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}
