package rpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/core"
	hooksv1 "github.com/weft-hpc/weft/rpc/proto/weft/hooks/v1"
)

// HooksService is the name of the wire service of an adapter's half beside the hook.
const HooksService = "weft.hooks.v1.Hooks"

// ServeHooks registers hooks at a gRPC server. Phases is Unsupported where hooks is no core.Phased.
func ServeHooks(to grpc.ServiceRegistrar, hooks core.Hooks) {
	hooksv1.RegisterHooksServer(to, &hooksServer{hooks: hooks})
}

// NewHooks is the adapter at the other end of conn. It is core.Phased too, whose Phases may answer Unsupported. An error is a *core.Error; Reason PluginAway
// when the adapter cannot be reached.
func NewHooks(conn grpc.ClientConnInterface) core.Hooks {
	return &hooksClient{pb: hooksv1.NewHooksClient(conn), remote: remote{who: "scheduler adapter", away: core.PluginAway}}
}

type hooksServer struct {
	hooksv1.UnimplementedHooksServer
	hooks core.Hooks
}

func (s *hooksServer) Parse(ctx context.Context, req *hooksv1.ParseRequest) (*hooksv1.ParseReply, error) {
	d := &decoder{}
	call := d.call(req.GetCall())
	parse := func(ctx context.Context) (core.Intent, error) { return s.hooks.Parse(ctx, call) }
	return answered(ctx, d, parse, func(i core.Intent) *hooksv1.ParseReply {
		return &hooksv1.ParseReply{Intent: encodeIntent(i)}
	})
}

func (s *hooksServer) Render(ctx context.Context, req *hooksv1.RenderRequest) (*hooksv1.RenderReply, error) {
	d := &decoder{}
	call, outcome := d.call(req.GetCall()), d.outcome(req.GetOutcome())
	render := func(ctx context.Context) (core.HookReply, error) { return s.hooks.Render(ctx, call, outcome) }
	return answered(ctx, d, render, encodeReply)
}

func (s *hooksServer) Phases(ctx context.Context, _ *hooksv1.PhasesRequest) (*hooksv1.PhasesReply, error) {
	phased, ok := s.hooks.(core.Phased)
	if !ok {
		return nil, outward(core.Errorf(core.NotSupported, "scheduler adapter: Phases: no hook calls for it"))
	}
	return answered(ctx, &decoder{}, phased.Phases, func(phases []core.HookPhase) *hooksv1.PhasesReply {
		return &hooksv1.PhasesReply{Phases: every(phases, encodePhase)}
	})
}

// encodeReply sends an exit code that no process has as one that no decoder takes.
func encodeReply(r core.HookReply) *hooksv1.RenderReply {
	exit := int32(-1)
	if r.Exit >= 0 && r.Exit <= 255 {
		exit = int32(r.Exit)
	}
	return &hooksv1.RenderReply{Stdout: r.Stdout, Stderr: r.Stderr, Exit: exit}
}

type hooksClient struct {
	remote
	pb hooksv1.HooksClient
}

var _ core.Phased = (*hooksClient)(nil)

func (c *hooksClient) Parse(ctx context.Context, call core.HookCall) (core.Intent, error) {
	reply, err := c.pb.Parse(ctx, &hooksv1.ParseRequest{Call: encodeCall(call)}, pluginBound...)
	return decoded(c.remote, "Parse", err, func(d *decoder) core.Intent { return d.intent(reply.GetIntent()) })
}

func (c *hooksClient) Render(ctx context.Context, call core.HookCall, outcome core.Outcome) (core.HookReply, error) {
	reply, err := c.pb.Render(ctx, &hooksv1.RenderRequest{Call: encodeCall(call), Outcome: encodeOutcome(outcome)}, pluginBound...)
	return decoded(c.remote, "Render", err, func(d *decoder) core.HookReply { return d.reply(reply) })
}

// Phases implements core.Phased.
func (c *hooksClient) Phases(ctx context.Context) ([]core.HookPhase, error) {
	reply, err := c.pb.Phases(ctx, &hooksv1.PhasesRequest{}, pluginBound...)
	return decoded(c.remote, "Phases", err, func(d *decoder) []core.HookPhase { return each(d, "phases", reply.GetPhases(), maxPhases, d.phase) })
}
