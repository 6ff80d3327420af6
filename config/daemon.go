package config

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

// setting is an attribute of a daemon's block.
type setting struct {
	name string
	read func(l *loader, attr *hclsyntax.Attribute, what string, c *Config)
	of   func(*Config) any // its value, for Diff
	live bool              // a reload puts it in force
}

// text is a setting of one text.
func text(
	name string, read func(l *loader, attr *hclsyntax.Attribute, what string, to *string), of func(*Config) *string,
) setting {
	return setting{
		name: name,
		read: func(l *loader, attr *hclsyntax.Attribute, what string, c *Config) { read(l, attr, what, of(c)) },
		of:   func(c *Config) any { return *of(c) },
	}
}

var serverSettings = []setting{
	text("name", (*loader).word, func(c *Config) *string { return &c.Server.Name }),
	text("listen", (*loader).address, func(c *Config) *string { return &c.Server.Listen }),
	text("socket", (*loader).place, func(c *Config) *string { return &c.Server.Socket }),
	text("store", (*loader).store, func(c *Config) *string { return &c.Server.Store }),
	text("witness", (*loader).place, func(c *Config) *string { return &c.Server.Witness }),
	text("unwitnessed", (*loader).unwitnessed, func(c *Config) *string { return &c.Server.Unwitnessed }),
	text("tls", (*loader).place, func(c *Config) *string { return &c.Server.TLS }),
	text("metrics", (*loader).address, func(c *Config) *string { return &c.Server.Metrics }),
	text("audit", (*loader).place, func(c *Config) *string { return &c.Server.Audit }),
	text("history", (*loader).place, func(c *Config) *string { return &c.Server.History }),
	text("admin_group", (*loader).word, func(c *Config) *string { return &c.Server.AdminGroup }),
}

var agentSettings = []setting{
	{name: "server", live: true, read: (*loader).server, of: func(c *Config) any { return c.Agent.Servers }},
	{name: "servers", read: (*loader).servers, of: func(*Config) any { return nil }}, // server has told
	text("dir", (*loader).place, func(c *Config) *string { return &c.Agent.Dir }),
	text("tls", (*loader).place, func(c *Config) *string { return &c.Agent.TLS }),
	text("metrics", (*loader).address, func(c *Config) *string { return &c.Agent.Metrics }),
	text("audit", (*loader).place, func(c *Config) *string { return &c.Agent.Audit }),
}

// daemon reads the block of the server or of the agent.
func (l *loader) daemon(block *hclsyntax.Block, settings []setting, blocks map[string]hclfile.BlockShape) {
	shape := hclfile.Shape{Where: block.Type, Blocks: blocks}
	for _, s := range settings {
		shape.Attributes = append(shape.Attributes, s.name)
		if attr := block.Body.Attributes[s.name]; attr != nil {
			s.read(l, attr, block.Type+": "+s.name, l.config)
		}
	}
	l.add(l.file.Check(block.Body, shape)...)
}

// server reads the address of a site's one server.
func (l *loader) server(attr *hclsyntax.Attribute, what string, c *Config) {
	var one string
	if l.address(attr, what, &one); one != "" {
		c.Agent.Servers = []string{one}
	}
}

// servers reads the addresses of several.
func (l *loader) servers(attr *hclsyntax.Attribute, what string, c *Config) {
	if c.Agent.Servers != nil {
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(), what+": `server` is given as well",
			"Name all servers here, and take out `server`."))
		return
	}
	c.Agent.Servers = l.several(attr, what, maxServers, l.hostPort)
}

// maxServers bounds the servers of a site; more than a handful add nothing but load.
const maxServers = 16

// several reads a list of texts that are right, and of which no two are alike.
func (l *loader) several(
	attr *hclsyntax.Attribute, what string, most int, right func(text string) (remedy string, ok bool),
) (out []string) {
	items, findings := l.file.Items(attr.Expr, what)
	l.add(findings...)
	if findings == nil && (len(items) == 0 || len(items) > most) {
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(),
			fmt.Sprintf("%s: it has %d entries, and takes 1 to %d", what, len(items), most), ""))
	}
	for _, item := range items {
		remedy, ok := right(item.Text)
		switch {
		case !ok:
			l.add(l.file.At(hclfile.Error, item.At, fmt.Sprintf("%s: %q is no address", what, core.Clip(item.Text)), remedy))
		case slices.Contains(out, item.Text):
			l.add(l.file.At(hclfile.Error, item.At, fmt.Sprintf("%s: %q stands there twice", what, core.Clip(item.Text)), ""))
		default:
			out = append(out, item.Text)
		}
	}
	return out
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
	if remedy, ok := l.hostPort(text); !ok {
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(), what+": it is no host and port", remedy))
		return
	}
	*to = text
}

func (*loader) hostPort(text string) (remedy string, ok bool) {
	_, port, err := net.SplitHostPort(text)
	n, bad := strconv.ParseUint(port, 10, 16)
	return `Write it as "weft.example.org:6464", "10.0.0.1:6464" or "[fd00::1]:6464".`, err == nil && bad == nil && n != 0
}
