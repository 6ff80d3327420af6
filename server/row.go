package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
)

// The rows are what the operator's verbs print, with -o json as they are. Fields are only ever added.

// Status is the whole system in one look.
type Status struct {
	Version    string         `json:"version"`
	Store      string         `json:"store"`
	Epoch      uint64         `json:"epoch"`
	Revision   uint64         `json:"revision"`
	Up         string         `json:"up"` // since the server began to work
	Recovering bool           `json:"recovering"`
	Awaited    int            `json:"awaited"` // nodes that must report before anything is granted
	Cause      string         `json:"recovering_cause,omitempty"`
	Missing    string         `json:"awaited_nodes,omitempty"` // hostlist of the first of them
	Failure    string         `json:"failure,omitempty"`
	Policy     string         `json:"policy"`
	Refused    *Refusal       `json:"reload_refused,omitempty"`
	Shadow     *ShadowRow     `json:"shadow,omitempty"`
	Nodes      int            `json:"nodes"`
	Attached   int            `json:"attached"`
	Drained    int            `json:"drained"`
	TwoHosts   string         `json:"two_hosts,omitempty"` // hostlist of the first nodes whose certificate two hosts have
	Live       map[string]int `json:"reservations"`
	Vanished   int            `json:"vanished"`        // jobs of an alarm, which wait for `weft forget --vanished`
	Kept       int            `json:"kept"`            // jobs that their scheduler's answers lack, and that live by their nodes' word
	Blind      []string       `json:"blind,omitempty"` // why schedulers hide jobs, with the remedy
	Pools      []PoolRow      `json:"pools"`
	Expiry     time.Time      `json:"certificate_ends,omitzero"`
	Ending     *Ending        `json:"node_certificates_ending,omitempty"` // soon, of nodes that are connected, or of late
}

// ShadowRow is a policy that decides beside the one in force, and what it has seen, in numbers: which jobs they are is for operators only.
type ShadowRow struct {
	Policy  string    `json:"policy"` // hash
	Since   time.Time `json:"since"`
	Jobs    int       `json:"jobs"`
	Changed int       `json:"changed"` // that would have got something else
	Dropped int       `json:"dropped"` // that were not looked at
}

// PoolRow is the use of one pool.
type PoolRow struct {
	Pool string `json:"pool"`
	Size int    `json:"size"`
	Used int    `json:"used"`
	Free int    `json:"free"`
}

// JobRow is one reservation.
type JobRow struct {
	Serial     uint64     `json:"serial"`
	Job        string     `json:"job"`
	Scheduler  string     `json:"scheduler"`
	Generation uint32     `json:"generation"`
	UID        uint32     `json:"uid"`
	User       string     `json:"user,omitempty"`
	State      string     `json:"state"`
	Since      time.Time  `json:"since"`
	Made       time.Time  `json:"made"`
	VNIs       []core.VNI `json:"vnis"`
	Nodes      int        `json:"nodes"`
	Unclean    int        `json:"unclean"`
	Waits      string     `json:"waits,omitempty"` // what it waits for
	Unknown    bool       `json:"unknown,omitempty"`
}

// JobDetail is one reservation with all that is known of it. What only its owner and operators may see is empty for others.
type JobDetail struct {
	JobRow
	Account  string    `json:"account,omitempty"`
	Queue    string    `json:"queue,omitempty"`
	Classes  []string  `json:"traffic_classes"`
	Shares   []Share   `json:"shares,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	Policy   string    `json:"policy,omitempty"`
	Rules    []string  `json:"rules,omitempty"`
	Where    []JobNode `json:"where"`
	Got      []Got     `json:"got,omitempty"` // of the nodes that said that they are ready
}

// Got is what the job has on a set of nodes that say the same.
type Got struct {
	Nodes    string   `json:"nodes"` // hostlist
	NICs     []NICGot `json:"nics"`
	Warnings []string `json:"warnings,omitempty"` // how it differs from what was granted
}

// NICGot is what it has on each of a set of NICs.
type NICGot struct {
	NICs   string            `json:"nics"`   // hostlist
	Limits map[string][2]int `json:"limits"` // resource: reserved, max
}

// Share is a set of nodes with equal limits.
type Share struct {
	Hosts  string            `json:"hosts"`
	Cores  int               `json:"cores"`
	Limits map[string][2]int `json:"limits"` // resource: reserved, max; on each NIC
}

// JobNode is one node of a reservation.
type JobNode struct {
	Node  string `json:"node"`
	State string `json:"state"` // holds, clean, busy, away, lives
	Why   string `json:"why,omitempty"`
}

// VNIRow is one VNI that is not free, or that was asked for.
type VNIRow struct {
	VNI   core.VNI  `json:"vni"`
	Pool  string    `json:"pool,omitempty"`
	Name  string    `json:"name,omitempty"`
	State string    `json:"state"`
	Job   string    `json:"job,omitempty"`
	UID   uint32    `json:"uid"`
	User  string    `json:"user,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Nodes []string  `json:"nodes,omitempty"` // that are not clean
	Waits string    `json:"waits,omitempty"`

	serial uint64
}

// NodeRow is one node.
type NodeRow struct {
	Node      string   `json:"node"`
	State     string   `json:"state"` // up, away, never seen
	Away      string   `json:"away,omitempty"`
	Drained   string   `json:"drained,omitempty"`
	TwoHosts  string   `json:"two_hosts,omitempty"` // which hosts have its certificate
	NICs      []string `json:"nics"`
	Inventory []string `json:"inventory"`
	Jobs      int      `json:"jobs"` // whose services it may hold
	Boot      string   `json:"boot,omitempty"`
	Awaited   bool     `json:"awaited,omitempty"`

	Expiry time.Time `json:"certificate_ends,omitzero"` // as the node showed it when it connected; not while it is away, unless it has ended
}

func jobRow(v engine.View) JobRow {
	r := JobRow{
		Serial: v.Serial, Job: v.Job.Job, Scheduler: v.Job.Scheduler, Generation: v.Job.Generation, UID: v.Job.UID, User: v.Job.User,
		State: v.State.String(), Since: v.Since, Made: v.Made, VNIs: engine.VNIsOf(v.VNIs), Nodes: len(v.Nodes), Unknown: v.Unknown, Waits: waits(v),
	}
	for _, n := range v.Nodes {
		if !n.Clean {
			r.Unclean++
		}
	}
	return r
}

func vniRow(v core.VNI, view engine.View) VNIRow {
	r := VNIRow{VNI: v, serial: view.Serial, State: view.State.String(), Job: view.Job.JobID.String(), UID: view.Job.UID, User: view.Job.User, Since: view.Since, Waits: waits(view)}
	if view.Unknown {
		r.Job = ""
	}
	for _, t := range view.VNIs {
		if t.VNI == v {
			r.Pool, r.Name = t.Pool, t.Name
		}
	}
	for _, n := range view.Nodes {
		if !n.Clean {
			r.Nodes = append(r.Nodes, n.Node)
		}
	}
	return r
}

func jobDetail(v engine.View, full bool) JobDetail {
	d := JobDetail{JobRow: jobRow(v), Classes: v.Grant.Classes.Names()}
	for _, n := range v.Nodes {
		state := "holds"
		switch {
		case n.Clean:
			state = "clean"
		case !n.Attached:
			state = "away"
		case n.Busy:
			state = "busy"
		case n.Vouches:
			state, n.Why = "lives", "the node sees a process or an application of it; the scheduler's answers lack it"
		}
		d.Where = append(d.Where, JobNode{n.Node, state, n.Why})
	}
	if !full {
		return d
	}
	d.Account, d.Queue, d.Warnings, d.Policy, d.Rules = v.Job.Account, v.Job.Queue, v.Grant.Warnings, v.Grant.Policy, v.Grant.Rules
	for i, s := range v.Job.Placements {
		row := Share{Hosts: s.Hosts, Cores: s.Cores, Limits: map[string][2]int{}}
		if i < len(v.Grant.Limits) {
			row.Limits = limitsRow(v.Grant.Limits[i])
		}
		d.Shares = append(d.Shares, row)
	}
	d.Got = got(v.Nodes)
	return d
}

func limitsRow(limits core.Limits) map[string][2]int {
	row := make(map[string][2]int, len(limits))
	for r, l := range limits {
		row[core.Resource(r).String()] = [2]int{int(l.Reserved), int(l.Max)}
	}
	return row
}

func got(nodes []engine.NodeView) []Got {
	var out []Got
	alike := map[string][]string{} // nodes by what they say
	for _, n := range nodes {
		if n.Fit == nil {
			continue
		}
		said := fmt.Sprint(*n.Fit)
		if alike[said] == nil {
			g := Got{Nodes: said, Warnings: n.Fit.Warnings}
			for _, f := range n.Fit.NICs {
				g.NICs = append(g.NICs, NICGot{f.NICs, limitsRow(f.Limits)})
			}
			out = append(out, g)
		}
		alike[said] = append(alike[said], n.Node)
	}
	for i := range out {
		names := alike[out[i].Nodes]
		slices.SortFunc(names, hostlist.Compare)
		out[i].Nodes = hostlist.Fold(names)
	}
	return out
}

// waits says what a reservation waits for, in words.
func waits(v engine.View) string {
	switch v.State {
	case engine.Active:
		if v.Lost {
			return "an administrator: it vanished together with many others (`weft forget --vanished`)"
		}
		if v.Kept {
			return "its end: its scheduler's answers lack it, and a node sees that it lives; `weft forget` ends it"
		}
		return ""
	case engine.Quarantined:
		return "the end of its quarantine in " + v.Left.Round(time.Second).String()
	case engine.Held:
		return v.Why
	case engine.Draining:
	}
	left, busy := 0, 0
	first := ""
	for _, n := range v.Nodes {
		if n.Clean {
			continue
		}
		left++
		if n.Busy {
			busy++
		}
		if first == "" {
			first = n.Node
			if n.Why != "" {
				first += " (" + n.Why + ")"
			}
		}
	}
	switch {
	case left == 0:
		return ""
	case left == 1:
		return first + " to be clean"
	}
	return first + " and " + plural(left-1, "more node") + " to be clean"
}
