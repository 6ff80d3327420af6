package config

import (
	"net"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/hclfile"
)

// setting is an attribute of a daemon's block. Each reads a text.
type setting struct {
	name string
	read func(l *loader, attr *hclsyntax.Attribute, what string, to *string)
	of   func(*Config) *string
	live bool // a reload puts it in force
}

var serverSettings = []setting{
	{name: "listen", read: (*loader).address, of: func(c *Config) *string { return &c.Server.Listen }},
	{name: "socket", read: (*loader).place, of: func(c *Config) *string { return &c.Server.Socket }},
	{name: "store", read: (*loader).store, of: func(c *Config) *string { return &c.Server.Store }},
	{name: "witness", read: (*loader).place, of: func(c *Config) *string { return &c.Server.Witness }},
	{name: "unwitnessed", read: (*loader).unwitnessed, of: func(c *Config) *string { return &c.Server.Unwitnessed }},
	{name: "tls", read: (*loader).place, of: func(c *Config) *string { return &c.Server.TLS }},
	{name: "metrics", read: (*loader).address, of: func(c *Config) *string { return &c.Server.Metrics }},
	{name: "audit", read: (*loader).place, of: func(c *Config) *string { return &c.Server.Audit }},
	{name: "history", read: (*loader).place, of: func(c *Config) *string { return &c.Server.History }},
	{name: "admin_group", read: (*loader).word, of: func(c *Config) *string { return &c.Server.AdminGroup }},
}

var agentSettings = []setting{
	{name: "server", read: (*loader).address, of: func(c *Config) *string { return &c.Agent.Server }, live: true},
	{name: "dir", read: (*loader).place, of: func(c *Config) *string { return &c.Agent.Dir }},
	{name: "tls", read: (*loader).place, of: func(c *Config) *string { return &c.Agent.TLS }},
	{name: "metrics", read: (*loader).address, of: func(c *Config) *string { return &c.Agent.Metrics }},
	{name: "audit", read: (*loader).place, of: func(c *Config) *string { return &c.Agent.Audit }},
}

// daemon reads the block of the server or of the agent.
func (l *loader) daemon(block *hclsyntax.Block, settings []setting) {
	shape := hclfile.Shape{Where: block.Type}
	for _, s := range settings {
		shape.Attributes = append(shape.Attributes, s.name)
		if attr := block.Body.Attributes[s.name]; attr != nil {
			s.read(l, attr, block.Type+": "+s.name, s.of(l.config))
		}
	}
	l.add(l.file.Check(block.Body, shape)...)
}

func (l *loader) word(attr *hclsyntax.Attribute, what string, to *string) {
	if text, ok := l.text(attr, what); ok {
		*to = text
	}
}

func (l *loader) unwitnessed(attr *hclsyntax.Attribute, what string, to *string) {
	if l.word(attr, what, to); *to != UnwitnessedWait && *to != UnwitnessedScheduler {
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(), what+": it is neither of its two words",
			`Write "wait" to wait for every node, or "scheduler" to leave out those that the schedulers call down.`))
	}
}

// store reads a path, or MemoryStore.
func (l *loader) store(attr *hclsyntax.Attribute, what string, to *string) {
	if l.word(attr, what, to); *to != MemoryStore {
		*to = l.path(*to)
	}
}

func (l *loader) place(attr *hclsyntax.Attribute, what string, to *string) {
	if text, ok := l.text(attr, what); ok {
		*to = l.path(text)
	}
}

func (l *loader) address(attr *hclsyntax.Attribute, what string, to *string) {
	text, ok := l.text(attr, what)
	if !ok {
		return
	}
	_, port, err := net.SplitHostPort(text)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 {
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(), what+": it is no host and port", `Write it as "weft.example.org:6464", "10.0.0.1:6464" or "[fd00::1]:6464".`))
		return
	}
	*to = text
}
