package config

import (
	"net"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/hclfile"
)

func (l *loader) server(block *hclsyntax.Block) {
	l.add(l.file.Check(block.Body, hclfile.Shape{Where: "server", Attributes: []string{"listen", "socket", "store", "admin_group", "tls", "metrics", "audit", "history"}})...)
	s := &l.config.Server
	for name, attr := range block.Body.Attributes {
		what := "server: " + name
		switch name {
		case "listen":
			l.address(attr, what, &s.Listen)
		case "socket":
			l.place(attr, what, &s.Socket)
		case "store":
			if text, ok := l.text(attr, what); ok && text == MemoryStore {
				s.Store = MemoryStore
			} else if ok {
				s.Store = l.path(text)
			}
		case "tls":
			l.place(attr, what, &s.TLS)
		case "metrics":
			l.address(attr, what, &s.Metrics)
		case "audit":
			l.place(attr, what, &s.Audit)
		case "history":
			l.place(attr, what, &s.History)
		case "admin_group":
			if text, ok := l.text(attr, what); ok {
				s.AdminGroup = text
			}
		}
	}
}

func (l *loader) agent(block *hclsyntax.Block) {
	l.add(l.file.Check(block.Body, hclfile.Shape{Where: "agent", Attributes: []string{"server", "dir", "tls", "metrics", "audit"}})...)
	for name, attr := range block.Body.Attributes {
		switch name {
		case "server":
			l.address(attr, "agent: server", &l.config.Agent.Server)
		case "dir":
			l.place(attr, "agent: dir", &l.config.Agent.Dir)
		case "tls":
			l.place(attr, "agent: tls", &l.config.Agent.TLS)
		case "metrics":
			l.address(attr, "agent: metrics", &l.config.Agent.Metrics)
		case "audit":
			l.place(attr, "agent: audit", &l.config.Agent.Audit)
		}
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
