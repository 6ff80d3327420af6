package server

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hook"
)

// Desk answers the operator's verbs on the server's socket. Reading is for all, one's own jobs in full; writing is for root and for AdminGroup, and each
// such call leaves a line in the audit.
type Desk struct {
	Server     *Server
	AdminGroup string
	Version    string
	Sizes      func() map[string]int // VNIs of each pool
}

// JobArgs name a job, or a reservation by its serial.
type JobArgs struct {
	Job       string `json:"job,omitempty"` // SCHEDULER/ID, or ID where that is unique
	Serial    uint64 `json:"serial,omitempty"`
	VNI       uint16 `json:"vni,omitempty"`
	Vanished  bool   `json:"vanished,omitempty"`
	Confirmed bool   `json:"confirmed,omitempty"`
}

// NodeArgs name nodes.
type NodeArgs struct {
	Nodes  string `json:"nodes"` // hostlist
	Reason string `json:"reason,omitempty"`
}

// Count is how many things a verb touched.
type Count struct {
	Count int `json:"count"`
}

// maxNamed bounds how many nodes one verb may name.
const maxNamed = 100_000

// maxReason bounds why a node is drained, in bytes: it stands in lists and in every scheduler's record of the node.
const maxReason = 512

// Handle is a hook.Handler.
func (d *Desk) Handle(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	switch req.Verb {
	case "status":
		return d.status(ctx)
	case "jobs":
		return d.jobs(ctx, req)
	case "job":
		return d.job(ctx, peer, req)
	case "vnis":
		return d.vnis(ctx, req)
	case "nodes":
		return d.nodes(ctx, req)
	case "forget", "drain", "resume", "recover", "accept":
		if err := d.mayWrite(peer, req.Verb); err != nil {
			d.Server.auditor.line(req.Verb, append(operator(peer, req), core.LogReason, string(reason(err)), core.LogError, err.Error())...)
			return nil, err
		}
		n, err := d.write(ctx, peer, req)
		return Count{n}, err
	}
	return nil, core.Errorf(core.BadCall, "verb %q: the server has none of that name", core.Clip(req.Verb)).WithMend("is this `weft` newer than the server?")
}

func (d *Desk) mayWrite(peer core.Peer, verb string) error {
	if peer.Root() || d.admin(peer) {
		return nil
	}
	e := core.Errorf(core.NotAllowed, "%s: uid %d may not do it", verb, peer.UID)
	if d.AdminGroup != "" {
		return e.WithMend("root may, and members of group " + d.AdminGroup)
	}
	return e.WithMend("only root may; `admin_group` in config.hcl can name a group that may too")
}

// admin looks the caller up at the system's own databases; what it says of its groups is not asked.
func (d *Desk) admin(peer core.Peer) bool {
	if d.AdminGroup == "" {
		return false
	}
	g, err := user.LookupGroup(d.AdminGroup)
	if err != nil {
		return false
	}
	if strconv.FormatUint(uint64(peer.GID), 10) == g.Gid {
		return true
	}
	u, err := user.LookupId(strconv.FormatUint(uint64(peer.UID), 10))
	if err != nil {
		return false
	}
	ids, err := u.GroupIds()
	return err == nil && slices.Contains(ids, g.Gid)
}

func (d *Desk) status(ctx context.Context) (any, error) {
	s := Status{Version: d.Version, Live: map[string]int{}, Up: time.Since(d.Server.began).Round(time.Second).String()}
	if e := d.Server.Failure(); e != nil {
		s.Failure = e.Line()
		return s, nil
	}
	err := d.Server.Look(ctx, func(m *engine.Machine) {
		h := m.Head()
		s.Store, s.Epoch, s.Revision = h.Store, h.Epoch, h.Revision
		s.Recovering, s.Awaited, s.Policy = m.Recovering(), m.Awaited(), m.Policy()
		s.Vanished = m.Vanished()
		for state, n := range m.Live() {
			s.Live[state.String()] = n
		}
		for _, n := range m.Nodes() {
			s.Nodes++
			if n.Attached {
				s.Attached++
			}
			if n.Drained != "" {
				s.Drained++
			}
		}
		use := m.Use()
		for name, size := range d.Sizes() {
			s.Pools = append(s.Pools, PoolRow{name, size, use[name], size - use[name]})
		}
	})
	slices.SortFunc(s.Pools, func(a, b PoolRow) int { return cmp.Compare(a.Pool, b.Pool) })
	return s, err
}

func (d *Desk) jobs(ctx context.Context, req hook.Request) (any, error) {
	var rows []JobRow
	err := d.Server.Look(ctx, func(m *engine.Machine) {
		for v := range m.Reservations(0) {
			rows = append(rows, jobRow(v))
		}
	})
	if err != nil {
		return nil, err
	}
	return hook.Slice(req, rows, func(r JobRow) string { return fmt.Sprintf("%020d", r.Serial) })
}

func (d *Desk) job(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args JobArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	full := peer.Root() || d.admin(peer)
	var out []JobDetail
	err := d.Server.Look(ctx, func(m *engine.Machine) {
		for _, v := range find(m, args) {
			out = append(out, jobDetail(v, full || v.Job.UID == peer.UID))
		}
	})
	if err == nil && len(out) == 0 {
		err = core.Errorf(core.NotThere, "job %q: nothing is held for it", core.Clip(args.Job)).WithMend("`weft jobs` lists what is; a job that asked for no network has no reservation")
	}
	return out, err
}

// find gives the reservations that args name.
func find(m *engine.Machine, args JobArgs) []engine.View {
	var out []engine.View
	for v := range m.Reservations(0) {
		switch {
		case args.Serial != 0:
			if v.Serial != args.Serial {
				continue
			}
		case args.Job != v.Job.Job && args.Job != v.Job.JobID.String():
			continue
		}
		out = append(out, v)
	}
	return out
}

func (d *Desk) vnis(ctx context.Context, req hook.Request) (any, error) {
	var args JobArgs
	if len(req.Body) > 0 {
		if err := req.Decode(&args); err != nil {
			return nil, err
		}
	}
	var rows []VNIRow
	err := d.Server.Look(ctx, func(m *engine.Machine) {
		if args.VNI != 0 {
			for _, v := range m.Holders(core.VNI(args.VNI)) {
				rows = append(rows, vniRow(core.VNI(args.VNI), v))
			}
			if len(rows) == 0 {
				rows = append(rows, VNIRow{VNI: core.VNI(args.VNI), State: "free", Pool: m.PoolOf(core.VNI(args.VNI))})
				if rows[0].Pool == "" {
					rows[0].State = "of no pool"
				}
			}
			return
		}
		for v := range m.Reservations(0) {
			for _, t := range v.VNIs {
				rows = append(rows, vniRow(t.VNI, v))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	key := func(r VNIRow) string { return fmt.Sprintf("%05d %s %s", r.VNI, r.Job, r.Nodes) }
	slices.SortStableFunc(rows, func(a, b VNIRow) int { return cmp.Compare(key(a), key(b)) })
	return hook.Slice(req, rows, key)
}

func (d *Desk) nodes(ctx context.Context, req hook.Request) (any, error) {
	var rows []NodeRow
	err := d.Server.Look(ctx, func(m *engine.Machine) {
		for _, n := range m.Nodes() {
			r := NodeRow{Node: n.Name, State: "up", Drained: n.Drained, NICs: n.Devices, Inventory: n.Inventory, Jobs: n.Open, Boot: n.Boot, Awaited: n.Awaited}
			switch {
			case !n.Attached && n.Boot == "":
				r.State = "never seen"
			case !n.Attached:
				r.State, r.Away = "away", n.Away.Round(time.Second).String()
			}
			rows = append(rows, r)
		}
	})
	if err != nil {
		return nil, err
	}
	return hook.Slice(req, rows, func(r NodeRow) string { return r.Node })
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
