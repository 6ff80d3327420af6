package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/hclfile"
)

// Etcd is the etcd in which several servers keep one store.
type Etcd struct {
	Endpoints    []string // of its members, all https or all http; or one unix socket
	Prefix       string   // of this system's keys; ends in a slash
	Lease        time.Duration
	TLS          string // folder with ca.crt and, where etcd asks for a certificate, client.crt and client.key
	User         string // empty: none
	PasswordFile string // has the user's password and is root's alone
}

const (
	DefaultPrefix = "/weft/"
	DefaultLease  = 5 * time.Second
	MinLease      = 2 * time.Second // etcd grants none shorter with its own defaults: 1.5 election timeouts
	MaxLease      = time.Minute

	maxPrefix = 256
)

var serverBlocks = map[string]hclfile.BlockShape{"etcd": {Once: true}}

// shared reads the store that several servers share.
func (l *loader) shared(server *hclsyntax.Block) {
	for _, block := range server.Body.Blocks {
		if block.Type != "etcd" || l.config.Server.Etcd != nil {
			continue
		}
		c := &l.config.Server
		for _, name := range []string{"store", "witness"} {
			if attr := server.Body.Attributes[name]; attr != nil {
				l.add(l.file.At(hclfile.Error, attr.Expr.Range(),
					"server: "+name+": it is the file of a server without `etcd`",
					"Take out one of both. `weft store copy` moves a store."))
			}
		}
		c.Store, c.Witness = "", ""
		c.Etcd = l.etcd(block.Body)
	}
}

func (l *loader) etcd(body *hclsyntax.Body) *Etcd {
	e := &Etcd{Prefix: DefaultPrefix, Lease: DefaultLease}
	shape := hclfile.Shape{
		Where: "etcd", Required: []string{"endpoints"},
		Attributes: []string{"endpoints", "prefix", "lease", "tls", "user", "password_file"},
	}
	l.add(l.file.Check(body, shape)...)
	read := func(name string, f func(attr *hclsyntax.Attribute, what string)) {
		if attr := body.Attributes[name]; attr != nil {
			f(attr, "etcd: "+name)
		}
	}
	read("endpoints", func(attr *hclsyntax.Attribute, what string) {
		e.Endpoints = l.several(attr, what, maxServers, endpoint)
		l.alike(attr, what, e.Endpoints)
	})
	read("prefix", func(attr *hclsyntax.Attribute, what string) {
		l.word(attr, what, &e.Prefix)
		if !strings.HasPrefix(e.Prefix, "/") || !strings.HasSuffix(e.Prefix, "/") || len(e.Prefix) > maxPrefix {
			l.add(l.file.At(hclfile.Error, attr.Expr.Range(),
				fmt.Sprintf("%s: it begins and ends with a slash, and has at most %d bytes", what, maxPrefix),
				`Write it as "/weft/" or "/weft/tioga/": each system has one of its own.`))
		}
	})
	read("lease", func(attr *hclsyntax.Attribute, what string) {
		d, findings := l.file.Duration(attr.Expr, what, MinLease, MaxLease)
		if l.add(findings...); findings == nil && d%time.Second != 0 {
			l.add(l.file.At(hclfile.Error, attr.Expr.Range(), what+": etcd counts whole seconds", ""))
		}
		e.Lease = d
	})
	read("tls", func(attr *hclsyntax.Attribute, what string) { l.place(attr, what, &e.TLS) })
	read("user", func(attr *hclsyntax.Attribute, what string) { l.word(attr, what, &e.User) })
	read("password_file", func(attr *hclsyntax.Attribute, what string) { l.place(attr, what, &e.PasswordFile) })
	if (e.User == "") != (e.PasswordFile == "") {
		l.add(l.file.At(hclfile.Error, body.MissingItemRange(), "etcd: one of user and password_file is missing",
			"A user has a password, in a file that root alone may read."))
	}
	return e
}

func endpoint(text string) (remedy string, ok bool) {
	u, err := url.Parse(text)
	remedy = `Write it as "https://etcd1.example.org:2379".`
	switch {
	case err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return remedy, false
	case u.Scheme == "unix":
		return remedy, true
	}
	web := u.Scheme == "http" || u.Scheme == "https"
	return remedy, web && u.Port() != "" && u.Hostname() != "" && strings.Trim(u.Path, "/") == ""
}

// alike refuses a list of several kinds, of which the client would take the first for all. It warns where all that
// Weft knows, and the user's password, would go over the network in the clear.
func (l *loader) alike(attr *hclsyntax.Attribute, what string, endpoints []string) {
	clear := false
	for _, e := range endpoints {
		u, err := url.Parse(e)
		first, bad := url.Parse(endpoints[0])
		if err != nil || bad != nil {
			return
		}
		if u.Scheme != first.Scheme {
			l.add(l.file.At(hclfile.Error, attr.Expr.Range(), what+": some are "+first.Scheme+" and some "+u.Scheme, ""))
			return
		}
		host := u.Hostname()
		clear = clear || u.Scheme == "http" && host != "localhost" && host != "::1" && !strings.HasPrefix(host, "127.")
	}
	if clear {
		l.add(l.file.At(hclfile.Warning, attr.Expr.Range(),
			what+": without TLS, every host on the network can read and change the store", "Use https:// and `tls`."))
	}
}
