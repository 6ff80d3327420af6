package rpc

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/weft-hpc/weft/core"
	pluginv1 "github.com/weft-hpc/weft/rpc/proto/weft/plugin/v1"
)

// PluginService is the name of the wire service that every plugin serves.
const PluginService = "weft.plugin.v1.Plugin"

// Info is what a plugin says of itself.
type Info struct {
	Name     string   // letters, digits, '.', '_', '-', at most 64 bytes
	Kind     string   // driver, fabric or scheduler
	Version  string   // the plugin's own
	Services []string // the wire services it serves: NICService, FabricService …
	// Abilities are the optional contracts of its services that it has. Those that this release does not know are kept.
	Abilities []core.Ability
}

// Plugin is what every plugin serves beside the service of its kind.
type Plugin interface {
	Info(ctx context.Context) (Info, error)
	// Schema describes the plugin's block of config.hcl; it has no fields where the plugin has none.
	Schema(ctx context.Context) (core.Schema, error)
	// Configure is called after every start, before any other call. Each *core.PathError in its error, joined or not, crosses with its Path.
	Configure(ctx context.Context, values core.Values) error
	Check(ctx context.Context) ([]core.Finding, error)
	// Health returns nil while the plugin can work.
	Health(ctx context.Context) error
	// Drain returns when no call is in flight any more.
	Drain(ctx context.Context) error
}

// Value makes a Plugin of a driver or an adapter: what it implements of core.Configurable and core.Checker is served, the rest is empty. It is healthy for
// as long as it answers, and has nothing to drain.
type Value struct {
	About Info
	Of    any
}

// Info implements Plugin.
func (v Value) Info(context.Context) (Info, error) { return v.About, nil }

// Schema implements Plugin.
func (v Value) Schema(context.Context) (core.Schema, error) {
	if c, ok := v.Of.(core.Configurable); ok {
		return c.Schema(), nil
	}
	return core.Schema{}, nil
}

// Configure implements Plugin.
func (v Value) Configure(ctx context.Context, values core.Values) error {
	if c, ok := v.Of.(core.Configurable); ok {
		return c.Configure(ctx, values)
	}
	return nil
}

// Check implements Plugin.
func (v Value) Check(ctx context.Context) ([]core.Finding, error) {
	if c, ok := v.Of.(core.Checker); ok {
		return c.Check(ctx)
	}
	return nil, nil
}

// Health implements Plugin.
func (v Value) Health(context.Context) error { return nil }

// Drain implements Plugin.
func (v Value) Drain(context.Context) error { return nil }

// ServePlugin registers plugin at a gRPC server.
func ServePlugin(to grpc.ServiceRegistrar, plugin Plugin) {
	pluginv1.RegisterPluginServer(to, &pluginServer{plugin: plugin})
}

// NewPlugin is the plugin at the other end of conn. An error is a *core.Error, or of Configure one *core.PathError or several, joined; Reason PluginAway when
// the plugin cannot be reached.
func NewPlugin(conn grpc.ClientConnInterface) Plugin {
	return &pluginClient{pb: pluginv1.NewPluginClient(conn), remote: remote{who: "plugin", away: core.PluginAway}}
}

type pluginServer struct {
	pluginv1.UnimplementedPluginServer
	plugin Plugin
}

func (s *pluginServer) Info(ctx context.Context, _ *pluginv1.InfoRequest) (*pluginv1.InfoReply, error) {
	return answered(ctx, &decoder{}, s.plugin.Info, encodeInfo)
}

func (s *pluginServer) Schema(ctx context.Context, _ *pluginv1.SchemaRequest) (*pluginv1.SchemaReply, error) {
	return answered(ctx, &decoder{}, s.plugin.Schema, func(schema core.Schema) *pluginv1.SchemaReply {
		return &pluginv1.SchemaReply{Schema: encodeSchema(schema)}
	})
}

func (s *pluginServer) Configure(ctx context.Context, req *pluginv1.ConfigureRequest) (*pluginv1.ConfigureReply, error) {
	d := &decoder{}
	values := d.values(req.GetValues(), 0)
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.plugin.Configure(ctx, values); err != nil {
		return nil, complain(err)
	}
	return &pluginv1.ConfigureReply{}, nil
}

func (s *pluginServer) Check(ctx context.Context, _ *pluginv1.CheckRequest) (*pluginv1.CheckReply, error) {
	return answered(ctx, &decoder{}, s.plugin.Check, func(findings []core.Finding) *pluginv1.CheckReply {
		return &pluginv1.CheckReply{Findings: every(findings[:min(len(findings), maxTexts)], encodeFinding)}
	})
}

func (s *pluginServer) Health(ctx context.Context, _ *pluginv1.HealthRequest) (*pluginv1.HealthReply, error) {
	return &pluginv1.HealthReply{}, new(decoder).then(ctx, func() error { return s.plugin.Health(ctx) })
}

func (s *pluginServer) Drain(ctx context.Context, _ *pluginv1.DrainRequest) (*pluginv1.DrainReply, error) {
	return &pluginv1.DrainReply{}, new(decoder).then(ctx, func() error { return s.plugin.Drain(ctx) })
}

type pluginClient struct {
	remote
	pb pluginv1.PluginClient
}

func (c *pluginClient) Info(ctx context.Context) (Info, error) {
	reply, err := c.pb.Info(ctx, &pluginv1.InfoRequest{}, pluginBound...)
	return decoded(c.remote, "Info", err, func(d *decoder) Info { return d.info(reply) })
}

func (c *pluginClient) Schema(ctx context.Context) (core.Schema, error) {
	reply, err := c.pb.Schema(ctx, &pluginv1.SchemaRequest{}, pluginBound...)
	return decoded(c.remote, "Schema", err, func(d *decoder) core.Schema { return d.schema(reply.GetSchema(), 0) })
}

func (c *pluginClient) Configure(ctx context.Context, values core.Values) error {
	_, err := c.pb.Configure(ctx, &pluginv1.ConfigureRequest{Values: encodeValues(values)}, pluginBound...)
	if err == nil {
		return nil
	}
	return c.complaints(err)
}

func (c *pluginClient) Check(ctx context.Context) ([]core.Finding, error) {
	reply, err := c.pb.Check(ctx, &pluginv1.CheckRequest{}, pluginBound...)
	return decoded(c.remote, "Check", err, func(d *decoder) []core.Finding { return each(d, "findings", reply.GetFindings(), maxTexts, d.finding) })
}

func (c *pluginClient) Health(ctx context.Context) error {
	_, err := c.pb.Health(ctx, &pluginv1.HealthRequest{}, pluginBound...)
	return c.only("Health", err)
}

func (c *pluginClient) Drain(ctx context.Context) error {
	_, err := c.pb.Drain(ctx, &pluginv1.DrainRequest{}, pluginBound...)
	return c.only("Drain", err)
}

func encodeInfo(v Info) *pluginv1.InfoReply {
	return &pluginv1.InfoReply{
		Name: utf(v.Name), Kind: utf(v.Kind), Version: utf(v.Version), Services: every(v.Services, utf),
		Abilities: every(v.Abilities, func(a core.Ability) string { return utf(string(a)) }),
	}
}

func (d *decoder) info(p *pluginv1.InfoReply) Info {
	return Info{
		Name: d.name("plugin", p.GetName(), maxDevice), Kind: d.word("kind", p.GetKind()), Version: d.word("version", p.GetVersion()),
		Services:  each(d, "services", p.GetServices(), maxDevices, func(s string) string { return d.word("service", s) }),
		Abilities: each(d, "abilities", p.GetAbilities(), maxAbilities, func(s string) core.Ability { return core.Ability(d.word("ability", s)) }),
	}
}

func encodeFinding(f core.Finding) *pluginv1.Finding {
	return &pluginv1.Finding{
		Severity: pluginv1.Severity(f.Severity) + 1, What: text(f.What), Evidence: text(f.Evidence), Remedy: text(f.Remedy),
		Nics: f.NICs[:min(len(f.NICs), maxDevices)],
	}
}

func (d *decoder) finding(p *pluginv1.Finding) core.Finding {
	if p.GetSeverity() < pluginv1.Severity_SEVERITY_GOOD || p.GetSeverity() > pluginv1.Severity_SEVERITY_CRITICAL {
		d.fail("finding: there is no severity %d", p.GetSeverity())
	}
	return core.Finding{
		Severity: core.Severity(p.GetSeverity() - 1),
		What:     text(p.GetWhat()), Evidence: text(p.GetEvidence()), Remedy: text(p.GetRemedy()),
		NICs: each(d, "NICs", p.GetNics(), maxDevices, d.device),
	}
}

// complain sends what Configure complained of: each complaint with its path.
func complain(err error) error {
	found := complaintsOf(err)
	if len(found) == 1 && len(found[0].GetPath()) == 0 {
		return outward(err)
	}
	return outward(err, protoadapt.MessageV1Of(&pluginv1.Complaints{Complaints: found[:min(len(found), maxComplaints)]}))
}

func complaintsOf(err error) []*pluginv1.Complaint {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*pluginv1.Complaint
		for _, e := range joined.Unwrap() {
			out = append(out, complaintsOf(e)...)
		}
		return out
	}
	var path []string
	if at, ok := errors.AsType[*core.PathError](err); ok {
		path, err = at.Path, at.Err
	}
	return []*pluginv1.Complaint{{Path: every(path, utf), Error: encodeError(err)}}
}

// complaints makes again what Configure returned.
func (c *pluginClient) complaints(err error) error {
	whole := c.inward("Configure", err)
	s, _ := status.FromError(err)
	for _, m := range s.Details() {
		p, ok := m.(*pluginv1.Complaints)
		if !ok {
			continue
		}
		var out []error
		for _, one := range p.GetComplaints()[:min(len(p.GetComplaints()), maxComplaints)] {
			e := c.fault(one.GetError())
			if e == nil || len(one.GetPath()) > maxItems {
				return whole
			}
			if len(one.GetPath()) == 0 {
				out = append(out, e)
				continue
			}
			out = append(out, &core.PathError{Path: one.GetPath(), Err: e})
		}
		switch len(out) {
		case 0:
		case 1:
			return out[0]
		default:
			return errors.Join(out...)
		}
	}
	return whole
}
