package slurm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Bounds of what a user writes after --network=. maxDepth is switch/hpe_slingshot's own.
const (
	maxNetwork = 1024 // bytes
	maxTokens  = 64
	maxDepth   = 1024
)

// token is one word of --network= as switch/hpe_slingshot has it. Whatever begins with its name is that token: it compares no more than the name's length,
// without regard to case, and `depthfoo=3` sets the depth.
type token struct {
	name  string
	usage string // as a person writes it
	value bool
	set   func(r *core.Request, value string) error
}

var tokens = []token{
	{name: "tcs", usage: "tcs=CLASS:CLASS", value: true, set: setClasses},
	{name: "no_vni", usage: "no_vni", set: func(r *core.Request, _ string) error { r.Off = true; return nil }},
	{name: "job_vni", usage: "job_vni", set: func(r *core.Request, _ string) error { r.JobVNI = true; return nil }},
	{name: "single_node_vni", usage: "single_node_vni", set: func(r *core.Request, _ string) error { r.SingleNode = true; return nil }},
	{name: "adjust_limits", usage: "adjust_limits", set: func(*core.Request, string) error { return nil }}, // Weft always does
	{name: "no_adjust_limits", usage: "no_adjust_limits", set: without("limits are always fitted to what a NIC has left")},
	{name: "disable_rdzv_get", usage: "disable_rdzv_get", set: func(r *core.Request, v string) error {
		r.NoRendezvous = true
		return without("the switch is the NIC's, not the job's, and Weft leaves it alone")(r, v)
	}},
	{name: "hwcoll", usage: "hwcoll", set: func(r *core.Request, _ string) error { r.Collectives = true; return nil }},
	{name: "nic_distribution_count", usage: "nic_distribution_count=N", value: true, set: func(r *core.Request, v string) error {
		if _, err := number(v, 1, 1<<16-1); err != nil {
			return err
		}
		return without("a job has a service on every NIC of its nodes")(r, v)
	}},
	{name: "depth", usage: "depth=1.." + strconv.Itoa(maxDepth), value: true, set: func(r *core.Request, v string) (err error) {
		r.Depth, err = number(v, 1, maxDepth)
		return err
	}},
}

func init() {
	for _, l := range []struct {
		prefix string
		of     func(*core.LimitRequest) **uint16
	}{
		{"def_", func(l *core.LimitRequest) **uint16 { return &l.PerCore }},
		{"res_", func(l *core.LimitRequest) **uint16 { return &l.Reserved }},
		{"max_", func(l *core.LimitRequest) **uint16 { return &l.Max }},
	} {
		for r := range core.NumResources {
			name := l.prefix + r.String()
			tokens = append(tokens, token{name: name, usage: name + "=0..65535", value: true, set: func(q *core.Request, v string) error {
				n, err := number(v, 0, 1<<16-1)
				if err == nil {
					u := uint16(n)
					*l.of(&q.Limits[r]) = &u
				}
				return err
			}})
		}
	}
}

// ParseNetwork reads what a user gave as --network= (or SLURM_NETWORK): every token of switch/hpe_slingshot, so that a site moves without telling its users.
// Of a token given twice the last counts, as there. What has no effect is in the Request's warnings; a token that is not known, or has a value out of its
// range, is core.BadRequest and named.
func ParseNetwork(text string) (core.Request, error) {
	var r core.Request
	if len(text) > maxNetwork {
		return core.Request{}, core.Errorf(core.BadRequest, "--network: it has more than %d bytes", maxNetwork)
	}
	count := 0
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		if count++; count > maxTokens {
			return core.Request{}, core.Errorf(core.BadRequest, "--network: it has more than %d options", maxTokens)
		}
		t, err := find(word)
		if err != nil {
			return core.Request{}, err
		}
		_, value, assigned := strings.Cut(word, "=")
		if t.value && !assigned {
			return core.Request{}, core.Errorf(core.BadRequest, "--network=%s: its value is missing", t.name).WithRemedy("write " + t.usage)
		}
		before := len(r.Warnings)
		if err := t.set(&r, strings.TrimSpace(value)); err != nil {
			return core.Request{}, core.Errorf(core.BadRequest, "--network=%s: %w", t.name, err).WithRemedy("write " + t.usage)
		}
		for i := before; i < len(r.Warnings); i++ {
			r.Warnings[i] = "--network=" + t.name + ": it has no effect: " + r.Warnings[i]
		}
	}
	return r, check(&r)
}

// check refuses limits that contradict each other, and warns of what no_vni voids.
func check(r *core.Request) error {
	for i, l := range r.Limits {
		if l.Max != nil && l.Reserved != nil && *l.Reserved > *l.Max {
			n := core.Resource(i)
			return core.Errorf(core.BadRequest, "--network=res_%s: %d is more than max_%s, which is %d", n, *l.Reserved, n, *l.Max).WithRemedy("lower it, or raise max_" + n.String())
		}
	}
	if r.Off && (r.JobVNI || r.SingleNode || r.Classes != 0 || r.Depth != 0 || r.Collectives || r.Limits != [core.NumResources]core.LimitRequest{}) {
		r.Warnings = append(r.Warnings, "--network=no_vni: the job gets no VNI and no service, so nothing else that --network asks for has an effect")
	}
	return nil
}

// find is the token that a word begins with. No token's name begins with another's.
func find(word string) (token, error) {
	for _, t := range tokens {
		if len(word) >= len(t.name) && strings.EqualFold(word[:len(t.name)], t.name) {
			return t, nil
		}
	}
	name, _, _ := strings.Cut(word, "=")
	return token{}, core.Errorf(core.BadRequest, "--network: %q is no option of it", core.Clip(name)).WithRemedy(
		"the options are tcs, no_vni, job_vni, single_node_vni, adjust_limits, no_adjust_limits, disable_rdzv_get, hwcoll, nic_distribution_count, depth, " +
			"and def_R, res_R and max_R where R is one of " + strings.Join(core.ResourceNames(), ", "))
}

func without(why string) func(*core.Request, string) error {
	return func(r *core.Request, _ string) error {
		r.Warnings = append(r.Warnings, why)
		return nil
	}
}

func number(v string, least, most int) (int, error) {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil || int(n) < least || int(n) > most {
		return 0, fmt.Errorf("%q is not a number from %d to %d", core.Clip(v), least, most)
	}
	return int(n), nil
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
	r.Classes = all
	return nil
}
