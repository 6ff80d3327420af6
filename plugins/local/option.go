package local

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Bounds of what a user writes after --options.
const (
	maxOptions     = 64   // how many
	maxOptionBytes = 4096 // in all
	maxDepth       = 1024 // Slurm's own bound of depth
)

// option is one thing that a user can ask for.
type option struct {
	name  string
	usage string // with its value
	set   func(r *core.Request, value string) error
}

var options = []option{
	{"vnis", "vnis=1.." + strconv.Itoa(core.MaxVNIs), func(r *core.Request, v string) (err error) {
		r.VNIs, err = number(v, 1, core.MaxVNIs)
		return err
	}},
	{"job_vni", "job_vni", flag(func(r *core.Request) *bool { return &r.JobVNI })},
	{"single_node_vni", "single_node_vni", flag(func(r *core.Request) *bool { return &r.SingleNode })},
	{"classes", "classes=CLASS:CLASS", classes},
	{"tcs", "tcs=CLASS:CLASS", classes},
	{"depth", "depth=1.." + strconv.Itoa(maxDepth), func(r *core.Request, v string) (err error) {
		r.Depth, err = number(v, 1, maxDepth)
		return err
	}},
	{"collectives", "collectives", flag(func(r *core.Request) *bool { return &r.Collectives })},
	{"disable_rdzv_get", "disable_rdzv_get", flag(func(r *core.Request) *bool { return &r.NoRendezvous })},
	{"off", "off", flag(func(r *core.Request) *bool { return &r.Off })},
}

// limits are the kinds of limit that a user can ask for of each NIC resource, in the words of switch/hpe_slingshot.
var limits = []struct {
	prefix string
	of     func(*core.LimitRequest) **uint16
}{
	{"def_", func(l *core.LimitRequest) **uint16 { return &l.PerCore }},
	{"res_", func(l *core.LimitRequest) **uint16 { return &l.Reserved }},
	{"max_", func(l *core.LimitRequest) **uint16 { return &l.Max }},
}

// ParseOptions reads what a user asked for, each element a NAME or NAME=VALUE or several with commas between. An option that is not known, comes twice
// or has a value outside its range is core.BadRequest and names the option.
func ParseOptions(given []string) (core.Request, error) {
	var r core.Request
	seen := map[string]bool{}
	size, last := 0, ""
	for _, list := range given {
		if size += len(list); size > maxOptionBytes {
			return core.Request{}, core.Errorf(core.BadRequest, "options: they have more than %d bytes", maxOptionBytes)
		}
		if list == "" {
			continue
		}
		for one := range strings.SplitSeq(list, ",") {
			name, value, _ := strings.Cut(one, "=")
			if len(seen) == maxOptions {
				return core.Request{}, core.Errorf(core.BadRequest, "options: there are more than %d", maxOptions)
			}
			o, err := find(name)
			if err != nil {
				return core.Request{}, err
			}
			if seen[o.name] {
				return core.Request{}, core.Errorf(core.BadRequest, "option %s: it is given twice", o.name).WithRemedy("give it once")
			}
			seen[o.name] = true
			if strings.HasSuffix(one, "=") {
				return core.Request{}, core.Errorf(core.BadRequest, "option %s: its value is missing", o.name).WithRemedy("write " + o.usage)
			}
			if err := o.set(&r, value); err != nil {
				return core.Request{}, core.Errorf(core.BadRequest, "option %s: %w", o.name, err).WithRemedy("write " + o.usage)
			}
			if o.name != "off" {
				last = o.name
			}
		}
	}
	return r, check(r, last)
}

// check refuses options that contradict each other; other is one beside off.
func check(r core.Request, other string) error {
	if r.Off && other != "" {
		return core.Errorf(core.BadRequest, "option off: it wants no network, and %s wants something of it", other).WithRemedy("give off alone")
	}
	for i, l := range r.Limits {
		if l.Max != nil && l.Reserved != nil && *l.Reserved > *l.Max {
			n := core.Resource(i)
			return core.Errorf(core.BadRequest, "option res_%s: %d is more than max_%s, which is %d", n, *l.Reserved, n, *l.Max).WithRemedy("lower it, or raise max_" + n.String())
		}
	}
	return nil
}

// find is the option of a name; a resource's name may be spelled as core.ParseResource takes it.
func find(name string) (option, error) {
	for _, o := range options {
		if o.name == name {
			return o, nil
		}
	}
	for _, l := range limits {
		rest, ok := strings.CutPrefix(name, l.prefix)
		if !ok {
			continue
		}
		res, err := core.ParseResource(rest)
		if err != nil {
			break
		}
		full := l.prefix + res.String()
		return option{full, full + "=0..65535", func(r *core.Request, v string) error {
			n, err := number(v, 0, 65535)
			if err != nil {
				return err
			}
			u := uint16(n)
			*l.of(&r.Limits[res]) = &u
			return nil
		}}, nil
	}
	err := core.Errorf(core.BadRequest, "option %q: there is no such option", core.Clip(name))
	mend := "the options are " + strings.Join(usages(), ", ")
	if near := nearest(name); near != "" {
		mend = "did you mean " + near + "? " + mend
	}
	return option{}, err.WithRemedy(mend)
}

func usages() []string {
	var all []string
	for _, o := range options {
		all = append(all, o.usage)
	}
	return append(all, "def_R, res_R and max_R=0..65535 where R is one of "+strings.Join(core.ResourceNames(), ", "))
}

func number(v string, least, most int) (int, error) {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil || int(n) < least || int(n) > most {
		return 0, fmt.Errorf("%q is not a number from %d to %d", core.Clip(v), least, most)
	}
	return int(n), nil
}

func flag(of func(*core.Request) *bool) func(*core.Request, string) error {
	return func(r *core.Request, v string) error {
		switch v {
		case "", "true":
			*of(r) = true
		case "false":
			*of(r) = false
		default:
			return fmt.Errorf("%q is neither true nor false", core.Clip(v))
		}
		return nil
	}
}

func classes(r *core.Request, v string) error {
	if r.Classes != 0 {
		return fmt.Errorf("the traffic classes are given already")
	}
	for name := range strings.SplitSeq(v, ":") {
		c, err := core.ParseClass(name)
		if err != nil {
			return fmt.Errorf("%q is no traffic class; there are %s", core.Clip(name), strings.Join(core.ClassNames(), ", "))
		}
		r.Classes |= c
	}
	return nil
}
