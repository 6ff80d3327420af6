// Package settings reads what a site declares and decides, config.hcl and its policy, and makes it ready for server and agent.
package settings

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
)

// Site is what config.hcl and the policy files say, ready for the machines.
type Site struct {
	Config *config.Config
	Policy *policy.Policy
	Engine engine.Config
	Pools  []allocator.Pool
	Nodes  []string
	Tests  []hclfile.Source // of the policy, beside it
}

// Env is what policy may name of a configuration.
func Env(c *config.Config) policy.Env {
	env := policy.Env{Nodes: c.Nodes, Topology: topology(c)}
	for _, p := range c.Pools {
		env.Pools = append(env.Pools, p.Name)
	}
	for _, p := range c.Services {
		env.Services = append(env.Services, p.Name)
	}
	for _, p := range c.Schedulers {
		env.Schedulers = append(env.Schedulers, p.Name)
	}
	return env
}

// topology is nil where c has none. What could not be made of it was a finding when c was loaded.
func topology(c *config.Config) *engine.Topology {
	if len(c.Groups) == 0 {
		return nil
	}
	groups := make([]string, len(c.Groups))
	for i, g := range c.Groups {
		groups[i] = g.Nodes
	}
	t, err := engine.NewTopology(groups)
	if err != nil {
		return nil
	}
	return t
}

// Read reads config.hcl and its policy. Everything that is wrong with either is among the findings; with an Error among them there is no Site. quarantine,
// unless it is 0, replaces that of every pool.
func Read(path string, quarantine time.Duration) (*Site, []hclfile.Finding) {
	c, findings := config.Load(path)
	if hclfile.Failed(findings) && c.Nodes == "" && len(c.Pools) == 0 {
		return nil, findings // it could not be read at all: what policy lacks would follow from that
	}
	// Each daemon starts some of the plugins only, and the file is the same everywhere.
	findings = append(findings, plugin.UnknownTypes(slices.Concat(c.Schedulers, c.Drivers)...)...)
	sources, tests, more := policy.Gather([]string{c.Policy})
	findings = append(findings, more...)
	if hclfile.Failed(more) {
		return nil, hclfile.Sort(findings) // what the policy lacks would follow from that
	}
	env := Env(c)
	rules, more := policy.Load(sources, env)
	findings = hclfile.Sort(append(findings, more...))
	if hclfile.Failed(findings) {
		return nil, findings
	}
	list, err := hostlist.Parse(c.Nodes)
	if err != nil {
		return nil, append(findings, hclfile.Finding{Severity: hclfile.Error, Summary: fmt.Sprint("nodes: ", err), File: path})
	}
	s := &Site{Config: c, Policy: rules, Pools: c.Allocator(), Nodes: slices.Collect(list.Expand()), Tests: tests}
	s.Engine = engine.Config{Nodes: s.Nodes, System: engine.System{Nodes: c.NodeCount, Topology: env.Topology}, Policy: engine.Text{Hash: rules.Hash(), Text: rules.Text()}}
	s.Engine.Schedulers = env.Schedulers
	s.Engine.Observe = observed(c)
	s.Engine.Rules.Unknown = c.UnknownVNIs
	rest := c.Quarantines()
	for _, p := range s.Pools {
		q := cmp.Or(quarantine, rest[p.Name])
		s.Engine.Pools = append(s.Engine.Pools, engine.Pool{Name: p.Name, Quarantine: q, Contains: p.Contains})
	}
	for i, p := range c.Services {
		if servers, err := hostlist.ParseSet(p.Servers); err == nil && p.Servers != "" {
			s.Engine.Pools[len(c.Pools)+i].Serves = servers.Contains
		}
	}
	return s, findings
}

func (s *Site) Allocator(engine.Config) (engine.Allocator, error) { return allocator.New(s.Pools) }

// Sizes are how many VNIs each pool has.
func (s *Site) Sizes() map[string]int { return allocator.Sizes(s.Pools) }
