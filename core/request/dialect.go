package request

import (
	"context"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Dialect is how the users of one scheduler spell the options of the table. An adapter that embeds it is a
// core.RequestParser.
type Dialect struct {
	Command string // precedes an option on the command line: "--network=", "-o "
	Prefix  string // begins every option's name: "slingshot."
	True    string // the value that the scheduler demands of a flag; empty: none

	// Plugin reads as switch/hpe_slingshot does (config.c of Slurm 23.11 to 26.05). A flag takes no value. A word that
	// begins with the name of some options is that option. Empty words do not count. A reservation of 0 asks for
	// nothing, and Plugin lowers one above its own maximum.
	Plugin bool
}

// ParseRequest implements core.RequestParser.
func (d Dialect) ParseRequest(_ context.Context, given []string) (core.Request, error) {
	return d.ParseText(given...)
}

// Options implements core.RequestParser: the table in the dialect's spelling.
func (d Dialect) Options(context.Context) ([]core.Option, error) {
	all := make([]core.Option, len(table))
	for i := range table {
		o := &table[i]
		all[i] = core.Option{Value: strings.TrimPrefix(d.value(o, o.form()), "="), Help: o.help, Idle: o.idle != ""}
		if o.idle != "" {
			all[i].Help = "no effect: " + o.idle
		}
		for _, name := range o.names {
			all[i].Names = append(all[i].Names, d.Prefix+name)
		}
		all[i].Example = all[i].Names[0] + d.value(o, o.example)
	}
	return all, nil
}

// find gives the option that a word names, and under which name. A word may spell a resource as core.ParseResource
// takes it.
func (d Dialect) find(word string) (*option, string) {
	for i := range table {
		for n, name := range table[i].names {
			if word == name || d.Plugin && table[i].begins && n == 0 && strings.HasPrefix(word, name) {
				return &table[i], name
			}
		}
	}
	kind, rest, _ := strings.Cut(word, "_")
	if r, err := core.ParseResource(rest); err == nil && !d.Plugin && rest != r.String() {
		return d.find(kind + "_" + r.String())
	}
	return nil, ""
}

func (d Dialect) spell(name string) string { return d.Command + d.Prefix + name }

func (d Dialect) value(o *option, value string) string {
	if value == "" && o.flag != nil {
		value = d.True
	}
	if value == "" {
		return ""
	}
	return "=" + value
}

func (d Dialect) usage(o *option, name string) string { return d.spell(name) + d.value(o, o.form()) }

// usages names all options, those of a resource by one R.
func (d Dialect) usages() string {
	var all []string
	for i := range table[:len(table)-3*int(core.NumResources)] {
		o := &table[i]
		all = append(all, d.Prefix+strings.Join(o.names, "|")+d.value(o, o.form()))
	}
	return strings.Join(all, ", ") + ", and " + d.Prefix + "def_R, res_R and max_R=0..65535 where R is one of " +
		strings.Join(core.ResourceNames(), ", ")
}
