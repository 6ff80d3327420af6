package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Explain decides as Decide does, and says how it came about. It costs many times what Decide does.
func (p *Policy) Explain(facts engine.Facts) Trace {
	x := explainer{policy: p, facts: &facts}
	for a := range numAttributes {
		if p.defaults.sets(a) {
			x.set[a] = append(x.set[a], setting(a, &p.defaults, Place{Kind: "top"}))
		}
	}
	decision, ended, _ := p.decide(&facts, x.took)
	t := Trace{Policy: p.hash, Decision: decision, Warnings: decision.Warnings, Trials: decision.Trials}
	t.Blocks = x.blocks(&decision, ended)
	if d := decision.Deny; d != nil {
		t.Deny = &Denial{Reason: string(d.Reason), What: d.What, Remedy: d.Remedy}
		if ended != nil {
			by := ended.where()
			t.Deny.By = &by
		}
	}
	t.Attributes = x.attributes(&decision)
	t.Shares = x.shares(&decision)
	return t
}

// explainer is one trace in the making.
type explainer struct {
	policy *Policy
	facts  *engine.Facts
	set    [numAttributes][]Setting // oldest first
	last   settings                 // what is in force
	sets   map[*rule][]string
}

// took hears that a rule matched and sets something.
func (x *explainer) took(r *rule) {
	if x.sets == nil {
		x.sets = map[*rule][]string{}
	}
	for a := range numAttributes {
		if r.settings.sets(a) {
			x.set[a] = append(x.set[a], setting(a, &r.settings, r.where()))
			x.sets[r] = append(x.sets[r], attributeNames[a])
		}
	}
	x.last.take(&r.settings)
}

func (r *rule) where() Place { return Place{r.kind.String(), r.name, r.place.file, r.place.line} }

// setting is an attribute of s, which stands in this block.
func setting(a attribute, s *settings, in Place) Setting {
	in.File, in.Line = s.at[a].file, s.at[a].line
	return Setting{in, s.at[a].text}
}

func (x *explainer) attributes(d *engine.Decision) []Attribute {
	out := make([]Attribute, 0, numAttributes+1)
	for a := range numAttributes {
		one := Attribute{Name: attributeNames[a], Asked: asks(a, x.facts.Job.Request), Set: Setting{Place{Kind: "built in"}, builtIn[a]}}
		if n := len(x.set[a]); n > 0 {
			one.Set, one.Replaced = x.set[a][n-1], x.set[a][:n-1]
			slices.Reverse(one.Replaced)
		}
		if d.Deny == nil {
			one.Value = x.given(a, d)
		}
		out = append(out, one)
	}
	failure := Attribute{Name: "on_failure", Set: Setting{Place{Kind: "built in"}, `"refuse"`}, Value: "refuse"}
	if x.policy.failure != (written{}) {
		failure.Set = Setting{Place{Kind: "top", File: x.policy.failure.file, Line: x.policy.failure.line}, x.policy.failure.text}
	}
	if x.policy.degrade {
		failure.Value = "degrade"
	}
	return append(out, failure)
}

// builtIn are the attributes that no file needs to set, as they would be written.
var builtIn = [numAttributes]string{minNICsAttr: `"all"`, floorAttr: "{}", collectivesAttr: "{ addresses = 0 }"}

// given is what the job gets of an attribute.
func (x *explainer) given(a attribute, d *engine.Decision) string {
	if len(d.VNIs) == 0 {
		return "none"
	}
	switch a {
	case classesAttr:
		return d.Classes.String()
	case limitsAttr:
		if l := x.inForce().limits; l != nil {
			return l.name
		}
	case vnisAttr:
		var names []string
		for _, v := range d.VNIs {
			names = append(names, fmt.Sprintf("%s of %s", v.Name, v.Pool))
		}
		return strings.Join(names, ", ")
	case minNICsAttr:
		if d.MinNICs == 0 {
			return "all"
		}
		return fmt.Sprint(d.MinNICs)
	case floorAttr:
		var names []string
		for i, n := range d.Floor {
			if n > 0 {
				names = append(names, fmt.Sprintf("%s %d", core.Resource(i), n))
			}
		}
		if names != nil {
			return strings.Join(names, ", ")
		}
	case collectivesAttr:
		if d.Collectives > 0 {
			return fmt.Sprintf("%d addresses", d.Collectives)
		}
	case numAttributes:
	}
	return "none"
}

func (x *explainer) inForce() settings {
	s := x.policy.defaults
	s.take(&x.last)
	return s
}

// asks is what the user asked for of an attribute.
func asks(a attribute, r core.Request) string {
	var words []string
	say := func(asked bool, format string, args ...any) {
		if asked {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	switch a {
	case classesAttr:
		say(r.Classes != 0, "%s", r.Classes)
	case limitsAttr:
		say(r.Depth != 0, "depth %d", r.Depth)
		for i, l := range r.Limits {
			for what, n := range map[string]*uint16{"def": l.PerCore, "res": l.Reserved, "max": l.Max} {
				if n != nil {
					words = append(words, fmt.Sprintf("%s_%s %d", what, core.Resource(i), *n))
				}
			}
		}
		slices.Sort(words)
	case vnisAttr:
		say(r.Off, "no network")
		say(r.VNIs > 0, "%d of its own", r.VNIs)
		say(r.JobVNI, "one for the whole job")
		say(r.SingleNode, "one even on a single node")
	case collectivesAttr:
		say(r.Collectives, "hardware collectives")
	case minNICsAttr, floorAttr, numAttributes: // nobody asks for these
	}
	return strings.Join(words, ", ")
}

// shares are what each number of cores gives.
func (x *explainer) shares(d *engine.Decision) []Share {
	var out []Share
	l := x.inForce().limits
	for i, s := range x.facts.Job.Placements {
		if i >= len(d.Limits) || l == nil {
			break
		}
		if k := slices.IndexFunc(out, func(o Share) bool { return o.Cores == s.Cores }); k >= 0 {
			out[k].Hosts, out[k].Nodes = append(out[k].Hosts, s.Hosts), out[k].Nodes+s.Nodes
			continue
		}
		share := Share{Hosts: []string{s.Hosts}, Nodes: s.Nodes, Cores: s.Cores, Depth: x.facts.Job.Request.Depth}
		for r, limit := range d.Limits[i] {
			one := l.resources[r]
			if one == nil {
				continue
			}
			share.Resources = append(share.Resources, Resource{
				Name: core.Resource(r).String(), Reserved: limit.Reserved, Max: limit.Max, Floor: min(d.Floor[r], limit.Reserved),
				Asked: asked(x.facts.Job.Request.Limits[r]),
				Set:   Place{"limits", l.name, one.max.place.file, one.max.place.line},
			})
		}
		out = append(out, share)
	}
	return out
}

// blocks evaluates every block, those too that the decision did not need.
func (x *explainer) blocks(d *engine.Decision, ended *rule) []Block {
	e := evaluation{policy: x.policy, facts: x.facts}
	out := make([]Block, 0, len(x.policy.rules))
	over := malformed(x.facts.Job.Request) != nil
	for _, r := range x.policy.rules {
		b := Block{Place: r.where(), Outcome: Unmatched, Sets: x.sets[r], Unasked: over, Ended: r == ended}
		if r.kind != ruleKind {
			b.Enforce = enforcements[r.enforce]
		}
		b.Lists = r.match.looks(&x.facts.Job)
		listed := !slices.ContainsFunc(b.Lists, func(l List) bool { return !l.Hit })
		hit, fault := false, (*core.Error)(nil)
		if listed {
			hit, fault = e.hit(r)
		}
		if r.match.nodes != nil {
			in, err := r.match.nodes.hit(x.facts.Job.Placements, r.kind != ruleKind)
			l := List{Name: "nodes", Hit: in && err == nil, Some: []string{r.match.hosts}, Job: []string{}}
			for _, s := range x.facts.Job.Placements {
				l.Job = append(l.Job, s.Hosts)
			}
			b.Lists = append(b.Lists, l)
		}
		if r.when != nil {
			c := r.when.condition(r.when.tree, e.context())
			b.When = &c
		}
		switch {
		case fault != nil:
			b.Outcome, b.Why = Failed, fault.What
		case hit:
			b.Outcome = Matched
		}
		if b.Outcome != Failed {
			b.Why = b.reason()
		}
		if r.kind == denyKind && b.Outcome == Matched {
			if v, err := r.message.value(e.context()); err != nil {
				b.Outcome, b.Why = Failed, r.fault("message", err).What
			} else {
				b.Why += ", so it says: " + shown(v)
			}
		}
		for _, q := range d.Quotas {
			if r.kind == quotaKind && q.Name == r.name {
				b.Bounds = append(b.Bounds, Bound{unitNames[q.Unit], q.Subject, q.Most})
			}
		}
		if r.kind == quotaKind && b.Ended && b.Outcome == Matched {
			b.Outcome, b.Why = Failed, d.Deny.What // its bounds are evaluated when all blocks have been asked
		} else {
			over = over || b.Ended
		}
		out = append(out, b)
	}
	return out
}

// reason says in one line why a block matched or did not.
func (b *Block) reason() string {
	for _, l := range b.Lists {
		if !l.Hit {
			return fmt.Sprintf("match: %s: the job has %s, which is not what the list asks for: %s", l.Name, quoted(l.Job), l.list())
		}
	}
	switch {
	case b.When != nil:
		return "when: " + b.When.why()
	case len(b.Lists) > 0:
		return "match: all lists hold something of the job"
	}
	return "it is for every job"
}

func (l List) list() string {
	out := quoted(l.Some)
	if l.More > 0 {
		out += fmt.Sprintf(" and %d more", l.More)
	}
	return out
}

func quoted(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	var out []string
	for _, s := range list[:min(len(list), shownNames)] {
		out = append(out, shown(cty.StringVal(s)))
	}
	if more := len(list) - shownNames; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// shownNames is how many names of a list a trace shows.
const shownNames = 8

// looks are the lists of m, each held against the job.
func (m *match) looks(job *core.Job) []List {
	var out []List
	for f, list := range m.lists {
		if len(list) == 0 {
			continue
		}
		has := jobNames([]string{}, field(f), job)
		out = append(out, List{
			Name: fieldNames[f], Job: has, Some: list[:min(len(list), shownNames)], More: max(0, len(list)-shownNames),
			Hit: m.has(field(f), has),
		})
	}
	return out
}
