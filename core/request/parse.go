package request

import (
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Bounds of one job's options.
const (
	MaxOptions = 64
	MaxBytes   = 1024 // in all
)

// Given is an option as a user gave it.
type Given struct {
	Name  string // without the dialect's Prefix
	Value string
	As    string // how its user wrote it, without its value; empty: as the dialect has it
	Equal bool   // an equals sign follows the name
}

// ParseText reads options with commas between them, each text as a user gives it to the scheduler's command.
func (d Dialect) ParseText(texts ...string) (core.Request, error) {
	var all []Given
	for _, text := range texts {
		if text == "" {
			continue
		}
		for word := range strings.SplitSeq(text, ",") {
			if d.Plugin && word == "" {
				continue
			}
			name, value, equal := strings.Cut(word, "=")
			g := Given{Value: value, As: d.Command + name, Equal: equal}
			if own, ok := strings.CutPrefix(name, d.Prefix); ok {
				g.Name, g.As = own, ""
			}
			all = append(all, g)
		}
	}
	return d.Parse(all)
}

// Parse reads options in order: the last counts where one is given twice. Off voids all others. A warning names each
// option without effect, once. BadRequest names an option that is not in the table, and one whose value is out of its
// range.
func (d Dialect) Parse(given []Given) (core.Request, error) {
	if err := d.bounded(given); err != nil {
		return core.Request{}, err
	}
	p := parser{dialect: d, seen: map[*option]Given{}}
	for _, g := range given {
		if err := p.take(g); err != nil {
			return core.Request{}, err
		}
	}
	if err := d.fits(&p.request); err != nil {
		return core.Request{}, err
	}
	return p.whole(), nil
}

// bounded refuses more options than a job can need.
func (d Dialect) bounded(given []Given) error {
	size := 0
	for _, g := range given {
		size += len(g.Name) + len(g.Value) + len(g.As)
	}
	title := strings.TrimRight(d.Command+d.Prefix, "=._ ")
	switch {
	case size > MaxBytes:
		return core.Errorf(core.BadRequest, "%s: it has more than %d bytes", title, MaxBytes).WithRemedy("ask for less")
	case len(given) > MaxOptions:
		return core.Errorf(core.BadRequest, "%s: it has more than %d options", title, MaxOptions).WithRemedy("ask for less")
	}
	return nil
}

// parser is a request in the making.
type parser struct {
	dialect Dialect
	request core.Request
	seen    map[*option]Given
	off     string   // how the user wrote off
	beside  []string // the options that off voids
}

func (p *parser) take(g Given) error {
	o, name := p.dialect.find(g.Name)
	if o == nil {
		return p.dialect.unknown(g)
	}
	if g.As == "" {
		g.As = p.dialect.spell(name)
	}
	g.Name = name
	if p.dialect.Plugin && o.flag != nil && g.Equal {
		return core.Errorf(core.BadRequest, "%s: it takes no value", g.As).WithRemedy("write " + p.dialect.usage(o, name))
	}
	if b, ok := p.seen[o]; ok && b.Name != name && b.Value != g.Value {
		return core.Errorf(core.BadRequest, "%s: it is %s by another name, with another value", g.As, b.As).
			WithRemedy("give one of them")
	}
	p.seen[o] = g
	asks, err := o.set(&p.request, g.Value)
	switch {
	case err != nil:
		return core.Errorf(core.BadRequest, "%s: %w", g.As, err).WithRemedy("write " + p.dialect.usage(o, name))
	case o.idle != "":
		p.request.Warnings = once(p.request.Warnings, g.As+": it has no effect: "+o.idle)
	case o.names[0] == off:
		p.off = g.As
	case asks:
		p.beside = once(p.beside, name)
	}
	return nil
}

func once(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// whole is the request, with nothing next to off.
func (p *parser) whole() core.Request {
	if !p.request.Off {
		return p.request
	}
	r := core.Request{Off: true, Warnings: p.request.Warnings}
	if len(p.beside) > 0 {
		ignored := strings.Join(p.beside, ", ")
		r.Warnings = append(r.Warnings, p.off+": the job gets no VNI and no service; Weft ignores "+ignored)
	}
	return r
}

// fits refuses limits that contradict each other, or settles them as switch/hpe_slingshot does (_set_desc_limits in
// setup_nic.c of Slurm 23.11 to 26.05).
func (d Dialect) fits(r *core.Request) error {
	var lowered []string
	for i := range r.Limits {
		l := &r.Limits[i]
		if d.Plugin && l.Reserved != nil && *l.Reserved == 0 {
			l.Reserved = nil
		}
		if l.Max == nil || l.Reserved == nil || *l.Reserved <= *l.Max {
			continue
		}
		n := core.Resource(i).String() //nolint:gosec // fewer than NumResources
		what := d.spell("res_" + n)
		if !d.Plugin {
			return core.Errorf(core.BadRequest, "%s: %d is more than max_%s, which is %d", what, *l.Reserved, n, *l.Max).
				WithRemedy("lower it, or raise max_" + n)
		}
		l.Reserved = l.Max
		lowered = append(lowered, what)
	}
	if len(lowered) > 0 {
		why := ": more than the maximum that was asked for, so Weft lowers it"
		r.Warnings = append(r.Warnings, strings.Join(lowered, ", ")+why)
	}
	return nil
}

func (d Dialect) unknown(g Given) error {
	if g.As == "" {
		g.As = d.spell(core.Clip(g.Name))
	}
	if why, ok := refused[g.Name]; ok {
		return core.Errorf(core.BadRequest, "%s: Weft does not give it: %s", g.As, why).
			WithRemedy("leave it out, or ask the site's administrators")
	}
	remedy := "the options are " + d.usages()
	if near := nearest(g.Name); near != "" {
		remedy = "did you mean " + near + "? " + remedy
	}
	return core.Errorf(core.BadRequest, "option %q: there is no such option", core.Clip(g.As)).WithRemedy(remedy)
}
