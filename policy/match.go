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
	lists [numFields][]string
	nodes nodes  // nil: not given
	hosts string // nodes as they are written
}

// field is a list of names that a job is looked up by.
type field uint8

const (
	users field = iota
	groups
	accounts
	queues
	schedulers
	numFields
)

var fieldNames = [numFields]string{"users", "groups", "accounts", "queues", "schedulers"}

// fieldVariables are the variables that hold what the lists are looked up by.
var fieldVariables = [numFields]string{"job.user", "", "job.account", "job.queue", "job.scheduler"}

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
			if seen[item.Text] {
				c.add(file.At(hclfile.Warning, item.At, fmt.Sprintf("%s: %q is given twice", what, core.Clip(item.Text)), ""))
				continue
			}
			seen[item.Text] = true
			m.lists[f] = append(m.lists[f], item.Text)
		}
	}
	if attr := block.Body.Attributes["nodes"]; attr != nil {
		m.nodes, m.hosts = c.nodes(file, attr, title+": nodes"), strings.Trim(excerpt(file.Text, attr.Expr.Range()), `"`)
	}
}

// index finds the rules whose lists hold something of a job, without looking at each rule's lists.
type index struct {
	need  []uint8                     // of each rule: a bit for each field that it has a list for
	named [numFields]map[string][]int // rules by what their list holds
}

func (p *Policy) index() {
	p.by.need = make([]uint8, len(p.rules))
	for f := range p.by.named {
		p.by.named[f] = map[string][]int{}
		for i, r := range p.rules {
			if len(r.match.lists[f]) > 0 {
				p.by.need[i] |= 1 << f
			}
			for _, name := range r.match.lists[f] {
				p.by.named[f][name] = append(p.by.named[f][name], i)
			}
		}
	}
}

// survivors are the rules, in order, whose lists hold something of the job.
func (x *index) survivors(job *core.Job) []int {
	have := make([]uint8, len(x.need))
	look := func(f field, name string) {
		for _, i := range x.named[f][cty.NormalizeString(name)] {
			have[i] |= 1 << f
		}
	}
	look(users, job.User)
	look(accounts, job.Account)
	look(queues, job.Queue)
	look(schedulers, job.Scheduler)
	for _, group := range job.Groups {
		look(groups, group)
	}
	out := make([]int, 0, len(have))
	for i, need := range x.need {
		if have[i]&need == need {
			out = append(out, i)
		}
	}
	return out
}
