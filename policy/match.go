package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

// match is the part of a condition that is plain data. Each list that is given must hold something of the job.
type match struct {
	lists  [numFields][]string // as they are written
	sorted [numFields][]string
	nodes  nodes  // nil: not given
	hosts  string // nodes as they are written
}

// field is a list of names that a job is looked up by.
type field uint8

const (
	users field = iota // the most telling first: the index files a rule under its first
	accounts
	groups
	queues
	schedulers
	numFields
)

var fieldNames = [numFields]string{"users", "accounts", "groups", "queues", "schedulers"}

// fieldVariables are the variables that hold what the lists are looked up by.
var fieldVariables = [numFields]string{"job.user", "job.account", "job.groups", "job.queue", "job.scheduler"}

func (c *compiler) match(m *match, file *hclfile.File, block *hclsyntax.Block, title string) {
	title += ": match"
	c.add(file.Check(block.Body, hclfile.Shape{Where: title, Attributes: append(slices.Clone(fieldNames[:]), "nodes")})...)
	if len(block.Body.Attributes) == 0 {
		c.add(file.At(hclfile.Error, block.DefRange(), title+": it names nothing", "Name users, groups, accounts, queues, schedulers or nodes, or leave match out."))
	}
	for f, name := range fieldNames {
		attr := block.Body.Attributes[name]
		if attr == nil {
			continue
		}
		what := title + ": " + name
		items, findings := file.Items(attr.Expr, what)
		c.add(findings...)
		if findings == nil && len(items) == 0 {
			c.add(file.At(hclfile.Error, attr.Expr.Range(), what+": it is empty, so no job would match", "Leave it out to match all."))
		}
		seen := make(map[string]bool, len(items))
		for _, item := range items {
			if field(f) == schedulers && c.env.Schedulers != nil && !slices.Contains(c.env.Schedulers, item.Text) {
				c.add(unknown(file, item.At, fmt.Sprintf("%s: config.hcl has no scheduler %q", what, core.Clip(item.Text)), item.Text, c.env.Schedulers))
			}
			if field(f) != schedulers && strings.ContainsAny(item.Text, "*?") {
				c.add(file.At(hclfile.Warning, item.At, fmt.Sprintf("%s: %q stands for itself: names are compared whole", what, core.Clip(item.Text)), "Ask startswith, endswith or regex in when."))
			}
			if seen[item.Text] {
				c.add(file.At(hclfile.Warning, item.At, fmt.Sprintf("%s: %q is given twice", what, core.Clip(item.Text)), ""))
				continue
			}
			seen[item.Text] = true
			m.lists[f] = append(m.lists[f], item.Text)
		}
		m.sorted[f] = slices.Sorted(slices.Values(m.lists[f]))
	}
	if attr := block.Body.Attributes["nodes"]; attr != nil {
		m.nodes, m.hosts = c.nodes(file, attr, title+": nodes"), strings.Trim(excerpt(file.Text, attr.Expr.Range()), `"`)
	}
}

// index finds the rules whose lists hold something of a job, without a look at the others: a rule is filed under the names of one of its lists, the first
// in the order of fields, and its other lists are held against the job when that hits.
type index struct {
	always []int                       // rules without a list
	named  [numFields]map[string][]int // rules by what their first list holds
}

func (p *Policy) index() {
	for f := range p.by.named {
		p.by.named[f] = map[string][]int{}
	}
	for i, r := range p.rules {
		first := slices.IndexFunc(r.match.lists[:], func(list []string) bool { return len(list) > 0 })
		if first < 0 {
			p.by.always = append(p.by.always, i)
			continue
		}
		for _, name := range r.match.lists[first] {
			p.by.named[first][name] = append(p.by.named[first][name], i)
		}
	}
}

// survivors are the rules, in order, whose lists hold something of the job.
func (p *Policy) survivors(job *core.Job) []int {
	out := append(make([]int, 0, len(p.by.always)+8), p.by.always...)
	var room [16]string
	for f := range numFields {
		for _, name := range jobNames(room[:0], f, job) {
			for _, i := range p.by.named[f][cty.NormalizeString(name)] {
				if p.rules[i].match.hit(job, f+1) {
					out = append(out, i)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out) // a job may be in several groups of one list
}

// hit reports whether the lists from field first on hold something of the job.
func (m *match) hit(job *core.Job, first field) bool {
	var room [16]string
	for f := first; f < numFields; f++ {
		if len(m.lists[f]) > 0 && !m.has(f, jobNames(room[:0], f, job)) {
			return false
		}
	}
	return true
}

// has reports whether a list holds one of names.
func (m *match) has(f field, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, found := slices.BinarySearch(m.sorted[f], cty.NormalizeString(name))
		return found
	})
}

// jobNames appends what a job is looked up by.
func jobNames(to []string, f field, job *core.Job) []string {
	switch f {
	case users:
		return append(to, job.User)
	case groups:
		return append(to, job.Groups...)
	case accounts:
		return append(to, job.Account)
	case queues:
		return append(to, job.Queue)
	case schedulers:
		return append(to, job.Scheduler)
	case numFields:
	}
	return to
}
