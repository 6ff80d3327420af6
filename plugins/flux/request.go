package flux

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Bounds of what a user writes after -o. maxDepth is switch/hpe_slingshot's own.
const (
	maxOptions = 64
	maxValue   = 1024 // bytes
	maxDepth   = 1024
)

// The shell options that say what a user asks for; the second is flux-coral2's.
const (
	optionOurs = "slingshot"
	optionCray = "cray-slingshot"
)

// word is one KEY of `-o slingshot.KEY=VALUE`.
type word struct {
	name  string
	usage string // as a person writes it
	set   func(r *core.Request, value string) error
}

var words = []word{
	{"off", "slingshot=off", truth(func(r *core.Request) *bool { return &r.Off })},
	{"vnis", "slingshot.vnis=1.." + strconv.Itoa(core.MaxVNIs), func(r *core.Request, v string) (err error) {
		r.VNIs, err = number(v, 1, core.MaxVNIs)
		return err
	}},
	{"job_vni", "slingshot.job_vni", truth(func(r *core.Request) *bool { return &r.JobVNI })},
	{"single_node_vni", "slingshot.single_node_vni", truth(func(r *core.Request) *bool { return &r.SingleNode })},
	{"tcs", "slingshot.tcs=CLASS:CLASS", classes},
	{"depth", "slingshot.depth=1.." + strconv.Itoa(maxDepth), func(r *core.Request, v string) (err error) {
		r.Depth, err = number(v, 1, maxDepth)
		return err
	}},
	{"hwcoll", "slingshot.hwcoll", truth(func(r *core.Request) *bool { return &r.Collectives })},
	{"disable_rdzv_get", "slingshot.disable_rdzv_get", func(r *core.Request, v string) error {
		r.Warnings = append(r.Warnings, "slingshot.disable_rdzv_get has no effect: the switch is the NIC's, not the job's, and Weft leaves it alone")
		return truth(func(r *core.Request) *bool { return &r.NoRendezvous })(r, v)
	}},
}

// others are the words that are no limit of a resource; those follow them.
var others = len(words)

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
			words = append(words, word{name, "slingshot." + name + "=0..65535", func(q *core.Request, v string) error {
				n, err := number(v, 0, 65535)
				if err != nil {
					return err
				}
				u := uint16(n) //nolint:gosec // at most 65535
				*l.of(&q.Limits[r]) = &u
				return nil
			}})
		}
	}
}

// ParseOptions reads the options of a job's shell that are Weft's: `-o slingshot.KEY=VALUE`, `-o slingshot=off`, and flux-coral2's
// `-o cray-slingshot=off|vnicount=N`. What is not known, or out of its range, is core.BadRequest and names the option.
func ParseOptions(options map[string]json.RawMessage) (core.Request, error) {
	var r core.Request
	if text, given := options[optionCray]; given {
		if err := cray(&r, text); err != nil {
			return core.Request{}, err
		}
	}
	text, given := options[optionOurs]
	if !given {
		return r, nil
	}
	if s, err := scalar(text); err == nil {
		if s != "off" {
			return core.Request{}, refuse(optionOurs, "%q says nothing", core.Clip(s)).WithRemedy("write " + usages())
		}
		r.Off = true
		return r, check(r)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil || len(keys) > maxOptions {
		return core.Request{}, refuse(optionOurs, "it is neither off nor keys with values, %d at most", maxOptions)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if err := set(&r, key, keys[key]); err != nil {
			return core.Request{}, err
		}
	}
	return r, check(r)
}

func set(r *core.Request, key string, text json.RawMessage) error {
	i := slices.IndexFunc(words, func(w word) bool { return w.name == key })
	if i < 0 {
		return refuse(optionOurs+"."+core.Clip(key), "there is no such option").WithRemedy("the options are " + usages())
	}
	v, err := scalar(text)
	if err == nil {
		err = words[i].set(r, v)
	}
	if err != nil {
		return refuse(optionOurs+"."+key, "%w", err).WithRemedy("write -o " + words[i].usage)
	}
	return nil
}

// cray reads flux-coral2's option. It knows no key beside vnicount, of which 0 is no VNI at all.
func cray(r *core.Request, text json.RawMessage) error {
	if s, err := scalar(text); err == nil {
		if s != "off" {
			return refuse(optionCray, "%q is not off", core.Clip(s)).WithRemedy("write -o cray-slingshot=off, or -o cray-slingshot.vnicount=N")
		}
		r.Off = true
		return nil
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return refuse(optionCray, "it is neither off nor vnicount=N")
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if key != "vnicount" {
			return refuse(optionCray+"."+core.Clip(key), "there is no such option").WithRemedy("write -o cray-slingshot.vnicount=N")
		}
		v, err := scalar(keys[key])
		if err == nil {
			r.VNIs, err = number(v, 0, core.MaxVNIs)
		}
		if err != nil {
			return refuse(optionCray+".vnicount", "%w", err).WithRemedy("write -o cray-slingshot.vnicount=N, N from 0 to " + strconv.Itoa(core.MaxVNIs))
		}
		r.Off = r.VNIs == 0
	}
	return nil
}

func refuse(option, format string, args ...any) *core.Error {
	return core.Errorf(core.BadRequest, "option "+strings.ReplaceAll(option, "%", "%%")+": "+format, args...)
}

func usages() string {
	var all []string
	for _, w := range words[:others] {
		all = append(all, w.usage)
	}
	return strings.Join(all, ", ") + ", and slingshot.def_R, res_R and max_R=0..65535 where R is one of " + strings.Join(core.ResourceNames(), ", ")
}

// scalar is a value as its user wrote it: Flux makes a number of what looks like one, and 1 of an option without a value.
func scalar(text json.RawMessage) (string, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || len(text) > maxValue {
		return "", fmt.Errorf("its value has %d bytes and may have 1 to %d", len(text), maxValue)
	}
	switch text[0] {
	case '"':
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return "", err
		}
		return s, nil
	case '{', '[', 'n':
		return "", fmt.Errorf("its value is no word and no number")
	}
	return string(text), nil
}

// check refuses options that contradict each other.
func check(r core.Request) error {
	wants := r.VNIs != 0 || r.JobVNI || r.SingleNode || r.Classes != 0 || r.Depth != 0 || r.Collectives || r.NoRendezvous
	if r.Off && (wants || r.Limits != [core.NumResources]core.LimitRequest{}) {
		return refuse(optionOurs+".off", "it wants no network, and another option wants something of it").WithRemedy("give off alone")
	}
	for i, l := range r.Limits {
		if l.Max != nil && l.Reserved != nil && *l.Reserved > *l.Max {
			n := core.Resource(i) //nolint:gosec // fewer than NumResources
			return refuse(optionOurs+".res_"+n.String(), "%d is more than max_%s, which is %d", *l.Reserved, n, *l.Max).WithRemedy("lower it, or raise max_" + n.String())
		}
	}
	return nil
}

func number(v string, least, most int) (int, error) {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil || int(n) < least || int(n) > most {
		return 0, fmt.Errorf("%q is not a number from %d to %d", core.Clip(v), least, most)
	}
	return int(n), nil
}

func truth(of func(*core.Request) *bool) func(*core.Request, string) error {
	return func(r *core.Request, v string) error {
		switch v {
		case "1", "true":
			*of(r) = true
		case "0", "false":
			*of(r) = false
		default:
			return fmt.Errorf("%q is neither true nor false", core.Clip(v))
		}
		return nil
	}
}

func classes(r *core.Request, v string) error {
	for name := range strings.SplitSeq(v, ":") {
		c, err := core.ParseClass(name)
		if err != nil {
			return fmt.Errorf("%q is no traffic class; there are %s", core.Clip(name), strings.Join(core.ClassNames(), ", "))
		}
		r.Classes |= c
	}
	return nil
}
