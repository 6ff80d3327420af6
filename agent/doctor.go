package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// Site is what a doctor must know of the system beside what the node itself shows. A nil function knows nothing.
type Site struct {
	Checks  map[string]core.Checker // plugins that look for trouble by themselves, by kind and label: "driver cxi"
	Ours    func(core.VNI) bool     // is it of a pool or service of config.hcl
	Classes func() core.Classes     // that policy gives to some job that asks for none
	// Service is the data service of which the node is a server and whose block has all of the VNIs, or empty.
	Service func(node string, vnis []core.VNI) string
	// Observed is the label of a scheduler whose jobs are only observed, so that services are another manager's; empty: none.
	Observed func() string
	NICs     func() int // that each node has by config.hcl; 0: it does not say
}

// doctorLimit bounds an examination: a part that has not answered by then is a finding itself.
const doctorLimit = 20 * time.Second

// unreadLimit bounds a question to a driver that has not answered the agent.
const unreadLimit = 2 * time.Second

// FindingRow is one finding of `weft doctor`.
type FindingRow struct {
	Severity string   `json:"severity"` // good, notice, warning, critical
	Of       string   `json:"of"`       // who found it: node, or a plugin's kind and label
	What     string   `json:"what"`
	Evidence string   `json:"evidence,omitempty"`
	Remedy   string   `json:"remedy,omitempty"`
	NICs     []string `json:"nics,omitempty"` // that have it; none from an agent or a driver of an earlier release
}

// DoctorArgs bound an examination.
type DoctorArgs struct {
	Limit time.Duration `json:"limit,omitempty"` // 0: 20 s, which is also the most
}

// state is a node as an examination saw it.
type state struct {
	now        time.Time
	site       Site
	accepted   []string // NICs; empty: the server has not told
	devices    []core.Device
	devicesErr error
	services   []core.Service
	servErr    error
	lookErr    error
	orphans    []core.Service
	jobs       map[node.Process]core.JobID // that have an environment here
	missing    []node.Gone
	disabled   []core.Service // of jobs
	stuck      []node.Stuck
	users      map[uint32]bool // owners of runs here
	drain      core.Drain
	linked     bool
	outage     string // why the last session ended, or none began
	twoHosts   string
	bypass     time.Time
	bypassErr  error
}

// Doctor looks for trouble on this node: the NICs, the services, this agent, and what plugins find by themselves. The worst come first.
func (a *Agent) Doctor(ctx context.Context, site Site, limit time.Duration) []FindingRow {
	if limit <= 0 || limit > doctorLimit {
		limit = doctorLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var mu sync.Mutex
	found := map[string][]core.Finding{}
	var all sync.WaitGroup
	for of, c := range site.Checks {
		all.Go(func() {
			f := Checked(ctx, of, c)
			mu.Lock()
			defer mu.Unlock()
			found[of] = f
		})
	}
	var seen state
	all.Go(func() { seen = a.examine(ctx, site) })
	all.Wait()
	by := map[core.Severity][]FindingRow{}
	for of, some := range together(seen, found) {
		for _, f := range some {
			s := min(f.Severity, core.Critical)
			by[s] = append(by[s], FindingRow{s.String(), of, f.What, f.Evidence, f.Remedy, f.NICs})
		}
	}
	unusable := func(r FindingRow) bool { return strings.HasPrefix(r.Of, "driver ") }
	if slices.ContainsFunc(by[core.Critical], unusable) { // what the agent saw of the NICs is not all then
		by[core.Good] = slices.DeleteFunc(by[core.Good], func(r FindingRow) bool { return r.Of == OfNode })
	}
	for _, rows := range by { // the checks end in any order
		slices.SortStableFunc(rows, func(a, b FindingRow) int {
			return cmp.Or(-cmp.Compare(own(a), own(b)), cmp.Compare(a.Of, b.Of))
		})
	}
	return slices.Concat(by[core.Critical], by[core.Warning], by[core.Notice], by[core.Good])
}

// together adds the node's own findings to those of plugins, by who found them. A fault that both see is told once: a
// service by the plugin whose remedy removes it. The node tells anything else with the same evidence, or with the same
// remedy for the same NICs: a NIC that hangs kept each of them waiting for its own time.
func together(s state, found map[string][]core.Finding) map[string][]core.Finding {
	s.orphans = slices.DeleteFunc(slices.Clone(s.orphans), func(t core.Service) bool {
		for _, theirs := range found {
			if slices.ContainsFunc(theirs, func(f core.Finding) bool {
				return f.Severity == core.Critical && strings.Contains(f.Remedy, removal(&t))
			}) {
				return true
			}
		}
		return false
	})
	own := diagnose(s)
	for of := range found {
		found[of] = slices.DeleteFunc(slices.Clone(found[of]), func(f core.Finding) bool {
			return f.Severity == core.Critical && slices.ContainsFunc(own, func(o core.Finding) bool {
				alike := o.Evidence == f.Evidence && f.Evidence != "" ||
					o.Remedy == f.Remedy && len(f.NICs) > 0 && slices.Equal(o.NICs, f.NICs)
				return o.Severity == core.Critical && alike
			})
		})
	}
	found[OfNode] = own
	return found
}

// OfNode is FindingRow.Of of the agent's own findings, which come before those of plugins with the same severity.
const OfNode = "node"

func own(r FindingRow) int {
	if r.Of == OfNode {
		return 1
	}
	return 0
}

// maxWhy bounds each text of a row, in bytes.
const maxWhy = 1024

// Fitting gives as many rows as the reply to r holds, from the first, which is the worst; a last one says how many are
// left out.
func Fitting(r hook.Request, rows []FindingRow) []FindingRow {
	room := cmp.Or(r.Room, listener.DefaultReply) - maxWhy
	for i := range rows {
		f := &rows[i]
		f.What, f.Evidence, f.Remedy = core.Cut(f.What, maxWhy), core.Cut(f.Evidence, maxWhy), core.Cut(f.Remedy, maxWhy)
		text, _ := json.Marshal(f)
		if room -= len(text) + 1; room < 0 {
			return append(rows[:i:i], FindingRow{
				Severity: f.Severity, Of: f.Of, What: fmt.Sprintf("findings that are not shown: %d", len(rows)-i),
				Remedy: "mend those that are shown, and ask again",
			})
		}
	}
	return rows
}

// Checked asks one plugin. One that does not answer is trouble too; the call is left behind then, since a plugin in this process may not heed its context.
func Checked(ctx context.Context, of string, c core.Checker) []core.Finding {
	type answer struct {
		found []core.Finding
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		found, err := c.Check(ctx)
		done <- answer{found, err}
	}()
	var got answer
	select {
	case got = <-done:
	case <-ctx.Done():
		got.err = core.Errorf(core.TimedOut, "%s: it did not answer in time", of)
	}
	if got.err != nil {
		e := core.AsError(got.err)
		return []core.Finding{{Severity: core.Warning, What: of + " cannot look for trouble", Evidence: e.What, Remedy: "`weft plugin list` shows why; the daemon's log has its last words"}}
	}
	return got.found
}

// examine gathers what there is to see. What cannot be seen is noted, and the rest is seen all the same.
func (a *Agent) examine(ctx context.Context, site Site) state {
	s := state{now: time.Now(), site: site, users: map[uint32]bool{}}
	var before []core.Service
	var unread *core.Error
	s.lookErr = a.Look(ctx, func(m *node.Machine) { before, unread = m.Standing(), m.Unread() })
	if s.lookErr != nil {
		return s
	}
	within := ctx
	if unread != nil { // the driver may still keep every caller waiting, or may have been repaired just now
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, unreadLimit)
		defer cancel()
	}
	s.devices, s.devicesErr = a.needs.Driver.Devices(within)
	if s.devicesErr == nil || unread == nil {
		s.services, s.servErr = a.needs.Driver.Services(within)
	}
	if unread != nil && s.devicesErr != nil {
		s.devicesErr, s.servErr = unread, unread
	}
	s.lookErr = a.Look(ctx, func(m *node.Machine) {
		s.orphans, s.missing, s.stuck, s.drain = m.Orphans(s.services), m.Missing(s.services, s.devices), m.Stuck(), m.Drain()
		for _, e := range m.Entries() {
			if e.State != node.Clean {
				s.users[e.UID] = true
			}
			for _, t := range s.services {
				if e.State == node.Ready && !t.Enabled && slices.ContainsFunc(e.Services, t.Same) {
					s.disabled = append(s.disabled, t)
				}
			}
		}
	})
	s.jobs = a.unrecorded()
	s.missing = slices.DeleteFunc(s.missing, func(g node.Gone) bool { return !slices.ContainsFunc(before, g.Same) })
	told := a.devices.Load()
	news := s.devicesErr == nil && (unread != nil || told != nil && !slices.Equal(*told, s.devices))
	if (news || len(s.orphans)+len(s.missing) > 0) && s.lookErr == nil { // the server is to know as soon as who asked does
		s.lookErr = a.Reread(ctx)
	}
	a.mu.Lock()
	s.linked = a.session != nil && a.session.up
	a.mu.Unlock()
	s.outage = cmp.Or(a.outage.why(), "the server has not answered yet")
	if told := a.twoHosts.Load(); told != nil {
		s.twoHosts = *told
	}
	if told := a.accepted.Load(); told != nil {
		s.accepted = *told
	}
	if a.needs.Rundir != "" {
		until, on, err := a.needs.Rundir.Bypass(s.now)
		if s.bypassErr = err; on {
			s.bypass = until
		}
	}
	return s
}
