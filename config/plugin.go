package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hclfile"
)

const (
	kindScheduler = "scheduler"
	kindDriver    = "driver"
)

// reserved are the attributes of a plugin's block that are ours.
var reserved = map[string][]string{
	kindScheduler: {"in_process", "command", "sha256", "auto_mtls", "memory", "processes", "at", "alias", "mode"},
	kindDriver:    {"in_process", "command", "sha256", "auto_mtls", "memory", "processes"},
}

// Plugin is a scheduler or driver block. What is not named here is the plugin's own: see Decode.
type Plugin struct {
	Kind      string   // scheduler or driver
	Type      string   // which adapter or driver: slurm, sim
	Name      string   // the instance; for a driver its Type
	InProcess bool     // run it inside the daemon instead of as a process
	Command   []string // the program of a plugin that is not built in, with its arguments
	SHA256    string   // of Command's program, 64 hex digits; empty: it is not looked at
	AutoMTLS  bool     // encrypt between daemon and plugin, with keys made for each start
	Memory    int      // MiB that its process may have, 64 to 1,048,576; 0: the default
	Processes int      // processes and threads that it may have, 64 to 65,536; 0: the default
	At        string   // scheduler: the node whose agent runs the scheduler's half; empty: the server
	Alias     []Alias  // scheduler: its names of nodes
	Observe   bool     // scheduler: its jobs are only observed, but for those within Enforce
	Enforce   *Enforce // scheduler: nil without Observe, and where no job is served

	file  *hclfile.File
	block *hclsyntax.Block
}

// Alias maps a scheduler's names of nodes to Weft's, one by one: both are hostlists of the same length.
type Alias struct {
	Theirs string
	Ours   string
}

// NoType is the finding for a Type that is not among those known.
func (p Plugin) NoType(known []string) hclfile.Finding {
	what := map[string]string{kindScheduler: "scheduler adapter", kindDriver: "driver"}[p.Kind]
	finding := p.file.At(hclfile.Error, p.block.LabelRanges[0], fmt.Sprintf("there is no %s %q", what, p.Type), "")
	if finding.Suggestion = hclfile.Near(p.Type, known); finding.Suggestion == "" {
		finding.Detail = fmt.Sprintf("There are: %s. A plugin that is not built in needs command = [\"/path/of/it\"].", strings.Join(slices.Sorted(slices.Values(known)), ", "))
	}
	return finding
}

// Names gives Weft's name for each name of a node that the scheduler's aliases have. What is not in it has the same name on both sides.
func (p Plugin) Names() map[string]string {
	names := map[string]string{}
	for _, a := range p.Alias {
		theirs, err := hostlist.Parse(a.Theirs)
		ours, bad := hostlist.Parse(a.Ours)
		if err != nil || bad != nil {
			continue // Load refused it
		}
		to := slices.Collect(ours.Expand())
		for i, name := range slices.Collect(theirs.Expand()) {
			if i < len(to) {
				names[name] = to[i]
			}
		}
	}
	return names
}

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
		case "memory":
			n, findings := l.file.Int(attr.Expr, what+", in MiB", 64, 1<<20)
			l.add(findings...)
			p.Memory = int(n)
		case "processes":
			n, findings := l.file.Int(attr.Expr, what, 64, 1<<16)
			l.add(findings...)
			p.Processes = int(n)
		case "at":
			if text, ok := l.text(attr, what); ok {
				p.At = text
				l.among(attr, what, text)
			}
		case "alias":
			p.Alias = l.alias(attr, what)
		case "mode":
			p.Observe = l.mode(attr, what)
		}
	}
	l.enforce(&p, title)
	if p.InProcess && p.Command != nil {
		l.add(l.file.At(hclfile.Error, block.Body.Attributes["in_process"].NameRange, title+": a plugin with a command is a process; in_process is for built-in ones", "Leave one of the two out."))
	}
	if p.SHA256 != "" && block.Body.Attributes["command"] == nil {
		l.add(l.file.At(hclfile.Error, block.Body.Attributes["sha256"].NameRange, title+": sha256 is of the program that command names, and there is no command", "A built-in plugin is the daemon's own program; leave it out."))
	}
	if p.InProcess && p.AutoMTLS {
		l.add(l.file.At(hclfile.Error, block.Body.Attributes["auto_mtls"].NameRange, title+": a plugin in the daemon has no connection to encrypt", "Leave one of auto_mtls and in_process out."))
	}
	for _, name := range []string{"memory", "processes"} {
		if attr := block.Body.Attributes[name]; attr != nil && p.InProcess {
			l.add(l.file.At(hclfile.Error, attr.NameRange, title+": "+name+" bounds a plugin's process, and this one runs in the daemon", "Leave one of "+name+" and in_process out."))
		}
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
	if i := slices.IndexFunc(names, func(name string) bool { return seen[name] }); i >= 0 {
		l.add(l.file.At(hclfile.Error, at.Range(), fmt.Sprintf("%s: %q is given twice", what, core.Clip(names[i])), ""))
	}
	for _, name := range names {
		seen[name] = true
	}
}
