package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/policy"
)

// site is what config.hcl and the policy files say, ready for the machines.
type site struct {
	config *config.Config
	policy *policy.Policy
	engine engine.Config
	pools  []allocator.Pool
	nodes  []string
}

// read reads config.hcl and its policy, and shows everything that is wrong with them in one run. quarantine, when above 0, replaces that of every pool.
func read(path string, quarantine time.Duration) (*site, error) {
	c, findings := config.Load(path)
	s := &site{config: c}
	sources, more := policy.Read(c.Policy)
	findings = append(findings, more...)
	env := policy.Env{Nodes: c.Nodes}
	for _, p := range c.Pools {
		env.Pools = append(env.Pools, p.Name)
	}
	for _, p := range c.Services {
		env.Services = append(env.Services, p.Name)
	}
	for _, p := range c.Schedulers {
		env.Schedulers = append(env.Schedulers, p.Name, p.Type)
	}
	rules, more := policy.Load(sources, env)
	findings = append(findings, more...)
	if len(findings) > 0 {
		_ = hclfile.Text(os.Stderr, hclfile.Sort(findings), term.IsTerminal(int(os.Stderr.Fd())))
	}
	if err := hclfile.AsError(findings); err != nil {
		return nil, usage(fmt.Errorf("%s and its policy cannot be used", path))
	}
	s.policy, s.pools = rules, c.Allocator()
	set, err := hostlist.Parse(c.Nodes)
	if err != nil {
		return nil, usage(err)
	}
	s.nodes = slices.Collect(set.Expand())
	s.engine = engine.Config{Nodes: s.nodes, System: engine.System{Nodes: c.NodeCount}, Policy: engine.Text{Hash: rules.Hash(), Text: rules.Text()}}
	for _, p := range c.Schedulers {
		s.engine.Schedulers = append(s.engine.Schedulers, p.Name)
	}
	rest := c.Quarantines()
	for _, p := range s.pools {
		q := rest[p.Name]
		if quarantine > 0 {
			q = quarantine
		}
		s.engine.Pools = append(s.engine.Pools, engine.Pool{Name: p.Name, Quarantine: q, Contains: func(v core.VNI) bool {
			return slices.ContainsFunc(p.Ranges, func(r allocator.Range) bool { return v >= r.First && v <= r.Last })
		}})
	}
	return s, nil
}

// simulated gives what the blocks of the scheduler of type local and of the driver sim say: `weft dev` has no other.
func (s *site) simulated() (label string, perUser, nics int, latency time.Duration, err error) {
	label, perUser, nics = "local", 0, 4
	var findings []hclfile.Finding
	for _, p := range s.config.Schedulers {
		if p.Type != "local" {
			continue
		}
		v, more := values(p, local.New(p.Name))
		findings = append(findings, more...)
		label = p.Name
		if n, ok := v["jobs_per_user"].(int64); ok {
			perUser = int(n)
		}
	}
	for _, p := range s.config.Drivers {
		if p.Type != "sim" {
			continue
		}
		v, more := values(p, sim.New(sim.Options{}))
		findings = append(findings, more...)
		if n, ok := v["nics"].(int64); ok {
			nics = int(n)
		}
		latency, _ = v["latency"].(time.Duration)
	}
	if len(findings) > 0 {
		_ = hclfile.Text(os.Stderr, hclfile.Sort(findings), term.IsTerminal(int(os.Stderr.Fd())))
	}
	if err := hclfile.AsError(findings); err != nil {
		return "", 0, 0, 0, usage(fmt.Errorf("%s cannot be used", s.config.File))
	}
	return label, perUser, nics, latency, nil
}

// values are a plugin's block, as the plugin itself takes them.
func values(p config.Plugin, plugin core.Configurable) (core.Values, []hclfile.Finding) {
	v, findings := p.Decode(plugin.Schema())
	if hclfile.AsError(findings) != nil {
		return v, findings
	}
	return v, append(findings, p.Complain(plugin.Configure(context.Background(), v))...)
}
