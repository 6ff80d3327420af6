package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
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
	Began      time.Time                   // the process; zero: with Server
	Sizes      func() map[string]int       // VNIs of each pool
	Expiry     func() time.Time            // of the server's certificate; nil: it has none
	Shown      func() map[string]time.Time // when the certificates of the nodes that are connected end; nil: they have none
	Refused    func() *Refusal             // the last reload, where it was refused; nil: none is
	Shadow     func() *ShadowRow           // the policy that decides beside the one in force; nil: none does
	Election   func() *ServersRow          // of several servers; nil: there is one
	Lost       func() string               // why the store's witness is lost, with the remedy; nil: there is none
	Read       map[string]listener.Handler // further verbs, for all
	Local      map[string]listener.Handler // and for those who may write, on any server
	More       map[string]listener.Handler // on the one that leads
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
	Why   string `json:"why,omitempty"`   // no more
	Told  []Told `json:"told,omitempty"`  // of a drain or a resume
	Away  string `json:"away,omitempty"`  // hostlist of those whose agents are out of contact, of a resume

	Before  []string `json:"before,omitempty"`  // of a drain: the reasons in Weft that the new one replaces
	Refused []string `json:"refused,omitempty"` // of several nodes: why some of them stay as they were
}

// Down stands in NodeArgs of the verb recover for the nodes that their schedulers call down.
const Down = "down"

// maxNamed bounds how many nodes one verb may name.
const maxNamed = 100_000

// maxReason bounds why a node is drained, in bytes: it stands in lists and in every scheduler's record of the node.
const maxReason = 512

func (d *Verbs) handle(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
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
	write := d.Local[req.Verb]
	if write == nil {
		if err := d.Server.standby(req.Verb); err != nil {
			return nil, err
		}
		write = d.More[req.Verb]
	}
	switch req.Verb {
	case "forget", "drain", "resume", "recover", "accept":
		write = d.write
	case VerbAsk:
		write = d.ask
	case VerbObserve:
		write = d.observe
	case VerbBackup:
		write = d.backup
	}
	if write == nil {
		return nil, core.Errorf(core.BadCall, "verb %q: the server has none of that name", core.Clip(req.Verb)).WithRemedy("is this `weft` newer than the server?")
	}
	var err error
	if req.Right, err = d.mayWrite(ctx, peer, asWritten(req)); err != nil {
		d.Server.auditor.Info(req.Verb, append(peer.Audited(req.ID, req.Right), core.LogReason, string(core.ReasonOf(err)), core.LogError, err.Error())...)
		return nil, err
	}
	return write(ctx, peer, req)
}

// asWritten is a verb as its caller wrote it.
func asWritten(req hook.Request) string {
	var args AskArgs
	if req.Verb == VerbAsk && req.Decode(&args) == nil {
		return core.Clip(args.Verb) + " --all"
	}
	return req.Verb
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
	s := Status{Version: d.Version, Live: map[string]int{}, Up: time.Since(cmp.Or(d.Began, d.Server.began)).Round(time.Second).String()}
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
	if d.Election != nil {
		s.Servers = d.Election()
	}
	s.Observed = d.Server.Observed()
	if d.Lost != nil {
		s.Lost = d.Lost()
	}
	if e := d.Server.Failure(); e != nil {
		s.Failure = e.Line()
		return s, nil
	}
	f, err := d.Server.Figures(ctx)
	if err != nil {
		return s, err
	}
	var awaited []string
	err = d.Server.Look(ctx, func(m *engine.Machine) {
		h := m.Head()
		s.Store, s.Epoch, s.Revision = h.Store, h.Epoch, h.Revision
		awaited = m.Awaited()
	})
	s.Recovering, s.Cause, s.Awaited, s.Missing = f.Recovering, f.Cause, f.Awaited, some(awaited)
	s.Policy, s.Vanished, s.Kept, s.Nodes, s.Attached, s.Drained = f.Policy, f.Vanished, f.Kept, f.Nodes, f.Attached, f.Drained
	if f.Rests > 0 {
		s.Rests = f.Rests.Round(time.Second).String()
	}
	s.TwoHosts = some(f.Twins)
	for _, name := range slices.Sorted(maps.Keys(f.Blind)) {
		if why := f.Blind[name]; why != "" {
			s.Blind = append(s.Blind, why)
		}
	}
	if d.Server.needs.Following == nil {
		s.Silent = slices.DeleteFunc(d.Server.Silent(), func(one Silent) bool { return f.Blind[one.Scheduler] != "" })
	}
	for state, n := range f.Reservations {
		s.Live[state.String()] = n
	}
	sizes := d.Sizes()
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		s.Pools = append(s.Pools, PoolRow{name, sizes[name], f.Used[name], sizes[name] - f.Used[name]})
	}
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

func (d *Verbs) jobs(ctx context.Context, req hook.Request) (any, error) {
	after := uint64(0)
	if req.Cursor != "" {
		var err error
		if after, err = strconv.ParseUint(req.Cursor, 10, 64); err != nil {
			return nil, badCursor(req)
		}
	}
	views, more, err := collect(ctx, d.Server, func(m *engine.Machine, got []engine.View) iter.Seq[engine.View] {
		if len(got) > 0 {
			after = got[len(got)-1].Serial
		}
		return m.Reservations(after)
	})
	if err != nil {
		return nil, err
	}
	rows := make([]JobRow, len(views))
	for i, v := range views {
		rows[i] = jobRow(v)
	}
	return page(req, rows, more, func(r JobRow) string { return fmt.Sprintf("%020d", r.Serial) })
}

// find gives the reservations that args name. It looks at no others: there may be tens of thousands, and anybody may ask.
func (d *Verbs) find(m *engine.Machine, args JobArgs) []engine.View {
	if args.Serial != 0 {
		for v := range m.Reservations(args.Serial - 1) {
			if v.Serial == args.Serial {
				return []engine.View{v}
			}
			break
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
	first, after := max(core.VNI(args.VNI), 1), uint64(0)
	if req.Cursor != "" {
		if n, err := fmt.Sscanf(req.Cursor, vniKey, &first, &after); n != 2 || err != nil {
			return nil, badCursor(req)
		}
	}
	pool := ""
	holders, more, err := collect(ctx, d.Server, func(m *engine.Machine, got []engine.Holder) iter.Seq[engine.Holder] {
		if len(got) > 0 {
			last := got[len(got)-1]
			first, after = last.VNI, last.Serial
		}
		last := core.VNI(math.MaxUint16)
		if args.VNI != 0 {
			pool, last = m.PoolOf(first), first
		}
		return m.Holders(first, last, after)
	})
	switch {
	case err != nil:
		return nil, err
	case args.VNI == 0 || req.Cursor != "" || len(holders) > 0:
	case pool == "":
		return []VNIRow{{VNI: first, State: "of no pool"}}, nil
	default:
		return []VNIRow{{VNI: first, State: "free", Pool: pool}}, nil
	}
	return vniPage(req, holders, more)
}

// vniPage is of the first holders, as many as a reply holds when their rows are folded.
func vniPage(req hook.Request, holders []engine.Holder, more bool) (listener.Page, error) {
	rows := make([]VNIRow, len(holders))
	for i, h := range holders {
		rows[i] = vniRow(h)
	}
	for n := len(rows); ; n /= 2 {
		body, err := json.Marshal(FoldVNIs(rows[:n]))
		if err != nil {
			return listener.Page{}, core.Errorf(core.InternalFault, "list of VNIs: %w", err)
		}
		if len(body) > cmp.Or(req.Room, listener.DefaultReply)-len(vniKey) && n > 1 {
			continue
		}
		page := listener.Page{Body: json.RawMessage(body)}
		if more || n < len(rows) {
			page.Next = fmt.Sprintf(vniKey, holders[n-1].VNI, holders[n-1].Serial)
		}
		return page, nil
	}
}

// vniKey is the order of holders.
const vniKey = "%05d %020d"

func (d *Verbs) nodes(ctx context.Context, req hook.Request) (any, error) {
	var shown map[string]time.Time
	if d.Shown != nil {
		shown = d.Shown()
	}
	after := req.Cursor
	nodes, more, err := collect(ctx, d.Server, func(m *engine.Machine, got []engine.NodeStatus) iter.Seq[engine.NodeStatus] {
		if len(got) > 0 {
			after = got[len(got)-1].Name
		}
		return m.Nodes(after)
	})
	if err != nil {
		return nil, err
	}
	rows := make([]NodeRow, len(nodes))
	for i, n := range nodes {
		rows[i] = nodeRow(n, shown[n.Name])
	}
	return page(req, rows, more, func(r NodeRow) string { return r.Node })
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
