package policy

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// The variables and their types. Names that come from a scheduler are texts as it spells them.
var (
	requestType = cty.Object(map[string]cty.Type{
		"off":             cty.Bool,             // no network wanted
		"vnis":            cty.Number,           // VNIs of its own asked for; 0: none in particular
		"job_vni":         cty.Bool,             // a second VNI for the whole job
		"single_node_vni": cty.Bool,             // a VNI even on one node
		"traffic_classes": cty.List(cty.String), // empty: none in particular
		"depth":           cty.Number,           // stands in for share.cores; 0: not given
		"collectives":     cty.Bool,             // hardware collectives
		"limits":          cty.List(cty.String), // resources of which a limit was asked for: txqs …
	})
	jobType = cty.Object(map[string]cty.Type{
		"id":        cty.String,
		"scheduler": cty.String, // the instance's name in config.hcl
		"user":      cty.String,
		"uid":       cty.Number,
		"gid":       cty.Number,
		"groups":    cty.List(cty.String),
		"account":   cty.String,
		"queue":     cty.String, // partition, queue
		"nodes":     cty.Number,
		"cores":     cty.Number, // over all nodes
		"spread":    cty.Number, // groups of config.hcl's topology that its nodes are in; 0: not known
		"request":   requestType,
	})
	systemType = cty.Object(map[string]cty.Type{
		"nodes": cty.Number, // that config.hcl declares
	})
	shareType = cty.Object(map[string]cty.Type{
		"cores": cty.Number, // the job's cores on a node, or the depth that the user asked for
	})
)

// scope is the variables that an expression may name.
type scope map[string]cty.Type

var (
	ruleScope  = scope{"job": jobType, "system": systemType}
	limitScope = scope{"job": jobType, "system": systemType, "share": shareType}
)

// cores are the job's over all its nodes.
func cores(job core.Job) int {
	n := 0
	for _, share := range job.Placements {
		n += share.Nodes * share.Cores
	}
	return n
}

func jobValue(job core.Job, spread int) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"id":        cty.StringVal(job.JobID.Job),
		"scheduler": cty.StringVal(job.Scheduler),
		"user":      cty.StringVal(job.User),
		"uid":       cty.NumberUIntVal(uint64(job.UID)),
		"gid":       cty.NumberUIntVal(uint64(job.GID)),
		"groups":    textList(job.Groups),
		"account":   cty.StringVal(job.Account),
		"queue":     cty.StringVal(job.Queue),
		"nodes":     cty.NumberIntVal(int64(job.Nodes())),
		"cores":     cty.NumberIntVal(int64(cores(job))),
		"spread":    cty.NumberIntVal(int64(spread)),
		"request":   requestValue(job.Request),
	})
}

func requestValue(r core.Request) cty.Value {
	var limits []string
	for i, limit := range r.Limits {
		if asked(limit) {
			limits = append(limits, core.Resource(i).String())
		}
	}
	return cty.ObjectVal(map[string]cty.Value{
		"off":             cty.BoolVal(r.Off),
		"vnis":            cty.NumberIntVal(int64(r.VNIs)),
		"job_vni":         cty.BoolVal(r.JobVNI),
		"single_node_vni": cty.BoolVal(r.SingleNode),
		"traffic_classes": textList(r.Classes.Names()),
		"depth":           cty.NumberIntVal(int64(r.Depth)),
		"collectives":     cty.BoolVal(r.Collectives),
		"limits":          textList(limits),
	})
}

func systemValue(system engine.System) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"nodes": cty.NumberIntVal(int64(system.Nodes))})
}

func shareValue(cores int) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"cores": cty.NumberIntVal(int64(cores))})
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
