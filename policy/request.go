package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/request"
)

// What a user asks for beyond policy is denied by name, never clipped: a job that got less than it asked for would find out an hour later.

// malformed refuses what no policy could grant.
func malformed(r core.Request) *core.Error {
	switch {
	case r.VNIs < 0 || r.VNIs > core.MaxVNIs:
		return core.Errorf(core.BadRequest, "VNIs: %d were asked for; a job can have 1 to %d", r.VNIs, core.MaxVNIs)
	case r.Depth < 0 || r.Depth > request.MaxDepth:
		return core.Errorf(core.BadRequest, "depth: %d was asked for; it can be 1 to %d", r.Depth, request.MaxDepth)
	case r.Classes&^core.AllClasses != 0:
		return core.Errorf(core.BadRequest, "traffic classes: %s were asked for; there are %s", r.Classes.Env(), strings.Join(core.ClassNames(), ", "))
	}
	for i, l := range r.Limits {
		if l.Reserved != nil && l.Max != nil && *l.Reserved > *l.Max {
			return core.Errorf(core.BadRequest, "%s: %d were asked to be reserved, which is above the maximum asked for, %d", core.Resource(i), *l.Reserved, *l.Max)
		}
	}
	return nil
}

// wanted fits the VNIs that policy gives to the number asked for. Asking for fewer drops the job's own from the end, except where a service's VNI would
// move to another index by it.
func wanted(given []*vni, r core.Request) ([]engine.Wanted, *core.Error) {
	given = slices.DeleteFunc(slices.Clone(given), (*vni).steps)
	own := 0
	for _, v := range given {
		if !v.service {
			own++
		}
	}
	switch {
	case r.VNIs > own:
		return nil, core.Errorf(core.PolicyDenied, "VNIs: %d were asked for; the site's policy gives this job %d", r.VNIs, own).WithRemedy(fmt.Sprintf("ask for at most %d, or ask the site's administrators", own))
	case r.JobVNI && own < 2:
		return nil, core.Errorf(core.PolicyDenied, "VNIs: one for the whole job was asked for beside the application's; the site's policy gives this job one VNI").
			WithRemedy("do not ask for a job VNI, or ask the site's administrators")
	}
	keep := r.VNIs
	if keep == 0 || r.JobVNI {
		keep = own
	}
	for len(given) > 0 && own > keep && !given[len(given)-1].service {
		given, own = given[:len(given)-1], own-1
	}
	out := make([]engine.Wanted, len(given))
	for i, v := range given {
		out[i] = v.Wanted
	}
	return out, nil
}

func classes(given, asked core.Classes) (core.Classes, *core.Error) {
	if asked == 0 {
		return given, nil
	}
	if beyond := asked &^ given; beyond != 0 {
		return 0, core.Errorf(core.PolicyDenied, "traffic classes: %s: asked for, but not granted to this job by the site's policy", beyond).
			WithRemedy(fmt.Sprintf("ask for %s, or ask the site's administrators", given))
	}
	return asked, nil
}

// asked reports whether anything was asked of a resource.
func asked(l core.LimitRequest) bool { return l.PerCore != nil || l.Reserved != nil || l.Max != nil }

// deep refuses a depth that reserves more than a user may ask for.
func deep(depth int, given core.Limits, ask [core.NumResources]uint16) *core.Error {
	for i, l := range given {
		if l.Reserved > ask[i] {
			return core.Errorf(core.PolicyDenied, "depth: %d was asked for, which would reserve %d %s; "+
				"the site's policy gives this job at most %d on each NIC of a node", depth, l.Reserved, core.Resource(i), ask[i]).
				WithRemedy("ask for a smaller depth or more cores, or ask the site's administrators")
		}
	}
	return nil
}

// low refuses what no NIC could give: less than the floor.
func low(all []core.Limits, floor [core.NumResources]uint16) *core.Error {
	for _, limits := range all {
		for i, l := range limits {
			if l.Reserved < floor[i] {
				return core.Errorf(core.PolicyDenied, "%s: %d would be reserved on each NIC of a node; "+
					"the site's policy starts this job with at least %d", core.Resource(i), l.Reserved, floor[i]).
					WithRemedy(fmt.Sprintf("ask for at least %d, or ask the site's administrators", floor[i]))
			}
		}
	}
	return nil
}

// fitted fits the limits that policy gives on a node to those asked for: up to policy's max each, and reserved up to ask.
func fitted(
	given core.Limits, ask [core.NumResources]uint16, requests [core.NumResources]core.LimitRequest, cores int,
) (core.Limits, *core.Error) {
	for i, r := range requests {
		one := &given[i]
		beyond := func(what string, n int, most uint16) *core.Error {
			return core.Errorf(core.PolicyDenied, "%s: a %s of %d was asked for; the site's policy gives this job at most %d on each NIC of a node", core.Resource(i), what, n, most).
				WithRemedy(fmt.Sprintf("ask for at most %d, or ask the site's administrators", most))
		}
		if r.Max != nil {
			if *r.Max > one.Max {
				return given, beyond("maximum", int(*r.Max), one.Max)
			}
			one.Max = *r.Max
			one.Reserved = min(one.Reserved, one.Max)
		}
		switch {
		case r.Reserved != nil:
			if *r.Reserved > ask[i] {
				return given, beyond("reservation", int(*r.Reserved), ask[i])
			}
			one.Reserved = *r.Reserved
		case r.PerCore != nil:
			n := int(*r.PerCore) * cores
			if r.Max != nil {
				n = min(n, int(one.Max)) // the ceiling that the user set
			}
			if n < 0 || n > int(min(one.Max, ask[i])) {
				return given, beyond("reservation", n, ask[i])
			}
			one.Reserved = uint16(n)
		}
	}
	return given, nil
}
