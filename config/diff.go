package config

import (
	"fmt"
	"reflect"
	"slices"
)

// Daemon is who reads config.hcl: the same file serves both, and each puts in force what is its own.
type Daemon uint8

// The daemons.
const (
	OfServer Daemon = iota
	OfAgent
)

// Effect is what a reload does about a Difference.
type Effect uint8

// The effects.
const (
	Restart   Effect = iota // nothing: it needs a restart
	Live                    // it is in force now
	Elsewhere               // nothing: it is the other daemon's
)

// Difference is one thing that is not as it was.
type Difference struct {
	What   string // as config.hcl names it
	Effect Effect
	of     Daemon
}

func (d Difference) String() string {
	switch {
	case d.Effect == Live:
		return d.What + ": in force now"
	case d.Effect == Restart:
		return d.What + ": needs a restart"
	case d.of == OfServer:
		return d.What + ": nothing of the server's; reload the agents too"
	}
	return d.What + ": nothing of the agent's; reload the server too"
}

// Diff says what is different in b, in the order of the file, and what that is to a daemon. Policy files are compared by who loads them.
func Diff(of Daemon, a, b *Config) []Difference {
	var out []Difference
	add := func(what string, owner Daemon, live bool, x, y any) {
		if !reflect.DeepEqual(x, y) {
			out = append(out, difference(what, of, owner, live))
		}
	}
	add("nodes", OfServer, true, a.Nodes, b.Nodes)
	add("topology", OfServer, true, topology{a.Groups, a.Dragonfly}, topology{b.Groups, b.Dragonfly})
	add("policy", OfServer, true, a.Policy, b.Policy)
	out = append(out, pools("pool", of, a.Pools, b.Pools)...)
	out = append(out, pools("service", of, a.Services, b.Services)...)
	out = append(out, plugins("scheduler", of, of, a.Schedulers, b.Schedulers)...)
	out = append(out, plugins("driver", of, OfAgent, a.Drivers, b.Drivers)...)
	for _, s := range serverSettings {
		add("server: "+s.name, OfServer, s.live, *s.of(a), *s.of(b))
	}
	for _, s := range agentSettings {
		add("agent: "+s.name, OfAgent, s.live, *s.of(a), *s.of(b))
	}
	return out
}

// topology is all that the block says.
type topology struct {
	groups    []Group
	dragonfly *Dragonfly
}

func difference(what string, of, owner Daemon, live bool) Difference {
	switch {
	case of != owner:
		return Difference{what, Elsewhere, of}
	case live:
		return Difference{what, Live, of}
	}
	return Difference{what, Restart, of}
}

// InForce is what a daemon runs with once it has put b in force in place of a: what needs a restart stays as it was.
func InForce(of Daemon, a, b *Config) *Config {
	out := *b
	out.Schedulers = kept(a.Schedulers, b.Schedulers)
	if of == OfServer {
		out.Server = a.Server
		return &out
	}
	out.Drivers = kept(a.Drivers, b.Drivers)
	out.Agent = a.Agent
	out.Agent.Server = b.Agent.Server
	return &out
}

// kept are the plugins of a, with the blocks of b where those can be had without a restart.
func kept(a, b []Plugin) []Plugin {
	out := slices.Clone(a)
	for i, p := range out {
		if at := slices.IndexFunc(b, p.frame); at >= 0 {
			out[i] = b[at]
		}
	}
	return out
}

// pools are the pools that were added, taken out or changed.
func pools(kind string, of Daemon, a, b []Pool) []Difference {
	var out []Difference
	name := func(p Pool) string { return p.Name }
	for _, what := range named(kind, a, b, name, func(p, q Pool) bool { return reflect.DeepEqual(p, q) }) {
		out = append(out, difference(what, of, OfServer, true))
	}
	return out
}

// plugins likewise. A block's own attributes count as well: they are the text between its braces, and where nothing else is different the plugin is only
// configured anew.
func plugins(kind string, of, owner Daemon, a, b []Plugin) []Difference {
	var out []Difference
	name := func(p Plugin) string { return p.Type + " " + p.Name }
	live := Reconfigured(a, b)
	for _, what := range named(kind, a, b, name, Plugin.same) {
		only := slices.ContainsFunc(live, func(p Plugin) bool { return what == fmt.Sprintf("%s %q", kind, name(p)) })
		out = append(out, difference(what, of, owner, only))
	}
	return out
}

// Reconfigured are those of b that a has too, and that differ in the plugin's own attributes alone: the same program runs them, in the same way.
func Reconfigured(a, b []Plugin) []Plugin {
	var out []Plugin
	for _, q := range b {
		if slices.ContainsFunc(a, func(p Plugin) bool { return !p.same(q) && p.frame(q) }) {
			out = append(out, q)
		}
	}
	return out
}

// named are the titles of what is in one of a and b only, or is not the same in both.
func named[T any](kind string, a, b []T, name func(T) string, same func(T, T) bool) []string {
	var out []string
	for _, x := range a {
		i := slices.IndexFunc(b, func(y T) bool { return name(x) == name(y) })
		if i < 0 || !same(x, b[i]) {
			out = append(out, fmt.Sprintf("%s %q", kind, name(x)))
		}
	}
	for _, y := range b {
		if !slices.ContainsFunc(a, func(x T) bool { return name(x) == name(y) }) {
			out = append(out, fmt.Sprintf("%s %q", kind, name(y)))
		}
	}
	return out
}

// frame compares what of two blocks is not the plugin's own.
func (p Plugin) frame(q Plugin) bool {
	p.file, p.block, q.file, q.block = nil, nil, nil, nil
	return reflect.DeepEqual(p, q)
}

// same compares two blocks whole, what is the plugin's own in them included.
func (p Plugin) same(q Plugin) bool { return p.text() == q.text() }

// text is the block as it stands in its file.
func (p Plugin) text() string {
	if p.block == nil {
		return ""
	}
	r := p.block.Body.SrcRange
	return string(p.file.Text[r.Start.Byte:r.End.Byte])
}
