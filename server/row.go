package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
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
	Rests      string         `json:"rests,omitempty"`         // until grants begin again, where no node is awaited
	Failure    string         `json:"failure,omitempty"`
	Lost       string         `json:"witness_lost,omitempty"` // why, with the remedy
	Policy     string         `json:"policy"`
	Servers    *ServersRow    `json:"servers,omitempty"`
	Refused    *Refusal       `json:"reload_refused,omitempty"`
	Shadow     *ShadowRow     `json:"shadow,omitempty"`
	Observed   *ObservedRow   `json:"observed,omitempty"`
	Nodes      int            `json:"nodes"`
	Attached   int            `json:"attached"`
	Drained    int            `json:"drained"`
	TwoHosts   string         `json:"two_hosts,omitempty"` // hostlist of the first nodes whose certificate two hosts have
	Live       map[string]int `json:"reservations"`
	Vanished   int            `json:"vanished"`        // jobs of an alarm, which wait for `weft forget --vanished`
	Kept       int            `json:"kept"`            // jobs that their scheduler's answers lack, and that live by their nodes' word
	Blind      []string       `json:"blind,omitempty"` // why schedulers hide jobs, with the remedy
	Silent     []Silent       `json:"silent_schedulers,omitempty"`
	Pools      []PoolRow      `json:"pools"`
	Expiry     time.Time      `json:"certificate_ends,omitzero"`
	Ending     *Ending        `json:"node_certificates_ending,omitempty"` // soon, of nodes that are connected, or of late
}

// ServersRow is what one of several servers knows of them.
type ServersRow struct {
	Name   string    `json:"name"`             // of the one that answers
	Leads  bool      `json:"leads"`            // it does
	Leader string    `json:"leader,omitempty"` // empty: none leads
	At     string    `json:"at,omitempty"`     // where the leader listens
	Since  time.Time `json:"since,omitzero"`   // when it began to lead
	Age    string    `json:"age,omitempty"`    // how old the answer of a standby is
	Warm   bool      `json:"warm"`             // a standby that can lead without waiting for nodes
	Fault  string    `json:"fault,omitempty"`  // why etcd does not answer
	Twin   string    `json:"twin,omitempty"`   // the host and address of another server with this one's name

	Members []MemberRow `json:"members,omitempty"`
	Etcd    []EtcdRow   `json:"etcd,omitempty"`
}

// MemberRow is one of the servers, by its own word of the last 10 s.
type MemberRow struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"` // where it listens for agents
	Version string `json:"version"`
	Leads   bool   `json:"leads"`
	Warm    bool   `json:"warm"`             // it can lead without waiting for nodes
	Behind  uint64 `json:"behind,omitempty"` // writes of the leader that it lacks
}

// EtcdRow is one endpoint of etcd.
type EtcdRow struct {
	Endpoint string `json:"endpoint"`
	Version  string `json:"version,omitempty"`
	Leads    bool   `json:"leads"` // etcd's members
	Bytes    int64  `json:"bytes"` // of its database
	Fault    string `json:"fault,omitempty"`
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
	Serial     uint64       `json:"serial"`
	Job        string       `json:"job"`
	Scheduler  string       `json:"scheduler"`
	Generation uint32       `json:"generation"`
	UID        uint32       `json:"uid"`
	User       string       `json:"user,omitempty"`
	State      string       `json:"state"`
	Since      time.Time    `json:"since"`
	Made       time.Time    `json:"made"`
	VNIs       core.VNIList `json:"vnis"`
	Nodes      int          `json:"nodes"`
	Unclean    int          `json:"unclean"`
	Waits      string       `json:"waits,omitempty"` // what it waits for
	Unknown    bool         `json:"unknown,omitempty"`
}

// VNIRow is one VNI that is not free, or that was asked for. Where no job has it, the row may be of several that follow one
// another and are alike.
type VNIRow struct {
	VNI   core.VNI  `json:"vni"`
	Last  core.VNI  `json:"last,omitempty"` // of several; 0: the row is of one
	Pool  string    `json:"pool,omitempty"`
	Name  string    `json:"name,omitempty"`
	State string    `json:"state"`
	Job   string    `json:"job,omitempty"`
	UID   uint32    `json:"uid"`
	User  string    `json:"user,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Nodes []string  `json:"nodes,omitempty"` // that are not clean, the first of them
	Waits string    `json:"waits,omitempty"`

	Unclean int `json:"unclean,omitempty"` // how many nodes are not clean
}

// FoldVNIs makes one row of several that no job has. The rows are sorted by their first VNI.
func FoldVNIs(rows []VNIRow) []VNIRow {
	out := []VNIRow{}        // never nil: it is [] in JSON
	open := map[string]int{} // rows of out that the next VNI may join
	for _, r := range rows {
		if r.Job != "" {
			out = append(out, r)
			continue
		}
		alike := r
		alike.VNI, alike.Last = 0, 0
		key := fmt.Sprint(alike)
		if at, is := open[key]; is && max(out[at].VNI, out[at].Last)+1 == r.VNI {
			out[at].Last = max(r.VNI, r.Last)
			continue
		}
		open[key] = len(out)
		out = append(out, r)
	}
	return out
}

// NodeRow is one node.
type NodeRow struct {
	Node      string   `json:"node"`
	State     string   `json:"state"` // up, away, never seen
	Away      string   `json:"away,omitempty"`
	Drained   string   `json:"drained,omitempty"`
	DrainedBy string   `json:"drained_by,omitempty"` // a person; empty: Weft
	TwoHosts  string   `json:"two_hosts,omitempty"`  // which hosts have its certificate
	NICs      []string `json:"nics"`
	Unusable  []string `json:"unusable,omitempty"` // of NICs, those that no job can use
	Inventory []string `json:"inventory"`
	Jobs      int      `json:"jobs"` // whose services it may hold
	Boot      string   `json:"boot,omitempty"`
	Awaited   bool     `json:"awaited,omitempty"`

	DrainedSince time.Time  `json:"drained_since,omitzero"`
	Schedulers   []ShownRow `json:"drained_in,omitempty"`

	Expiry time.Time `json:"certificate_ends,omitzero"` // as the node showed it when it connected; not while it is away, unless it has ended
}

// ShownRow is a scheduler's drain of a node.
type ShownRow struct {
	Scheduler string    `json:"scheduler"`
	Reason    string    `json:"reason"`
	By        string    `json:"by,omitempty"` // empty: Weft, or the scheduler does not tell
	Since     time.Time `json:"since,omitzero"`
}

func jobRow(v engine.View) JobRow {
	return JobRow{
		Serial: v.Serial, Job: v.Job.Job, Scheduler: v.Job.Scheduler, Generation: v.Job.Generation, UID: v.Job.UID, User: v.Job.User,
		State: v.State.String(), Since: v.Since, Made: v.Made, VNIs: engine.VNIsOf(v.VNIs), Nodes: v.Joined, Unclean: v.Unclean,
		Unknown: v.Unknown, Waits: waits(v),
	}
}

func vniRow(h engine.Holder) VNIRow {
	r := VNIRow{
		VNI: h.VNI, State: h.State.String(), Job: h.Job.JobID.String(), UID: h.Job.UID, User: h.Job.User,
		Since: h.Since, Waits: waits(h.View), Unclean: h.Unclean,
	}
	if h.Unknown {
		r.Job = ""
	}
	if at := taken(h.VNIs, h.VNI); at >= 0 {
		r.Pool, r.Name = h.VNIs[at].Pool, h.VNIs[at].Name
	}
	for _, d := range h.Steps {
		if d.VNI == h.VNI {
			r.Name = "step " + d.Step
		}
	}
	for _, n := range h.Some {
		r.Nodes = append(r.Nodes, n.Node)
	}
	slices.Sort(r.Nodes)
	return r
}

// taken is where v is in a reservation's VNIs. Thousands are sorted; a job's few need not be.
func taken(of []engine.Taken, v core.VNI) int {
	at, there := slices.BinarySearchFunc(of, v, func(t engine.Taken, v core.VNI) int { return cmp.Compare(t.VNI, v) })
	if there {
		return at
	}
	return slices.IndexFunc(of, func(t engine.Taken) bool { return t.VNI == v })
}

func nodeRow(n engine.NodeStatus, expiry time.Time) NodeRow {
	r := NodeRow{
		Node: n.Name, State: "up", Drained: n.Drained, NICs: n.Devices, Unusable: n.Unusable,
		Inventory: n.Inventory, Jobs: n.Jobs, Boot: n.Boot, Awaited: n.Awaited, Expiry: expiry, TwoHosts: n.TwoHosts, DrainedBy: n.DrainedBy, DrainedSince: n.DrainedAt,
	}
	for _, shown := range n.Shown {
		row := ShownRow{Scheduler: shown.Scheduler, Reason: shown.Reason, By: shown.By}
		if shown.Since != 0 {
			row.Since = time.Unix(shown.Since, 0).UTC()
		}
		r.Schedulers = append(r.Schedulers, row)
	}
	if n.Trouble != n.Drained && n.Trouble != "" { // somebody has drained it for another reason, too
		r.Drained += "; " + n.Trouble
	}
	switch {
	case !n.Attached && n.Boot == "":
		r.State = "never seen"
	case !n.Attached:
		r.State, r.Away = "away", n.Away.Round(time.Second).String()
	}
	return r
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
	if v.Unclean == 0 {
		return ""
	}
	first := slices.MinFunc(v.Some, func(a, b engine.NodeView) int { return strings.Compare(a.Node, b.Node) })
	text := first.Node
	if first.Why != "" {
		text += " (" + core.Cut(first.Why, maxWhy) + ")"
	}
	if v.Unclean > 1 {
		text += " and " + plural(v.Unclean-1, "more node")
	}
	return text + " to be clean"
}
