package cases

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/policy"
)

// Expect is what must come of a job. What it does not name may be anything; but a job that is denied must be expected to be.
type Expect struct {
	Deny           *string          `json:"deny"`            // a part of the message; "": whatever it says
	VNIs           *[]string        `json:"vnis"`            // names of vni blocks, in order; none: no network
	TrafficClasses *[]string        `json:"traffic_classes"` //
	Limits         map[string]Limit `json:"limits"`          // by resource: on each NIC of the job's first nodes
	Share          *string          `json:"share"`           // guaranteed or greedy
	MinNICs        *any             `json:"min_nics"`        // a number, or "all"
	Floor          map[string]int   `json:"floor"`           // by resource
	Collectives    *int             `json:"collectives"`     // multicast addresses
	Rules          *[]string        `json:"rules"`           // and denies that are for the job, in order
	Warnings       *[]string        `json:"warnings"`        // a part of each, in order
	DryRun         *[]string        `json:"dry_run"`         // a part of each thing that enforce = "dry_run" says
}

// Limit is of one resource.
type Limit struct {
	Reserved *uint16 `json:"reserved"`
	Max      *uint16 `json:"max"`
}

func (e *Expect) check() error {
	gets := *e
	gets.Deny, gets.Rules, gets.Warnings, gets.DryRun = nil, nil, nil, nil
	switch {
	case e.Deny != nil && !reflect.ValueOf(gets).IsZero():
		return errors.New("a job that is denied gets nothing; leave deny out, or all but rules and warnings")
	case reflect.ValueOf(*e).IsZero():
		return errors.New("it names nothing that could be otherwise")
	}
	if e.Limits != nil && len(e.Limits) == 0 || e.Floor != nil && len(e.Floor) == 0 {
		return errors.New("limits = {} and floor = {} name nothing; leave them out")
	}
	for _, name := range slices.Sorted(maps.Keys(e.Limits)) {
		if l := e.Limits[name]; l.Reserved == nil && l.Max == nil {
			return fmt.Errorf("limits: %s names neither reserved nor max", core.Clip(name))
		}
	}
	for _, name := range slices.AppendSeq(slices.Collect(maps.Keys(e.Limits)), maps.Keys(e.Floor)) {
		if r, err := core.ParseResource(name); err != nil || r.String() != name {
			return fmt.Errorf("%q is no resource; there are: %s", core.Clip(name), strings.Join(core.ResourceNames(), ", "))
		}
	}
	if e.TrafficClasses != nil {
		for i, name := range *e.TrafficClasses {
			c, err := core.ParseClass(name)
			if err != nil {
				return errors.New(plain(err))
			}
			(*e.TrafficClasses)[i] = c.String()
		}
	}
	if e.Share != nil && *e.Share != "guaranteed" && *e.Share != "greedy" {
		return errors.New("share must be guaranteed or greedy")
	}
	if e.MinNICs != nil {
		if n, ok := (*e.MinNICs).(float64); !ok && *e.MinNICs != "all" || ok && (n < 1 || n != float64(int(n))) {
			return errors.New(`min_nics must be a number of NICs, or "all"`)
		}
	}
	return nil
}

// outcome is what came of a job, its quotas counted.
type outcome struct {
	deny             *policy.Denial
	warnings, trials []string
}

// charge counts what the job wants against what is in use, as the server does.
func (c *testCase) charge(t *policy.Trace) outcome {
	o := outcome{t.Deny, slices.Clone(t.Warnings), slices.Clone(t.Trials)}
	if o.deny != nil {
		return o
	}
	for _, q := range t.Decision.Quotas {
		has := 0
		for _, u := range c.use {
			if u.quota == q.Name {
				has += u.has[q.Unit]
			}
		}
		over := q.Over(&t.Decision, has)
		if over == "" {
			continue
		}
		switch q.Enforce {
		case engine.EnforceWarn:
			o.warnings = append(o.warnings, over)
		case engine.EnforceDryRun:
			o.trials = append(o.trials, over)
		case engine.EnforceDeny:
			o.deny = &policy.Denial{Reason: string(q.Reason(&t.Decision)), What: over, By: quota(t, q.Name)}
			return o
		}
	}
	return o
}

func quota(t *policy.Trace, name string) *policy.Place {
	for _, b := range t.Blocks {
		if b.Kind == "quota" && b.Name == name {
			return &b.Place
		}
	}
	return nil
}

// against gives what is otherwise than expected.
func (e *Expect) against(t *policy.Trace, o outcome) []Difference {
	var out []Difference
	say := func(name, want, got string, by *policy.Place) {
		if want != got {
			out = append(out, Difference{name, want, got, by})
		}
	}
	switch {
	case e.Deny == nil && o.deny != nil:
		return []Difference{{"decision", "granted", "denied: " + o.deny.What, o.deny.By}}
	case e.Deny != nil && o.deny == nil:
		say("decision", "denied: … "+*e.Deny+" …", "granted", nil)
	case e.Deny != nil && !strings.Contains(o.deny.What, *e.Deny):
		say("deny", "… "+*e.Deny+" …", o.deny.What, o.deny.By)
	}
	d := &t.Decision
	by := func(name string) *policy.Place {
		for _, a := range t.Attributes {
			if a.Name == name {
				return &a.Set.Place
			}
		}
		return nil
	}
	if e.VNIs != nil {
		var names []string
		for i, v := range d.VNIs {
			if i <= len(d.VNIs)-int(d.Steps) { // all of vni "step" are one name
				names = append(names, v.Name)
			}
		}
		say("vnis", list(*e.VNIs), list(names), by("vnis"))
	}
	if e.TrafficClasses != nil {
		say("traffic_classes", list(slices.Sorted(slices.Values(*e.TrafficClasses))), list(slices.Sorted(slices.Values(d.Classes.Names()))), by("traffic_classes"))
	}
	var given core.Limits
	if len(d.Limits) > 0 {
		given = d.Limits[0]
	}
	for _, name := range slices.Sorted(maps.Keys(e.Limits)) {
		r, _ := core.ParseResource(name)
		if n := e.Limits[name].Reserved; n != nil {
			say(name+".reserved", fmt.Sprint(*n), fmt.Sprint(given[r].Reserved), by("limits"))
		}
		if n := e.Limits[name].Max; n != nil {
			say(name+".max", fmt.Sprint(*n), fmt.Sprint(given[r].Max), by("limits"))
		}
	}
	if e.Share != nil {
		got := "guaranteed"
		if d.Greedy {
			got = "greedy"
		}
		say("share", *e.Share, got, by("share"))
	}
	if e.MinNICs != nil {
		got := "all"
		if d.MinNICs > 0 {
			got = strconv.Itoa(d.MinNICs)
		}
		say("min_nics", fmt.Sprint(*e.MinNICs), got, by("min_nics"))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Floor)) {
		r, _ := core.ParseResource(name)
		say("floor."+name, fmt.Sprint(e.Floor[name]), fmt.Sprint(d.Floor[r]), by("floor"))
	}
	if e.Collectives != nil {
		say("collectives", fmt.Sprint(*e.Collectives), fmt.Sprint(d.Collectives), by("collectives"))
	}
	if e.Rules != nil {
		say("rules", list(*e.Rules), list(d.Rules), nil)
	}
	if e.Warnings != nil {
		parts("warnings", *e.Warnings, o.warnings, say)
	}
	if e.DryRun != nil {
		parts("dry_run", *e.DryRun, o.trials, say)
	}
	return out
}

func parts(name string, want, got []string, say func(name, want, got string, by *policy.Place)) {
	if len(want) != len(got) || !slices.EqualFunc(want, got, func(w, g string) bool { return strings.Contains(g, w) }) {
		say(name, list(want), list(got), nil)
	}
}

// list is names as they would be written in the file.
func list(names []string) string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		out = append(out, strconv.Quote(name))
	}
	return "[" + strings.Join(out, ", ") + "]"
}
