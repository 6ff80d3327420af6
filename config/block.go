package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

// plugin reads what is ours in a scheduler's or driver's block. What else is there is checked by Decode.
func (l *loader) plugin(block *hclsyntax.Block) {
	p := Plugin{Kind: block.Type, Type: block.Labels[0], Name: block.Labels[len(block.Labels)-1], file: l.file, block: block}
	for i := range block.Labels {
		if !l.name(block, i, core.MaxScheduler) {
			return
		}
	}
	plugins := &l.config.Schedulers
	if p.Kind == kindDriver {
		plugins = &l.config.Drivers
	}
	for _, other := range *plugins {
		if other.Name == p.Name {
			l.add(l.file.At(hclfile.Error, block.DefRange(), fmt.Sprintf("%s: there is another %s %q in line %d", hclfile.Title(block), p.Kind, p.Name, other.block.TypeRange.Start.Line),
				"The name is an identity that reservations are recorded under; give each its own."))
			return
		}
	}
	title := hclfile.Title(block)
	for _, name := range reserved[p.Kind] {
		attr := block.Body.Attributes[name]
		if attr == nil {
			continue
		}
		what := title + ": " + name
		switch name {
		case "in_process":
			on, findings := l.file.Bool(attr.Expr, what)
			l.add(findings...)
			p.InProcess = on
		case "command":
			command, findings := texts(l.file, attr.Expr, what)
			l.add(findings...)
			if findings == nil && (len(command) == 0 || !strings.HasPrefix(command[0], "/")) {
				l.add(l.file.At(hclfile.Error, attr.Expr.Range(), what+": it must begin with the program's full path", `Write it as ["/opt/site/weft-lsf"]; nothing is looked for in PATH.`))
			}
			p.Command = command
		case "sha256":
			if text, ok := l.text(attr, what); ok {
				if sum, err := hex.DecodeString(text); err != nil || len(sum) != sha256.Size {
					l.add(l.file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: it must be %d hex digits", what, 2*sha256.Size), "Write what `sha256sum` prints of the plugin's program."))
				}
				p.SHA256 = text
			}
		case "auto_mtls":
			on, findings := l.file.Bool(attr.Expr, what)
			l.add(findings...)
			p.AutoMTLS = on
		case "at":
			if text, ok := l.text(attr, what); ok {
				p.At = text
				l.among(attr, what, text)
			}
		case "alias":
			p.Alias = l.alias(attr, what)
		}
	}
	if p.InProcess && p.Command != nil {
		l.add(l.file.At(hclfile.Error, block.Body.Attributes["in_process"].NameRange, title+": a plugin with a command is a process; in_process is for built-in ones", "Leave one of the two out."))
	}
	if p.SHA256 != "" && block.Body.Attributes["command"] == nil {
		l.add(l.file.At(hclfile.Error, block.Body.Attributes["sha256"].NameRange, title+": sha256 is of the program that command names, and there is no command", "A built-in plugin is the daemon's own program; leave it out."))
	}
	if p.InProcess && p.AutoMTLS {
		l.add(l.file.At(hclfile.Error, block.Body.Attributes["auto_mtls"].NameRange, title+": a plugin in the daemon has no connection to encrypt", "Leave one of auto_mtls and in_process out."))
	}
	*plugins = append(*plugins, p)
}

// alias reads { "nid[001-004]" = "n[1-4]" }: a scheduler's names of nodes, and Weft's.
func (l *loader) alias(attr *hclsyntax.Attribute, what string) []Alias {
	object, ok := attr.Expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(), what+": it must map hostlists to hostlists", `Write it as { "nid[001-004]" = "n[1-4]" }.`))
		return nil
	}
	var out []Alias
	seenLeft, seenRight, count := map[string]bool{}, map[string]bool{}, 0
	for _, item := range object.Items {
		key, diags := item.KeyExpr.Value(nil)
		if diags.HasErrors() || key.IsNull() || !key.Type().Equals(cty.String) {
			l.add(l.file.At(hclfile.Error, item.KeyExpr.Range(), what+": the scheduler's name must be a text in quotes", ""))
			continue
		}
		ours, findings := l.file.String(item.ValueExpr, what)
		l.add(findings...)
		if findings != nil {
			continue
		}
		a := Alias{Theirs: key.AsString(), Ours: ours}
		left, right := l.pair(item, what, a)
		l.twice(item.KeyExpr, what, left, seenLeft)
		l.twice(item.ValueExpr, what, right, seenRight)
		if count += len(left); count > MaxNodes {
			l.add(l.file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: it has more than the %d names that a system may have", what, MaxNodes), ""))
			return nil
		}
		out = append(out, a)
	}
	return out
}

// twice complains of the first name that an alias has had already: each side names a node once.
func (l *loader) twice(at hclsyntax.Expression, what string, names []string, seen map[string]bool) {
	said := false
	for _, name := range names {
		if seen[name] && !said {
			l.add(l.file.At(hclfile.Error, at.Range(), fmt.Sprintf("%s: %q is given twice", what, core.Clip(name)), ""))
			said = true
		}
		seen[name] = true
	}
}
