package host

import (
	"bytes"
	"context"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host/cgroup"
	"github.com/weft-hpc/weft/rpc"
	"github.com/weft-hpc/weft/sdk"
)

// outside begins a life as a process.
func (p *Plugin) outside(ctx context.Context, folder string, tree *cgroup.Tree) (*life, error) {
	if err := p.spec.Program.Check(); err != nil {
		return nil, err
	}
	if err := emptied(folder); err != nil {
		return nil, err
	}
	proc, err := p.newProcess(tree, filepath.Base(folder))
	if err != nil {
		return nil, err
	}
	client := plugin.NewClient(p.clientConfig(proc, folder))
	l := newLife()
	l.ended, l.dead, l.kill, l.why = proc.Ended, proc.Dead, proc.kill, proc.why
	l.stop = sync.OnceFunc(func() { p.grave.Go(client.Kill) })
	defer context.AfterFunc(ctx, func() { proc.kill("killed: " + context.Cause(ctx).Error()) })()
	err = p.connect(ctx, l, client)
	if err == nil {
		l.pid = proc.Cmd.Process.Pid
		return l, nil
	}
	if !proc.ran() {
		l.close()
		return nil, core.Errorf(core.BadConfig, "%s: its program %s cannot be run: %w", p.spec.title(), p.spec.Program.Path, err)
	}
	p.mu.Lock()
	p.status.PID = proc.Cmd.Process.Pid
	p.mu.Unlock()
	if _, plain := err.(*shakeError); plain { //nolint:errorlint // made three lines above
		proc.kill("killed: it did not shake hands: " + err.Error())
		p.finish(l, false)
		if p.within(l.dead, p.limits.Kill) {
			return nil, core.Errorf(p.spec.Kind.away(), "%s: %s", p.spec.title(), l.why())
		}
		return nil, core.Errorf(p.spec.Kind.away(), "%s: %w", p.spec.title(), err)
	}
	p.finish(l, false)
	return nil, err
}

// shakeError is a start that came to no connection.
type shakeError struct{ error }

func (p *Plugin) clientConfig(proc *process, folder string) *plugin.ClientConfig {
	level := slog.LevelInfo
	if p.log.Enabled(context.Background(), slog.LevelDebug) {
		level = slog.LevelDebug
	}
	env := append([]string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C.UTF-8",
		"TMPDIR=" + folder,
		memoryGoal(proc.bounds.Memory),
		sdk.LevelKey + "=" + strings.ToLower(level.String()),
	}, p.spec.Program.Env...)
	env = append(env, plugin.EnvUnixSocketDir+"="+folder)
	return &plugin.ClientConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: sdk.CookieKey, MagicCookieValue: sdk.CookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{sdk.Protocol: {}},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			proc.Cmd.Env = append(cmd.Env, env...) // the last of a name counts
			return proc, nil
		},
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: folder},
		SkipHostEnv:      true,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         p.spec.AutoMTLS,
		StartTimeout:     p.limits.Start,
		GRPCDialOptions:  append(rpc.PluginDial(), grpc.WithStatsHandler(watcher{})),
		Logger:           machinery(p.log),
		SyncStdout:       &lines{output: proc.output, stream: "stdout"},
		SyncStderr:       &lines{output: proc.output, stream: "stderr"},
	}
}

// connect starts the program, and configures it before anybody uses it.
func (p *Plugin) connect(ctx context.Context, l *life, client *plugin.Client) error {
	if _, err := client.Start(); err != nil {
		return &shakeError{err}
	}
	raw, err := client.Client()
	if err != nil {
		return &shakeError{err}
	}
	conn := raw.(*plugin.GRPCClient).Conn
	ctx, cancel := context.WithTimeout(ctx, p.limits.Configure)
	defer cancel()
	far := rpc.NewPlugin(conn)
	info, err := far.Info(ctx)
	if err != nil {
		return core.Errorf(p.spec.Kind.away(), "%s: info: %w", p.spec.title(), err)
	}
	l.version = info.Version
	if slices.Contains(info.Services, rpc.NICService) {
		l.nic = rpc.NewNIC(conn)
	}
	if slices.Contains(info.Services, rpc.FabricService) {
		l.fabric = rpc.NewFabric(conn)
	}
	if slices.Contains(info.Services, rpc.HooksService) {
		l.hooks = rpc.NewHooks(conn)
	}
	if slices.Contains(info.Services, rpc.SchedulerService) {
		l.scheduler = rpc.NewScheduler(conn, info.Abilities)
	}
	l.checker, l.health, l.drain, l.abilities = far, far.Health, far.Drain, info.Abilities
	if err := p.serves(l, "the program "+p.spec.Program.Path+" ("+strings.Join(info.Services, ", ")+")"); err != nil {
		return err
	}
	return p.configure(ctx, far.Schema, far)
}

// lines is what a plugin's fmt.Println comes to: go-plugin sends it over the connection.
type lines struct {
	output *output
	stream string
	part   []byte
}

// Write says whole lines, and what is too long to be one.
func (w *lines) Write(b []byte) (int, error) {
	w.part = append(w.part, b...)
	for {
		line, rest, whole := bytes.Cut(w.part, []byte("\n"))
		if !whole && len(w.part) < maxShown {
			return len(b), nil
		}
		if len(line) > 0 {
			w.output.say(line, w.stream)
		}
		w.part = bytes.Clone(rest)
	}
}
