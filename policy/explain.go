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
	e := p.decide(&facts)
	d := &e.decision
	t := Trace{Policy: p.hash, Decision: *d, Warnings: d.Warnings, Trials: d.Trials}
	t.Blocks = e.blocks()
	if d.Deny != nil {
		t.Deny = &Denial{Reason: string(d.Deny.Reason), What: d.Deny.What, Remedy: d.Deny.Remedy}
		if e.ended != nil {
			by := e.ended.where()
			t.Deny.By = &by
		}
	}
	t.Attributes = e.attributes()
	t.Shares = e.shares()
	return t
}

func (r *rule) where() Place { return Place{r.kind.String(), r.name, r.place.file, r.place.line} }

// history are the places that set an attribute for the job, the last first.
func (e *evaluation) history(a attribute) []Setting {
	var out []Setting
	for _, r := range slices.Backward(e.taken) {
		if r.settings.sets(a) {
			out = append(out, r.settings.at[a])
		}
	}
	if e.policy.defaults.sets(a) {
		out = append(out, e.policy.defaults.at[a])
	}
	return out
}

// attributes explain each value of the decision, with the places that set it.
func (e *evaluation) attributes() []Attribute {
	out := make([]Attribute, 0, numAttributes+1)
	for a := range numAttributes {
		one := Attribute{Name: attributeNames[a], Asked: asks(a, e.facts.Job.Request), Set: Setting{Place{Kind: "built in"}, builtIn[a]}}
		if all := e.history(a); len(all) > 0 {
			one.Set, one.Replaced = all[0], all[1:]
		}
		if e.decision.Deny == nil {
			one.Value = e.given(a)
		}
		out = append(out, one)
	}
	failure := Attribute{Name: "on_failure", Set: Setting{Place{Kind: "built in"}, `"refuse"`}, Value: "refuse"}
	if e.policy.failure != (Setting{}) {
		failure.Set = e.policy.failure
	}
	if e.policy.degrade {
		failure.Value = "degrade"
	}
	return append(out, failure)
}

// builtIn are the attributes that no file needs to set, as they would be written.
var builtIn = [numAttributes]string{shareAttr: `"guaranteed"`, minNICsAttr: `"all"`, floorAttr: "{}", collectivesAttr: "{ addresses = 0 }"}

// given is what the job gets of an attribute.
func (e *evaluation) given(a attribute) string {
	d := &e.decision
	if len(d.VNIs) == 0 {
		return "none"
	}
	switch a {
	case classesAttr:
		return d.Classes.String()
	case limitsAttr:
		if l := e.set.limits; l != nil {
			return l.name
		}
	case vnisAttr:
		var names []string
		own := len(d.VNIs) - int(d.Steps)
		for _, v := range d.VNIs[:own] {
			names = append(names, fmt.Sprintf("%s of %s", v.Name, v.Pool))
		}
		if d.Steps > 0 {
			names = append(names, fmt.Sprintf("%d of %s for steps, beyond which a step is %s", d.Steps, d.VNIs[own].Pool,
				[]string{"given the job's", "refused"}[d.Beyond]))
		}
		return strings.Join(names, ", ")
	case shareAttr:
		if d.Greedy {
			return "greedy"
		}
		return "guaranteed"
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
		say(r.Exact, "no_adjust_limits")
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
	case shareAttr, minNICsAttr, floorAttr, numAttributes: // nobody asks for these
	}
	return strings.Join(words, ", ")
}

// shares are what each number of cores gives.
func (e *evaluation) shares() []Share {
	var out []Share
	d, l := &e.decision, e.set.limits
	for i, s := range e.facts.Job.Placements {
		if i >= len(d.Limits) || l == nil {
			break
		}
		if k := slices.IndexFunc(out, func(o Share) bool { return o.Cores == s.Cores }); k >= 0 {
			out[k].Hosts, out[k].Nodes = append(out[k].Hosts, s.Hosts), out[k].Nodes+s.Nodes
			continue
		}
		share := Share{Hosts: []string{s.Hosts}, Nodes: s.Nodes, Cores: s.Cores, Depth: e.facts.Job.Request.Depth}
		for r, limit := range d.Limits[i] {
			one := l.resources[r]
			if one == nil {
				continue
			}
			share.Resources = append(share.Resources, Resource{
				Name: core.Resource(r).String(), Reserved: limit.Reserved, Max: limit.Max, Floor: min(d.Floor[r], limit.Reserved),
				Asked: asked(e.facts.Job.Request.Limits[r]),
				Set:   Place{"limits", l.name, one.max.place.file, one.max.place.line},
			})
		}
		out = append(out, share)
	}
	return out
}

// blocks evaluates every block, those too that the decision did not need.
func (e *evaluation) blocks() []Block {
	out := make([]Block, 0, len(e.policy.rules))
	over := malformed(e.facts.Job.Request) != nil
	for _, r := range e.policy.rules {
		b := Block{Place: r.where(), Outcome: Unmatched, Unasked: over, Ended: r == e.ended}
		if slices.Contains(e.taken, r) {
			for _, a := range r.settings.all() {
				b.Sets = append(b.Sets, attributeNames[a])
			}
		}
		if r.kind != ruleKind {
			b.Enforce = enforcements[r.enforce]
		}
		b.Lists = r.match.looks(&e.facts.Job)
		listed := !slices.ContainsFunc(b.Lists, func(l List) bool { return !l.Hit })
		hit, fault := false, (*core.Error)(nil)
		if listed {
			hit, fault = e.hit(r)
		}
		if r.match.nodes != nil {
			in, err := r.match.nodes.hit(e.facts.Job.Placements, r.kind != ruleKind)
			l := List{Name: "nodes", Hit: in && err == nil, Some: []string{r.match.hosts}, Job: []string{}}
			for _, s := range e.facts.Job.Placements {
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
			if v, err := r.message.value(e); err != nil {
				b.Outcome, b.Why = Failed, r.fault("message", err).What
			} else {
				b.Why += ", so it says: " + shown(v)
			}
		}
		for _, q := range e.decision.Quotas {
			if r.kind == quotaKind && q.Name == r.name {
				b.Bounds = append(b.Bounds, Bound{unitNames[q.Unit], q.Subject, q.Most})
			}
		}
		if r.kind == quotaKind && b.Ended && b.Outcome == Matched {
			b.Outcome, b.Why = Failed, e.decision.Deny.What // its bounds are evaluated when all blocks have been asked
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
