package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// Verbs answers the operator's verbs on the server's socket. Reading is for all, one's own jobs in full; writing is for root and for AdminGroup, and each
// such call leaves a line in the audit.
type Verbs struct {
	Server     *Server
	AdminGroup string
	Member     func(ctx context.Context, uid uint32, group string) bool // by the user database alone; nil: no
	Version    string
	Sizes      func() map[string]int       // VNIs of each pool
	Expiry     func() time.Time            // of the server's certificate; nil: it has none
	Shown      func() map[string]time.Time // when the certificates of the nodes that are connected end; nil: they have none
	Refused    func() *Refusal             // the last reload, where it was refused; nil: none is
	Shadow     func() *ShadowRow           // the policy that decides beside the one in force; nil: none does
	Read       map[string]listener.Handler // further verbs, for all
	More       map[string]listener.Handler // and for those who may write
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
	Count int    `json:"count"`
	Nodes string `json:"nodes,omitempty"` // hostlist
}

// Down stands in NodeArgs of the verb recover for the nodes that their schedulers call down.
const Down = "down"

// maxNamed bounds how many nodes one verb may name.
const maxNamed = 100_000

// maxReason bounds why a node is drained, in bytes: it stands in lists and in every scheduler's record of the node.
const maxReason = 512

// Handle is a listener.Handler.
func (d *Verbs) Handle(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	switch req.Verb {
	case "status":
		return d.status(ctx)
	case "jobs":
		return d.jobs(ctx, req)
	case "job":
		return d.job(ctx, peer, req)
	case "explain":
		return d.explain(ctx, peer, req)
	case "vnis":
		return d.vnis(ctx, req)
	case "nodes":
		return d.nodes(ctx, req)
	}
	if read := d.Read[req.Verb]; read != nil {
		return read(ctx, peer, req)
	}
	write := d.More[req.Verb]
	switch req.Verb {
	case "forget", "drain", "resume", "recover", "accept":
		write = d.write
	}
	if write == nil {
		return nil, core.Errorf(core.BadCall, "verb %q: the server has none of that name", core.Clip(req.Verb)).WithRemedy("is this `weft` newer than the server?")
	}
	var err error
	if req.Right, err = d.mayWrite(ctx, peer, req.Verb); err != nil {
		d.Server.auditor.Info(req.Verb, append(peer.Audited(req.ID, req.Right), core.LogReason, string(core.ReasonOf(err)), core.LogError, err.Error())...)
		return nil, err
	}
	return write(ctx, peer, req)
}

// mayWrite is the right of a caller to write.
func (d *Verbs) mayWrite(ctx context.Context, peer core.Peer, verb string) (right string, err error) {
	switch {
	case peer.Root():
		return "root", nil
	case int64(peer.UID) == int64(os.Geteuid()): // as with `weft dev`: this user could change the store as well
		return "the server's user", nil
	case d.Admin(ctx, peer):
		return "admin_group " + d.AdminGroup, nil
	}
	e := core.Errorf(core.NotAllowed, "%s: uid %d may not do it", verb, peer.UID)
	if d.AdminGroup != "" {
		return "", e.WithRemedy("root may, and users whom the user database of the server's host lists in group " + d.AdminGroup)
	}
	return "", e.WithRemedy("only root may; `admin_group` in config.hcl can name a group that may too")
}

// Admin reports whether the user database lists the caller in AdminGroup.
func (d *Verbs) Admin(ctx context.Context, peer core.Peer) bool {
	return d.AdminGroup != "" && d.Member != nil && d.Member(ctx, peer.UID, d.AdminGroup)
}

func (d *Verbs) status(ctx context.Context) (any, error) {
	s := Status{Version: d.Version, Live: map[string]int{}, Up: time.Since(d.Server.began).Round(time.Second).String()}
	if d.Expiry != nil {
		s.Expiry = d.Expiry()
	}
	if d.Shown != nil {
		s.Ending = EndingOf(d.Shown())
	}
	if d.Refused != nil {
		s.Refused = d.Refused()
	}
	if d.Shadow != nil {
		s.Shadow = d.Shadow()
	}
	if e := d.Server.Failure(); e != nil {
		s.Failure = e.Line()
		return s, nil
	}
	var awaited, twins []string
	err := d.Server.Look(ctx, func(m *engine.Machine) {
		h := m.Head()
		s.Store, s.Epoch, s.Revision = h.Store, h.Epoch, h.Revision
		f := m.Figures()
		s.Recovering, s.Awaited, s.Policy, s.Vanished = f.Recovering, f.Awaited, f.Policy, f.Vanished
		s.Kept, s.Cause, awaited, twins = f.Kept, f.Cause, m.Awaited(), f.Twins
		s.Nodes, s.Attached, s.Drained = f.Nodes, f.Attached, f.Drained
		for _, name := range slices.Sorted(maps.Keys(f.Blind)) {
			if why := f.Blind[name]; why != "" {
				s.Blind = append(s.Blind, why)
			}
		}
		for state, n := range f.Reservations {
			s.Live[state.String()] = n
		}
		for name, size := range d.Sizes() {
			s.Pools = append(s.Pools, PoolRow{name, size, f.Used[name], size - f.Used[name]})
		}
	})
	s.Missing, s.TwoHosts = some(awaited), some(twins)
	slices.SortFunc(s.Pools, func(a, b PoolRow) int { return cmp.Compare(a.Pool, b.Pool) })
	return s, err
}

// maxShown bounds the nodes of a kind that status names.
const maxShown = 256

// some names the first of many nodes.
func some(names []string) string {
	list := hostlist.Fold(names[:min(len(names), maxShown)])
	if len(names) > maxShown {
		list += ",…"
	}
	return list
}

// pageRows bounds the reservations of a page: while a look collects them nothing is granted, and anybody may list.
const pageRows = 2048

func (d *Verbs) jobs(ctx context.Context, req hook.Request) (any, error) {
	after := uint64(0)
	if req.Cursor != "" {
		var err error
		if after, err = strconv.ParseUint(req.Cursor, 10, 64); err != nil {
			return nil, badCursor(req)
		}
	}
	var rows []JobRow
	more := false
	err := d.Server.Look(ctx, func(m *engine.Machine) {
		for v := range m.Reservations(after) {
			if more = len(rows) == pageRows; more {
				return
			}
			rows = append(rows, jobRow(v))
		}
	})
	if err != nil {
		return nil, err
	}
	return page(req, rows, more, func(r JobRow) string { return fmt.Sprintf("%020d", r.Serial) })
}

// page is listener.Slice of rows that are not the list's last where there are more.
func page[T any](req hook.Request, rows []T, more bool, key func(T) string) (listener.Page, error) {
	p, err := listener.Slice(req, rows, key)
	if err == nil && more && p.Next == "" {
		p.Next = key(rows[len(rows)-1])
	}
	return p, err
}

func badCursor(req hook.Request) error {
	return core.Errorf(core.BadCall, "%s: %q is no place in its list", req.Verb, core.Clip(req.Cursor))
}

func (d *Verbs) job(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args JobArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	full := peer.Root() || d.Admin(ctx, peer)
	var views []engine.View
	err := d.Server.Look(ctx, func(m *engine.Machine) { views = d.find(m, args) })
	var out []JobDetail
	for _, v := range views {
		out = append(out, jobDetail(v, full || v.Job.UID == peer.UID))
	}
	if err == nil && len(out) == 0 {
		err = core.Errorf(core.NotThere, "job %q: nothing is held for it", core.Clip(args.Job)).WithRemedy("`weft jobs` lists what is; a job that asked for no network has no reservation")
	}
	return out, err
}

// find gives the reservations that args name. It looks at no others: there may be tens of thousands, and anybody may ask.
func (d *Verbs) find(m *engine.Machine, args JobArgs) []engine.View {
	if args.Serial != 0 {
		for v := range m.Reservations(args.Serial - 1) {
			if v.Serial == args.Serial {
				return []engine.View{v}
			}
			return nil
		}
		return nil
	}
	if scheduler, id, ok := strings.Cut(args.Job, "/"); ok {
		return m.Job(core.JobID{Scheduler: scheduler, Job: id})
	}
	out := m.Job(core.JobID{Job: args.Job}) // of unknown services
	for _, scheduler := range slices.Sorted(maps.Keys(d.Server.schedulers)) {
		out = append(out, m.Job(core.JobID{Scheduler: scheduler, Job: args.Job})...)
	}
	return out
}

func (d *Verbs) vnis(ctx context.Context, req hook.Request) (any, error) {
	var args JobArgs
	if len(req.Body) > 0 {
		if err := req.Decode(&args); err != nil {
			return nil, err
		}
	}
	from := core.VNI(1)
	if req.Cursor != "" {
		n, err := strconv.ParseUint(req.Cursor[:min(5, len(req.Cursor))], 10, 16)
		if err != nil {
			return nil, badCursor(req)
		}
		from = core.VNI(n)
	}
	var rows []VNIRow
	more := false
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
		for v := uint32(from); v <= math.MaxUint16; v++ {
			if more = len(rows) >= pageRows; more {
				return
			}
			for _, view := range m.Holders(core.VNI(v)) {
				rows = append(rows, vniRow(core.VNI(v), view))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b VNIRow) int { return cmp.Or(cmp.Compare(a.VNI, b.VNI), cmp.Compare(a.serial, b.serial)) })
	return page(req, rows, more, func(r VNIRow) string { return fmt.Sprintf("%05d %020d", r.VNI, r.serial) })
}

func (d *Verbs) nodes(ctx context.Context, req hook.Request) (any, error) {
	var rows []NodeRow
	var shown map[string]time.Time
	if d.Shown != nil {
		shown = d.Shown()
	}
	err := d.Server.Look(ctx, func(m *engine.Machine) {
		for _, n := range m.Nodes() {
			r := NodeRow{Node: n.Name, State: "up", Drained: n.Drained, TwoHosts: n.TwoHosts, NICs: n.Devices, Inventory: n.Inventory, Jobs: n.Open, Boot: n.Boot, Awaited: n.Awaited, Expiry: shown[n.Name]}
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
	return listener.Slice(req, rows, func(r NodeRow) string { return r.Node })
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
