package rpc

import (
	"context"

	"github.com/weft-hpc/weft/core"
	hooksv1 "github.com/weft-hpc/weft/rpc/proto/weft/hooks/v1"
)

// Bounds of an adapter's options and of those that one user gives.
const (
	maxOptions = 256
	maxAliases = 8
	maxGiven   = 64
)

func (s *hooksServer) parser() (core.RequestParser, error) {
	if p, ok := s.hooks.(core.RequestParser); ok {
		return p, nil
	}
	return nil, outward(core.Errorf(core.NotSupported, "scheduler adapter: options: it reads none without a job"))
}

func (s *hooksServer) Options(ctx context.Context, _ *hooksv1.OptionsRequest) (*hooksv1.OptionsReply, error) {
	p, err := s.parser()
	if err != nil {
		return nil, err
	}
	return answered(ctx, &decoder{}, p.Options, func(options []core.Option) *hooksv1.OptionsReply {
		return &hooksv1.OptionsReply{Options: every(options, encodeOption)}
	})
}

func (s *hooksServer) ParseOptions(
	ctx context.Context, req *hooksv1.ParseOptionsRequest,
) (*hooksv1.ParseOptionsReply, error) {
	p, err := s.parser()
	if err != nil {
		return nil, err
	}
	d := &decoder{}
	given := each(d, "options", req.GetGiven(), maxGiven, func(s string) string { return d.fit("option", s, maxText) })
	parse := func(ctx context.Context) (core.Request, error) { return p.ParseRequest(ctx, given) }
	return answered(ctx, d, parse, func(r core.Request) *hooksv1.ParseOptionsReply {
		return &hooksv1.ParseOptionsReply{Request: encodeRequest(r)}
	})
}

var _ core.RequestParser = (*hooksClient)(nil)

// Options implements core.RequestParser.
func (c *hooksClient) Options(ctx context.Context) ([]core.Option, error) {
	reply, err := c.pb.Options(ctx, &hooksv1.OptionsRequest{}, pluginBound...)
	return decoded(c.remote, "Options", err, func(d *decoder) []core.Option {
		return each(d, "options", reply.GetOptions(), maxOptions, d.option)
	})
}

// ParseRequest implements core.RequestParser.
func (c *hooksClient) ParseRequest(ctx context.Context, given []string) (core.Request, error) {
	reply, err := c.pb.ParseOptions(ctx, &hooksv1.ParseOptionsRequest{Given: every(given, utf)}, pluginBound...)
	return decoded(c.remote, "ParseOptions", err, func(d *decoder) core.Request { return d.request(reply.GetRequest()) })
}

func encodeOption(o core.Option) *hooksv1.Option {
	return &hooksv1.Option{
		Names: every(o.Names, utf), Value: text(o.Value), Example: text(o.Example), Help: text(o.Help), Idle: o.Idle,
	}
}

func (d *decoder) option(p *hooksv1.Option) core.Option {
	if len(p.GetNames()) == 0 {
		d.fail("option: it has no name")
	}
	return core.Option{
		Names: each(d, "names", p.GetNames(), maxAliases, func(s string) string { return d.word("option", s) }),
		Value: text(p.GetValue()), Example: text(p.GetExample()), Help: text(p.GetHelp()), Idle: p.GetIdle(),
	}
}
