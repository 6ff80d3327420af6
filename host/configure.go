package host

import (
	"context"
	"fmt"

	"github.com/weft-hpc/weft/core"
)

// configure applies the plugin's schema to its block and gives it the values; schema is nil for a plugin that has no block of its own. What the plugin
// complains of is returned as it is, for config to show the line.
func (p *Plugin) configure(ctx context.Context, schema func(context.Context) (core.Schema, error), to interface {
	Configure(context.Context, core.Values) error
}) error {
	var s core.Schema
	if schema != nil {
		var err error
		if s, err = schema(ctx); err != nil && core.AsError(err).Code != core.Unsupported {
			return fmt.Errorf("%s: schema: %w", p.spec.title(), err)
		}
		if err != nil {
			schema, s = nil, core.Schema{}
		}
	}
	values := core.Values{}
	for _, f := range s.Fields {
		if f.Default != nil {
			values[f.Name] = f.Default
		}
	}
	if p.spec.Block != nil {
		var err error
		if values, err = p.spec.Block(s); err != nil {
			return err
		}
	}
	if schema == nil {
		return nil
	}
	return to.Configure(ctx, values)
}

// serves refuses a plugin of another kind than its block.
func (p *Plugin) serves(l *life, who string) error {
	ok, want := false, ""
	switch p.spec.Kind {
	case Driver:
		ok, want = l.nic != nil, "NIC driver"
	case Fabric:
		ok, want = l.fabric != nil, "fabric backend"
	case Scheduler:
		ok, want = l.hooks != nil || l.scheduler != nil, "scheduler adapter"
	}
	if ok {
		return nil
	}
	return core.Errorf(core.BadConfig, "%s: %s is no %s", p.spec.title(), who, want).WithRemedy("correct its command, or move it to the block of its kind")
}
