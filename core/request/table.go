// Package request is the one table of options: all that a user can ask of the network. A scheduler adapter reads it
// through a Dialect, which only says how its scheduler spells an option. Each combination means the same everywhere.
package request

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// MaxDepth is the greatest depth that a user can ask for, as switch/hpe_slingshot has it.
const MaxDepth = 1024

// option is a row of the table. It has one of flag, number and classes.
type option struct {
	names   []string
	example string // a value; a flag needs none
	help    string
	idle    string // why it has no effect; empty: it has one

	flag        func(r *core.Request, on bool)
	number      func(*core.Request, int)
	least, most int  // of a number
	begins      bool // switch/hpe_slingshot takes each word that begins with the first name for it
	classes     func(*core.Request) *core.Classes
}

// off is the option that voids all others.
const off = "off"

// table holds every option. No name begins with another, since switch/hpe_slingshot compares beginnings.
var table = append([]option{
	{
		names: []string{"vnis"}, example: "2", help: "this many VNIs of the job's own, at most what policy gives",
		number: func(r *core.Request, n int) { r.VNIs = n }, least: 1, most: core.MaxVNIs,
	},
	{
		names: []string{"job_vni"}, help: "a second VNI, for the whole job, at index 1 of `SLINGSHOT_VNIS`",
		flag: func(r *core.Request, on bool) { r.JobVNI = on },
	},
	{
		names: []string{"single_node_vni"}, help: "accepted: a job on one node has a VNI anyway",
		flag: func(r *core.Request, on bool) { r.SingleNode = on },
	},
	{
		names: []string{"tcs", "classes"}, example: "LOW_LATENCY:BULK_DATA", begins: true,
		help:    "these traffic classes instead of all that policy gives",
		classes: func(r *core.Request) *core.Classes { return &r.Classes },
	},
	{
		names: []string{"depth"}, example: "64", begins: true,
		help:   "stands in for the job's cores on a node where limits are counted by core",
		number: func(r *core.Request, n int) { r.Depth = n }, least: 1, most: MaxDepth,
	},
	{
		names: []string{"hwcoll", "collectives"},
		help:  "hardware collectives; a warning until a fabric backend makes them",
		flag:  func(r *core.Request, on bool) { r.Collectives = on },
	},
	{
		names: []string{off, "no_vni"},
		help:  "no VNI and no service, whatever else is asked for; what the submitting shell carried is unset",
		flag:  func(r *core.Request, on bool) { r.Off = on },
	},
	{
		names: []string{"adjust_limits"}, help: "accepted: limits are fitted to what a NIC has left, as without it",
		flag: func(r *core.Request, on bool) { r.Exact = !on },
	},
	{
		names: []string{"no_adjust_limits"},
		help:  "no reservation is fitted to what a NIC has left: where one cannot be had in full, the job does not start",
		flag:  func(r *core.Request, on bool) { r.Exact = on },
	},
	{
		names: []string{"nic_distribution_count"}, example: "2", idle: "a job has a service on every NIC of its nodes",
		number: func(*core.Request, int) {}, least: 1, most: 1<<16 - 1, begins: true,
	},
}, limits()...)

// refused are options of switch/hpe_slingshot that Weft does not give, and why.
var refused = map[string]string{
	"disable_rdzv_get": "a NIC has one switch for the rendezvous gets of all its jobs",
}

// limits are the three kinds of limit of each NIC resource, in the words of switch/hpe_slingshot.
func limits() (all []option) {
	for _, kind := range []struct {
		name, example, help string
		set                 func(*core.LimitRequest, *uint16)
	}{
		{
			"def_", "4", "reserve this many for each core",
			func(l *core.LimitRequest, n *uint16) { l.PerCore = n },
		},
		{
			"res_", "64", "reserve this many, at most what policy lets a job ask for",
			func(l *core.LimitRequest, n *uint16) { l.Reserved = n },
		},
		{
			"max_", "4096", "no more than this many, at most the maximum that policy gives",
			func(l *core.LimitRequest, n *uint16) { l.Max = n },
		},
	} {
		for n := range core.NumResources {
			all = append(all, option{
				names: []string{kind.name + n.String()}, example: kind.example, help: kind.help, most: 1<<16 - 1,
				number: func(r *core.Request, v int) {
					u := uint16(v) //nolint:gosec // at most 65535
					kind.set(&r.Limits[n], &u)
				},
			})
		}
	}
	return all
}

// form is how a person writes the option's value.
func (o *option) form() string {
	switch {
	case o.number != nil:
		return strconv.Itoa(o.least) + ".." + strconv.Itoa(o.most)
	case o.classes != nil:
		return "CLASS:CLASS"
	}
	return ""
}

// set puts a value into r, and reports whether it asks for something.
func (o *option) set(r *core.Request, value string) (asks bool, err error) {
	switch {
	case o.flag != nil:
		on, err := truth(value)
		o.flag(r, on)
		return on, err
	case value == "":
		return false, fmt.Errorf("its value is missing")
	case o.number != nil:
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil || int(n) < o.least || int(n) > o.most {
			return false, fmt.Errorf("%q is not a number from %d to %d", core.Clip(value), o.least, o.most)
		}
		o.number(r, int(n))
		return true, nil
	}
	*o.classes(r), err = traffic(value)
	return true, err
}

func truth(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "", "1", "true":
		return true, nil
	case "0", "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", core.Clip(value))
}

func traffic(value string) (all core.Classes, err error) {
	for name := range strings.SplitSeq(value, ":") {
		c, err := core.ParseClass(name)
		if err != nil {
			return 0, fmt.Errorf("%q is no traffic class; there are %s", core.Clip(name), strings.Join(core.ClassNames(), ", "))
		}
		all |= c
	}
	return all, nil
}
