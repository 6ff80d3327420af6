package pbs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// prefix begins the names of the resources by which a job asks Weft for something: qsub -l slingshot_KEY=VALUE.
const prefix = "slingshot_"

// maxDepth is the greatest depth (switch/hpe_slingshot).
const maxDepth = 1024

// Resource is one resource of the PBS server by which users ask.
type Resource struct {
	Key  string
	Type string // as qmgr's `create resource` has it: long, boolean, string
	Form string // as a user writes its value
	set  func(r *core.Request, value string) error
}

// Name of the resource in PBS.
func (r Resource) Name() string { return prefix + r.Key }

// Resources are all of them, in the order in which a page lists them.
func Resources() []Resource { return slices.Clone(resources) }

var resources = append([]Resource{
	{"vnis", "long", "1.." + strconv.Itoa(core.MaxVNIs), func(r *core.Request, v string) (err error) {
		r.VNIs, err = number(v, 1, core.MaxVNIs)
		return err
	}},
	{"job_vni", "boolean", "true", flag(func(r *core.Request) *bool { return &r.JobVNI })},
	{"single_node_vni", "boolean", "true", flag(func(r *core.Request) *bool { return &r.SingleNode })},
	{"tcs", "string", "CLASS:CLASS", setClasses},
	{"depth", "long", "1.." + strconv.Itoa(maxDepth), func(r *core.Request, v string) (err error) {
		r.Depth, err = number(v, 1, maxDepth)
		return err
	}},
	{"collectives", "boolean", "true", flag(func(r *core.Request) *bool { return &r.Collectives })},
	{"off", "boolean", "true", flag(func(r *core.Request) *bool { return &r.Off })},
}, limits()...)

// limits are the kinds of limit of each NIC resource, in the words of switch/hpe_slingshot.
func limits() []Resource {
	var all []Resource
	for _, kind := range []struct {
		prefix string
		of     func(*core.LimitRequest) **uint16
	}{
		{"def_", func(l *core.LimitRequest) **uint16 { return &l.PerCore }},
		{"res_", func(l *core.LimitRequest) **uint16 { return &l.Reserved }},
		{"max_", func(l *core.LimitRequest) **uint16 { return &l.Max }},
	} {
		for n := range core.NumResources {
			all = append(all, Resource{kind.prefix + n.String(), "long", "0..65535", func(r *core.Request, v string) error {
				got, err := number(v, 0, 1<<16-1)
				if err == nil {
					u := uint16(got)
					*kind.of(&r.Limits[n]) = &u
				}
				return err
			}})
		}
	}
	return all
}

// ParseRequest reads what a job asks for: the values of its resources by KEY. One that is not known, or has a value out of its range, is core.BadRequest and
// named.
func ParseRequest(wanted map[string]string) (core.Request, error) {
	var r core.Request
	asks := 0
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		i := slices.IndexFunc(resources, func(o Resource) bool { return o.Key == key })
		if i < 0 {
			return core.Request{}, core.Errorf(core.BadRequest, "-l %s%s: Weft knows no such resource", prefix, core.Clip(key)).WithRemedy("the keys are " + strings.Join(keys(), ", "))
		}
		if err := resources[i].set(&r, wanted[key]); err != nil {
			return core.Request{}, core.Errorf(core.BadRequest, "-l %s: %w", resources[i].Name(), err).WithRemedy("write -l " + resources[i].Name() + "=" + resources[i].Form)
		}
		if key != "off" {
			asks++
		}
	}
	if r.Off && asks > 0 {
		r.Warnings = append(r.Warnings, "-l "+prefix+"off=true: the job gets no VNI and no service, so nothing else that it asks for has an effect")
	}
	for i, l := range r.Limits {
		if l.Max != nil && l.Reserved != nil && *l.Reserved > *l.Max {
			n := core.Resource(i)
			return core.Request{}, core.Errorf(core.BadRequest, "-l %sres_%s: %d is more than max_%s, which is %d", prefix, n, *l.Reserved, n, *l.Max).WithRemedy("lower it, or raise max_" + n.String())
		}
	}
	return r, nil
}

func keys() []string {
	var all []string
	for _, r := range resources[:len(resources)-3*int(core.NumResources)] {
		all = append(all, r.Key)
	}
	return append(all, "def_R, res_R and max_R where R is one of "+strings.Join(core.ResourceNames(), ", "))
}

func number(v string, least, most int) (int, error) {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil || int(n) < least || int(n) > most {
		return 0, fmt.Errorf("%q is not a number from %d to %d", core.Clip(v), least, most)
	}
	return int(n), nil
}

// flag reads a boolean as PBS writes it: True in qstat, 1 in what a hook inside pbs_server sees.
func flag(of func(*core.Request) *bool) func(*core.Request, string) error {
	return func(r *core.Request, v string) error {
		switch strings.ToLower(v) {
		case "true", "1":
			*of(r) = true
		case "false", "0":
			*of(r) = false
		default:
			return fmt.Errorf("%q is neither true nor false", core.Clip(v))
		}
		return nil
	}
}

func setClasses(r *core.Request, v string) error {
	var all core.Classes
	for name := range strings.SplitSeq(v, ":") {
		c, err := core.ParseClass(name)
		if err != nil {
			return fmt.Errorf("%q is no traffic class; there are %s", core.Clip(name), strings.Join(core.ClassNames(), ", "))
		}
		all |= c
	}
	if all == 0 {
		return errors.New("no class is named")
	}
	r.Classes = all
	return nil
}
