package config

import (
	"fmt"
	"reflect"
	"slices"
)

// Daemon is who reads config.hcl: the same file serves both, and each puts in force what is its own.
type Daemon uint8

const (
	OfServer Daemon = iota
	OfAgent
	ofBoth
)

// Diff says what is different in b, in the order of the file, and what a reload of a daemon does about it. Policy files
// are compared by the code that loads them.
func Diff(of Daemon, a, b *Config) []string {
	var out []string
	say := func(what string, owner Daemon, live bool) { out = append(out, what+": "+effect(of, owner, live)) }
	add := func(what string, owner Daemon, live bool, x, y any) {
		if !reflect.DeepEqual(x, y) {
			say(what, owner, live)
		}
	}
	add("nodes", OfServer, true, a.Nodes, b.Nodes)
	add("unknown_vnis", OfServer, true, a.UnknownVNIs, b.UnknownVNIs)
	add("topology", ofBoth, true, []any{a.Groups, a.Dragonfly}, []any{b.Groups, b.Dragonfly})
	add("policy", ofBoth, true, a.Policy, b.Policy)
	for _, what := range append(pools("pool", a.Pools, b.Pools), pools("service", a.Services, b.Services)...) {
		say(what, ofBoth, true)
	}
	plugins(of, a.Schedulers, b.Schedulers, say)
	plugins(OfAgent, a.Drivers, b.Drivers, say)
	for _, s := range serverSettings {
		add("server: "+s.name, OfServer, s.live, s.of(a), s.of(b))
	}
	add("server: etcd", OfServer, false, a.Server.Etcd, b.Server.Etcd)
	for _, s := range agentSettings {
		add("agent: "+s.name, OfAgent, s.live, s.of(a), s.of(b))
	}
	return out
}

func effect(of, owner Daemon, live bool) string {
	self, other := "nothing of the agent's; ", "reload the server too"
	if of == OfServer {
		self, other = "nothing of the server's; ", "reload the agents too"
	}
	switch {
	case owner == ofBoth:
		return "in force now; " + other
	case of == owner && live:
		return "in force now"
	case of == owner:
		return "needs a restart"
	}
	return self + other
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
	out.Agent.Servers = b.Agent.Servers
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

// pools are the titles of the pools that were added, taken out or changed.
func pools(kind string, a, b []Pool) []string {
	title := func(p Pool) string { return fmt.Sprintf("%s %q", kind, p.Name) }
	return named(a, b, title, func(p, q Pool) bool { return reflect.DeepEqual(p, q) })
}

// plugins says which blocks were added, taken out or changed. A block's own attributes count as well: they are the text
// between its braces. Where nothing else is different, a reload configures the plugin again.
func plugins(owner Daemon, a, b []Plugin, say func(what string, owner Daemon, live bool)) {
	title := func(p Plugin) string {
		if p.Type == p.Name {
			return fmt.Sprintf("%s %q", p.Kind, p.Name)
		}
		return fmt.Sprintf("%s %q %q", p.Kind, p.Type, p.Name)
	}
	live := Reconfigured(a, b)
	for _, what := range named(a, b, title, Plugin.same) {
		say(what, owner, slices.ContainsFunc(live, func(p Plugin) bool { return title(p) == what }))
	}
}

// Reconfigured are those of b that a has too, and that differ in the plugin's own attributes and bounds alone: the same program runs them, in the same way.
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
func named[T any](a, b []T, title func(T) string, same func(T, T) bool) []string {
	var out []string
	for _, x := range a {
		i := slices.IndexFunc(b, func(y T) bool { return title(x) == title(y) })
		if i < 0 || !same(x, b[i]) {
			out = append(out, title(x))
		}
	}
	for _, y := range b {
		if !slices.ContainsFunc(a, func(x T) bool { return title(x) == title(y) }) {
			out = append(out, title(y))
		}
	}
	return out
}

// frame compares what of two blocks needs a restart of the daemon: neither the plugin's own nor its bounds, which it gets
// at each start. The mode needs none either: a site must be able to go back at once.
func (p Plugin) frame(q Plugin) bool {
	p.Memory, p.Processes = q.Memory, q.Processes
	p.Observe, p.Enforce = q.Observe, q.Enforce
	p.file, p.block, q.file, q.block = nil, nil, nil, nil
	return reflect.DeepEqual(p, q)
}

// same compares two blocks whole, what is the plugin's own in them included.
func (p Plugin) same(q Plugin) bool { return p.text() == q.text() }

func (p Plugin) text() string {
	r := p.block.Body.SrcRange
	return string(p.file.Text[r.Start.Byte:r.End.Byte])
}
