package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/rpc"
)

// Option of Serve.
type Option func(*identity)

type identity struct{ name, version string }

// WithName says what the plugin is called; without it, it is called as its module's last element.
func WithName(name string) Option { return func(i *identity) { i.name = name } }

// WithVersion says which version the plugin is of; without it, it is that of its module as Go built it.
func WithVersion(version string) Option { return func(i *identity) { i.version = version } }

// InfoFlag makes Serve print what the plugin is and what its block may hold, as JSON, instead of serving.
const InfoFlag = "--weft-info"

// Exit codes of Serve.
const (
	exitUsage  = 2 // not started by a daemon
	exitOrphan = 3 // the daemon is gone
)

// Serve is a plugin's whole main: it serves value to the daemon that started this process and does not return before that ends it. value implements any of
// core.NICDriver, core.FabricBackend, core.Hooks and core.Scheduler, and may implement core.Configurable, core.Checker, core.Phased and the optional contracts
// of a Scheduler. The daemon is told which (core.Abilities). It is configured before any other call, and must be safe for calls at the same time.
//
// From here on slog and package log write into the daemon's log; what a C library prints on standard output lands there too, and so does fmt.Println. A
// call that panics costs that call. SIGINT, SIGTERM and SIGHUP are left to the daemon, which lets calls in flight end first; when the daemon is gone, so is
// this process.
func Serve(value any, options ...Option) {
	info := about(value, options)
	if len(info.Services) == 0 {
		fmt.Fprintf(os.Stderr, "%s: a %T is no plugin: it implements none of core.NICDriver, core.FabricBackend, core.Hooks, core.Scheduler\n", info.Name, value)
		os.Exit(exitUsage) //nolint:forbidigo // Serve is main
	}
	if slices.Contains(os.Args[1:], InfoFlag) {
		if err := describe(os.Stdout, info, value); err != nil {
			os.Exit(exitUsage) //nolint:forbidigo // Serve is main
		}
		return
	}
	if os.Getenv(CookieKey) != CookieValue {
		explain(os.Stderr, info)
		os.Exit(exitUsage) //nolint:forbidigo // Serve is main
	}
	if err := keepStdout(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: standard output: %v\n", info.Name, err)
		os.Exit(exitUsage) //nolint:forbidigo // Serve is main
	}
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.LevelFromString(os.Getenv(LevelKey)), Output: os.Stderr, JSONFormat: true})
	slog.SetDefault(slog.New(&handler{log: log}))
	leaveSignals()
	go watchParent()
	gate := newGate()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: Protocol, MagicCookieKey: CookieKey, MagicCookieValue: CookieValue},
		Plugins:         plugin.PluginSet{"weft": &wire{info: info, value: value, gate: gate}},
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server {
			o = append(o, rpc.PluginOptions()...)
			return grpc.NewServer(append(o, grpc.ChainUnaryInterceptor(gate.unary), grpc.ChainStreamInterceptor(gate.stream))...)
		},
		Logger: log.Named("go-plugin"),
	})
}

// wire registers the services that value has.
type wire struct {
	plugin.NetRPCUnsupportedPlugin
	info  rpc.Info
	value any
	gate  *gate
}

// GRPCServer is go-plugin's.
func (w *wire) GRPCServer(_ *plugin.GRPCBroker, to *grpc.Server) error {
	rpc.ServePlugin(to, served{rpc.Value{About: w.info, Of: w.value}, w.gate})
	if v, ok := w.value.(core.NICDriver); ok {
		rpc.ServeNIC(to, v)
	}
	if v, ok := w.value.(core.FabricBackend); ok {
		rpc.ServeFabric(to, v)
	}
	if v, ok := w.value.(core.Hooks); ok {
		rpc.ServeHooks(to, v)
	}
	if v, ok := w.value.(core.Scheduler); ok {
		rpc.ServeScheduler(to, core.Dispatcher{Of: v})
	}
	return nil
}

// GRPCClient is go-plugin's; a plugin is no client.
func (w *wire) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.ErrUnsupported
}

var _ plugin.GRPCPlugin = (*wire)(nil)

// explain says what to do with the program to somebody who ran it by hand.
func explain(w io.Writer, info rpc.Info) {
	block, label := "driver", "\""+info.Name+"\""
	if info.Kind == "scheduler" {
		block = "scheduler"
		label += " \"NAME\""
	}
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	fmt.Fprintf(w, "%s %s is a plugin of Weft (%s) and is started by its daemon. Put it into config.hcl:\n\n  %s %s {\n    command = [%q]\n  }\n\nWhat its block may hold: %s %s\n",
		info.Name, info.Version, strings.Join(info.Services, ", "), block, label, path, path, InfoFlag)
}
