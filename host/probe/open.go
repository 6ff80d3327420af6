package probe

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/rpc"
	"github.com/weft-hpc/weft/sdk"
	"github.com/weft-hpc/weft/sdk/conformance"
)

// Subject is a plugin's program. dir is a folder for its sockets, with a short path, that nobody else can write.
func Subject(name string, p host.Program, dir string) conformance.Subject {
	return conformance.Subject{Name: name, Open: func(ctx context.Context) (*conformance.Instance, error) { return Open(ctx, p, dir) }}
}

// Open starts the program and connects to it; it is not configured yet. The error has Reason core.BadConfig for a program that cannot be run and
// core.PluginAway for one that does not shake hands or does not say what it is.
func Open(ctx context.Context, p host.Program, dir string) (*conformance.Instance, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(dir, "p")
	if err != nil {
		return nil, core.Errorf(core.BadCall, "folder for a plugin's socket: %w", err)
	}
	run, err := start(p, folder)
	if err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	i, err := connect(ctx, run)
	if err != nil {
		run.end()
		return nil, err
	}
	return i, nil
}

func connect(ctx context.Context, run *process) (*conformance.Instance, error) {
	line, err := run.shake(ctx)
	if err != nil {
		return nil, err
	}
	fields := strings.Split(line, "|")
	if len(fields) < 5 || fields[2] != "unix" || fields[4] != "grpc" {
		return nil, core.Errorf(core.PluginAway, "plugin's program %s: handshake %q: it is not 1|1|unix|SOCKET|grpc", run.Cmd.Path, core.Clip(line))
	}
	conn, err := grpc.NewClient("unix:"+fields[3], grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUnaryInterceptor(limited))
	if err != nil {
		return nil, core.Errorf(core.PluginAway, "plugin's program %s: %w", run.Cmd.Path, err)
	}
	i, err := halves(ctx, run, conn)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	i.Process.Handshake, i.Process.Folder = line, run.folder
	i.Close = func() {
		_ = conn.Close()
		run.end()
	}
	return i, nil
}

// halves are what the program says that it serves.
func halves(ctx context.Context, run *process, conn *grpc.ClientConn) (*conformance.Instance, error) {
	far := rpc.NewPlugin(conn)
	about, err := far.Info(ctx)
	if err != nil {
		return nil, core.Errorf(core.PluginAway, "plugin's program %s: info: %w", run.Cmd.Path, err)
	}
	i := &conformance.Instance{Checker: far, Schema: far.Schema, Configure: far.Configure, Process: &conformance.Process{
		Info: func(ctx context.Context) (conformance.Info, error) {
			info, err := far.Info(ctx)
			return conformance.Info(info), err
		},
		Health: far.Health, Drain: far.Drain, Large: func(ctx context.Context, bytes int) error { return large(ctx, conn, bytes) },
		Signal: run.Cmd.Process.Signal, Hang: func() { run.Stdin.Close() }, Done: run.Dead, Logged: run.logged,
	}}
	if slices.Contains(about.Services, rpc.NICService) {
		i.NIC = rpc.NewNIC(conn)
	}
	if slices.Contains(about.Services, rpc.FabricService) {
		i.Fabric = rpc.NewFabric(conn)
	}
	if slices.Contains(about.Services, rpc.HooksService) {
		i.Hooks = rpc.NewHooks(conn)
		if slices.Contains(about.Abilities, core.AblePhases) {
			i.Phased, _ = i.Hooks.(core.Phased)
		}
		if slices.Contains(about.Abilities, core.AbleOptions) {
			i.Parser, _ = i.Hooks.(core.RequestParser)
		}
	}
	if slices.Contains(about.Services, rpc.SchedulerService) {
		i.Scheduler = rpc.NewScheduler(conn, about.Abilities)
	}
	return i, nil
}

// after is what a call that changes a NIC gets beyond the time that the plugin is told, as under a daemon.
const after = 2 * time.Second

// limited tells a plugin within what time Create and Destroy must return, and lets the call itself last a little longer: the answer of a plugin that was late
// is heard.
func limited(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
	deadline, ok := ctx.Deadline()
	if !ok || method != "/"+rpc.NICService+"/Create" && method != "/"+rpc.NICService+"/Destroy" {
		return invoke(ctx, method, req, reply, conn, o...)
	}
	left := max(0, time.Until(deadline))
	if ctx.Err() != nil {
		left = 0
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), left+after)
	defer cancel()
	return invoke(metadata.AppendToOutgoingContext(ctx, sdk.WithinKey, strconv.FormatInt(left.Milliseconds(), 10)), method, req, reply, conn, o...)
}
