package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// JobDetail is one reservation in full. Only its owner and operators see every field.
type JobDetail struct {
	JobRow
	Account  string    `json:"account,omitempty"`
	Queue    string    `json:"queue,omitempty"`
	Classes  []string  `json:"traffic_classes"`
	Shares   []Share   `json:"shares,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	Steps    []StepRow `json:"steps,omitempty"` // that live and have a VNI of the job's, or share one on several nodes
	Policy   string    `json:"policy,omitempty"`
	Rules    []string  `json:"rules,omitempty"`
	Where    []JobNode `json:"where"`
	Got      []Got     `json:"got,omitempty"` // of the nodes that said that they are ready
}

// StepRow is a step that lives.
type StepRow struct {
	Step  string   `json:"step"`
	VNI   core.VNI `json:"vni,omitempty"` // 0: it shares the job's
	Nodes int      `json:"nodes"`
}

// Got has the resources of the job on a set of nodes that say the same.
type Got struct {
	Nodes    string   `json:"nodes"` // hostlist
	NICs     []NICGot `json:"nics"`
	Warnings []string `json:"warnings,omitempty"` // of less than the grant
}

// NICGot has the resources on each of a set of NICs.
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

// job shows reservations whole. A job may have more nodes than a reply holds, so they come in parts.
func (d *Verbs) job(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args JobArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	full := peer.Root() || d.Admin(ctx, peer)
	var found []engine.View
	if err := d.Server.Look(ctx, func(m *engine.Machine) { found = d.find(m, args) }); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		may := func(uid uint32) bool { return full || uid == peer.UID }
		if rows := d.refusalOf(args, may); len(rows) > 0 {
			return listener.Slice(req, rows, func(r jobPart) string { return fmt.Sprintf(partKey, r.Serial, r.at) })
		}
		return nil, notHeld(args)
	}
	slices.SortFunc(found, func(a, b engine.View) int { return cmp.Compare(a.Serial, b.Serial) })
	var rows []jobPart
	for _, v := range found {
		nodes, err := d.nodesOf(ctx, v.Serial)
		if err != nil {
			return nil, err
		}
		rows = append(rows, parts(jobDetail(v, nodes, full || v.Job.UID == peer.UID))...)
	}
	return listener.Slice(req, rows, func(r jobPart) string { return fmt.Sprintf(partKey, r.Serial, r.at) })
}

// partKey is the order of the parts of reservations.
const partKey = "%020d %06d"

func notHeld(args JobArgs) error {
	return core.Errorf(core.NotThere, "job %q: nothing is held for it", core.Clip(args.Job)).
		WithRemedy("`weft jobs` lists what is; a job that asked for no network has no reservation")
}

// lookNodes bounds the nodes of one look.
const lookNodes = 2048

// nodesOf are all nodes of a reservation.
func (d *Verbs) nodesOf(ctx context.Context, serial uint64) (nodes []engine.NodeView, err error) {
	for more := true; more && err == nil; {
		var some []engine.NodeView
		err = d.Server.Look(ctx, func(m *engine.Machine) { some = m.NodesOf(serial, len(nodes), lookNodes) })
		if err == nil {
			nodes, more = append(nodes, some...), len(some) == lookNodes
		}
	}
	return nodes, err
}

// maxSteps bounds the steps that a job shows, so that they fit into a reply.
const maxSteps = 256

// maxPart bounds the nodes, and the shares, of one part of a job, so that it fits into a reply; maxWhy is in bytes.
const (
	maxPart = 32
	maxWhy  = 1024
)

// jobPart is a row of a job: the first, or one of those behind it.
type jobPart struct {
	JobDetail
	at int
}

// parts are rows that Joined makes d of again. Those behind the first have only the further nodes of d.
func parts(d JobDetail) (all []jobPart) {
	shares, where, got := d.Shares, d.Where, d.Got
	for part := d; ; part = (JobDetail{JobRow: JobRow{Serial: d.Serial}}) {
		part.Shares, shares = cut(shares)
		part.Where, where = cut(where)
		part.Got, got = cut(got)
		if all = append(all, jobPart{part, len(all)}); len(shares)+len(where)+len(got) == 0 {
			return all
		}
	}
}

func cut[T any](list []T) (first, rest []T) {
	n := min(len(list), maxPart)
	return list[:n:n], list[n:]
}

// Joined puts the parts of each reservation together.
func Joined(rows []JobDetail) (jobs []JobDetail) {
	for _, r := range rows {
		last := len(jobs) - 1
		if last < 0 || jobs[last].Serial != r.Serial {
			jobs = append(jobs, r)
			continue
		}
		jobs[last].Shares = append(jobs[last].Shares, r.Shares...)
		jobs[last].Where = append(jobs[last].Where, r.Where...)
		jobs[last].Got = append(jobs[last].Got, r.Got...)
	}
	return jobs
}

func jobDetail(v engine.View, nodes []engine.NodeView, full bool) JobDetail {
	d := JobDetail{JobRow: jobRow(v), Classes: v.Grant.Classes.Names()}
	slices.SortFunc(nodes, func(a, b engine.NodeView) int { return strings.Compare(a.Node, b.Node) })
	for _, n := range nodes {
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
		d.Where = append(d.Where, JobNode{n.Node, state, core.Cut(n.Why, maxWhy)})
	}
	if !full {
		return d
	}
	d.Account, d.Queue = v.Job.Account, v.Job.Queue
	d.Warnings, d.Policy, d.Rules = v.Grant.Warnings, v.Grant.Policy, v.Grant.Rules
	for _, s := range v.Steps[:min(len(v.Steps), maxSteps)] {
		d.Steps = append(d.Steps, StepRow{s.Step, s.VNI, s.Nodes})
	}
	for i, s := range v.Job.Placements {
		row := Share{Hosts: s.Hosts, Cores: s.Cores, Limits: map[string][2]int{}}
		if i < len(v.Grant.Limits) {
			row.Limits = limitsRow(v.Grant.Limits[i])
		}
		d.Shares = append(d.Shares, row)
	}
	d.Got = got(nodes)
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
	alike := map[string][]string{} // nodes by their answer
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
