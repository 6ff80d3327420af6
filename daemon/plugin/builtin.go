// Package plugin makes running plugins of the blocks of config.hcl: it knows those that are built in, keeps the blocks in force, and answers the verbs about plugins.
package plugin

import (
	"maps"
	"slices"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/plugins/flux"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/slurm"
)

// Self is the program of a built-in plugin: weft itself, by a hidden verb.
func Self(kind host.Kind, typ, name string) host.Program {
	return host.Self("plugin", "serve", string(kind), typ, name)
}

// builtins are the plugins that are part of weft, by kind and type. No other list names them all.
var builtins = map[host.Kind]map[string]func(name string) any{
	host.Driver: {
		"cxi": func(string) any { return cxi.New() },
		"sim": func(string) any { return sim.New(sim.Options{}) },
	},
	host.Scheduler: {
		"flux":  func(name string) any { return flux.New(name) },
		"local": func(name string) any { return local.New(name) },
		"pbs":   func(name string) any { return pbs.New(name) },
		"slurm": func(name string) any { return slurm.New(name) },
	},
}

// Builtin makes the plugin of that kind and type, for the verb of Self.
func Builtin(kind, typ, name string) (any, error) {
	if f := builtins[host.Kind(kind)][typ]; f != nil {
		return f(name), nil
	}
	return nil, core.Errorf(core.BadCall, "plugin %s %q: weft has none of that type built in", core.Clip(kind), core.Clip(typ))
}

// UnknownTypes complains of the blocks whose type is no plugin of weft's own and that name no program either.
func UnknownTypes(blocks ...config.Plugin) (findings []hclfile.Finding) {
	for _, p := range blocks {
		types := builtins[host.Kind(p.Kind)]
		if len(p.Command) == 0 && types[p.Type] == nil {
			findings = append(findings, p.NoType(slices.Collect(maps.Keys(types))))
		}
	}
	return findings
}

// Builtins lists the types of the plugins that are part of weft, by kind.
func Builtins() map[host.Kind][]string {
	out := map[host.Kind][]string{}
	for kind, types := range builtins {
		for t := range types {
			out[kind] = append(out[kind], t)
		}
		slices.Sort(out[kind])
	}
	return out
}
