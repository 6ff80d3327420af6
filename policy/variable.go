package policy

import (
	"maps"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core"
)

// A variable is one of these: how it is read of a job.
type (
	truth  func(*evaluation) bool
	amount func(*evaluation) int64
	word   func(*evaluation) string
	list   func(*evaluation) []string
)

// told is a variable that may be unknown; nil then.
type told[T any] func(*evaluation) *T

func (of told[T]) known(e *evaluation) bool { return of(e) != nil }

// variables are all that an expression may name. Texts that come from a scheduler are as it spells them.
var variables = map[string]any{
	"job.id": word(func(e *evaluation) string { return e.facts.Job.JobID.Job }),
	// The instance's name in config.hcl.
	"job.scheduler":   word(func(e *evaluation) string { return e.facts.Job.Scheduler }),
	"job.user":        word(func(e *evaluation) string { return e.facts.Job.User }),
	"job.uid":         amount(func(e *evaluation) int64 { return int64(e.facts.Job.UID) }),
	"job.gid":         amount(func(e *evaluation) int64 { return int64(e.facts.Job.GID) }),
	"job.groups":      list(func(e *evaluation) []string { return e.facts.Job.Groups }),
	"job.account":     word(func(e *evaluation) string { return e.facts.Job.Account }),
	"job.queue":       word(func(e *evaluation) string { return e.facts.Job.Queue }), // partition, queue
	"job.partition":   word(func(e *evaluation) string { return e.facts.Job.Queue }), // another word for it
	"job.qos":         told[string](func(e *evaluation) *string { return e.facts.Job.QOS }),
	"job.reservation": told[string](func(e *evaluation) *string { return e.facts.Job.Reservation }),
	"job.time_limit":  told[int64](func(e *evaluation) *int64 { return e.facts.Job.TimeLimit }), // seconds
	"job.constraints": told[string](func(e *evaluation) *string { return e.facts.Job.Constraints }),
	"job.nodes":       amount(func(e *evaluation) int64 { return int64(e.facts.Job.Nodes()) }),
	"job.cores":       amount(cores), // over all nodes
	// Groups of config.hcl's topology that its nodes are in; 0: not known.
	"job.spread": amount(func(e *evaluation) int64 { return int64(e.spread()) }),

	"job.request.off": truth(func(e *evaluation) bool { return e.facts.Job.Request.Off }),
	// Of its own; 0: none in particular.
	"job.request.vnis": amount(func(e *evaluation) int64 { return int64(e.facts.Job.Request.VNIs) }),
	// A second VNI for the whole job.
	"job.request.job_vni":         truth(func(e *evaluation) bool { return e.facts.Job.Request.JobVNI }),
	"job.request.single_node_vni": truth(func(e *evaluation) bool { return e.facts.Job.Request.SingleNode }),
	// Empty: none in particular.
	"job.request.traffic_classes": list(func(e *evaluation) []string { return e.facts.Job.Request.Classes.Names() }),
	// It stands in for share.cores; 0: not given.
	"job.request.depth":       amount(func(e *evaluation) int64 { return int64(e.facts.Job.Request.Depth) }),
	"job.request.collectives": truth(func(e *evaluation) bool { return e.facts.Job.Request.Collectives }),
	// Nothing less than what is reserved.
	"job.request.no_adjust_limits": truth(func(e *evaluation) bool { return e.facts.Job.Request.Exact }),
	// Resources of which a limit was asked for: txqs ….
	"job.request.limits": list(limited),

	// The job's cores on a node, or the depth that the user asked for: in limits only.
	"share.cores": amount(func(e *evaluation) int64 { return int64(e.cores) }),
	// That config.hcl declares.
	"system.nodes": amount(func(e *evaluation) int64 { return int64(e.facts.System.Nodes) }),

	// When it is decided, in Unix seconds.
	nowVariable: told[int64](func(e *evaluation) *int64 {
		if e.facts.Now == 0 {
			return nil
		}
		return &e.facts.Now
	}),
	// job.time_limit of a job that has none.
	"unlimited": amount(func(*evaluation) int64 { return core.Unlimited }),
}

const nowVariable = "now"

// cores are the job's over all its nodes.
func cores(e *evaluation) int64 {
	n := 0
	for _, share := range e.facts.Job.Placements {
		n += share.Nodes * share.Cores
	}
	return int64(n)
}

func limited(e *evaluation) []string {
	var out []string
	for i, limit := range e.facts.Job.Request.Limits {
		if asked(limit) {
			out = append(out, core.Resource(i).String())
		}
	}
	return out
}

// scope is the variables that an expression may name.
type scope map[string]cty.Type

var (
	limitScope scope = objects(typeOf, cty.Object)
	ruleScope        = limitScope.without("share")
)

func (s scope) without(name string) scope {
	s = maps.Clone(s)
	delete(s, name)
	return s
}

// objects makes one thing of each variable, and objects of these whose names have a dot: job, with a request in it,
// share and system.
func objects[T any](of func(variable any) T, object func(map[string]T) T) map[string]T {
	fields := map[string]map[string]T{"": {}, "job": {}, "job.request": {}, "share": {}, "system": {}}
	for name, variable := range variables {
		last := strings.LastIndexByte(name, '.')
		fields[name[:max(last, 0)]][name[last+1:]] = of(variable)
	}
	fields["job"]["request"] = object(fields["job.request"])
	all := fields[""]
	for _, name := range []string{"job", "share", "system"} {
		all[name] = object(fields[name])
	}
	return all
}

func typeOf(variable any) cty.Type {
	switch variable.(type) {
	case truth:
		return cty.Bool
	case amount, told[int64]:
		return cty.Number
	case word, told[string]:
		return cty.String
	}
	return cty.List(cty.String)
}

// valueOf is a variable's value for the job.
func (e *evaluation) valueOf(variable any) cty.Value {
	switch of := variable.(type) {
	case truth:
		return cty.BoolVal(of(e))
	case amount:
		return cty.NumberIntVal(of(e))
	case word:
		return cty.StringVal(of(e))
	case list:
		return textList(of(e))
	case told[int64]:
		if n := of(e); n != nil {
			return cty.NumberIntVal(*n)
		}
	case told[string]:
		if text := of(e); text != nil {
			return cty.StringVal(*text)
		}
	}
	return cty.UnknownVal(typeOf(variable))
}

func textList(texts []string) cty.Value {
	if len(texts) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	values := make([]cty.Value, len(texts))
	for i, text := range texts {
		values[i] = cty.StringVal(text)
	}
	return cty.ListVal(values)
}
