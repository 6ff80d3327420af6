package config

import (
	"fmt"
	"reflect"
	"slices"
)

// Difference is one thing that a reload changes. What is not Live needs a restart.
type Difference struct {
	What string // as config.hcl names it
	Live bool
}

func (d Difference) String() string {
	if d.Live {
		return d.What + ": in force now"
	}
	return d.What + ": needs a restart"
}

// Diff says what is different in b, in the order of the file. Policy files are compared by who loads them.
func Diff(a, b *Config) []Difference {
	var out []Difference
	add := func(what string, live bool, x, y any) {
		if !reflect.DeepEqual(x, y) {
			out = append(out, Difference{what, live})
		}
	}
	add("nodes", true, a.Nodes, b.Nodes)
	add("topology", true, a.Groups, b.Groups)
	add("policy", true, a.Policy, b.Policy)
	out = append(out, pools("pool", a.Pools, b.Pools)...)
	out = append(out, pools("service", a.Services, b.Services)...)
	out = append(out, plugins("scheduler", a.Schedulers, b.Schedulers)...)
	out = append(out, plugins("driver", a.Drivers, b.Drivers)...)
	x, y := a.Server, b.Server
	add("server: listen", false, x.Listen, y.Listen)
	add("server: socket", false, x.Socket, y.Socket)
	add("server: store", false, x.Store, y.Store)
	add("server: tls", false, x.TLS, y.TLS)
	add("server: metrics", false, x.Metrics, y.Metrics)
	add("server: admin_group", false, x.AdminGroup, y.AdminGroup)
	add("agent", false, a.Agent, b.Agent)
	return out
}

// pools are the pools that were added, taken out or changed.
func pools(kind string, a, b []Pool) []Difference {
	return named(kind, a, b, func(p Pool) string { return p.Name }, func(p, q Pool) bool { return reflect.DeepEqual(p, q) }, true)
}

// plugins likewise. A block's own attributes count as well: they are the text between its braces.
func plugins(kind string, a, b []Plugin) []Difference {
	return named(kind, a, b, func(p Plugin) string { return p.Type + " " + p.Name }, Plugin.same, false)
}

func named[T any](kind string, a, b []T, name func(T) string, same func(T, T) bool, live bool) []Difference {
	var out []Difference
	for _, x := range a {
		i := slices.IndexFunc(b, func(y T) bool { return name(x) == name(y) })
		if i < 0 || !same(x, b[i]) {
			out = append(out, Difference{fmt.Sprintf("%s %q", kind, name(x)), live})
		}
	}
	for _, y := range b {
		if !slices.ContainsFunc(a, func(x T) bool { return name(x) == name(y) }) {
			out = append(out, Difference{fmt.Sprintf("%s %q", kind, name(y)), live})
		}
	}
	return out
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
