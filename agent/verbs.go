package agent

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// Verbs answers calls on a node's sockets: hooks, and what an operator or a job's owner wants to see of the node.
type Verbs struct {
	Agent *Agent
	More  map[string]listener.Handler // further verbs, by name: those of an adapter
	Site  Site
}

// Verbs that the server may ask for, too.
const (
	VerbServices = "services"
	VerbDoctor   = "doctor"
)

// EnvArgs name a job.
type EnvArgs struct {
	Scheduler string `json:"scheduler"` // its instance's label; empty: the one whose job of that id this node holds for the caller
	Job       string `json:"job"`
}

// EnvRow is one variable of a job's environment.
type EnvRow struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	Unset bool   `json:"unset,omitempty"`
}

// ServiceRow is one service on one NIC of the node.
type ServiceRow struct {
	Device  string            `json:"device"`
	Service uint32            `json:"service"`
	Owner   string            `json:"owner"`
	VNIs    core.VNIList      `json:"vnis"`
	Classes []string          `json:"traffic_classes"`
	Limits  map[string][3]int `json:"limits"` // resource: reserved, max, in use
	Kind    string            `json:"kind"`   // job, system, default, service (a data service's own, on its server), unknown
	Job     string            `json:"job,omitempty"`
	Enabled bool              `json:"enabled"`
	LNIs    uint16            `json:"lnis_per_rgid,omitempty"`
}

// Handle is a listener.Handler.
func (d *Verbs) Handle(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	switch req.Verb {
	case "hook":
		var call core.HookCall
		if err := req.Decode(&call); err != nil {
			return nil, err
		}
		call.ID, call.Began, call.Peer = req.ID, req.Began, peer
		reply, err := d.Agent.Hook(ctx, call)
		if err == nil && req.Lines {
			return append(hook.Text{}, reply.Stdout...), nil
		}
		return reply, err
	case "env":
		return d.env(ctx, peer, req)
	case VerbServices:
		return d.services(ctx, req)
	case VerbDoctor:
		return d.doctor(ctx, peer, req)
	case auditClean:
		return d.clean(ctx, peer, req)
	}
	if more := d.More[req.Verb]; more != nil {
		return more(ctx, peer, req)
	}
	return nil, core.Errorf(core.BadCall, "verb %q: the agent has none of that name", core.Clip(req.Verb)).WithRemedy("is this `weft` newer than the agent?")
}

// env is a job's environment, for its owner and root.
func (d *Verbs) env(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args EnvArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	job, err := d.named(ctx, peer, core.JobID{Scheduler: args.Scheduler, Job: args.Job})
	if err != nil {
		return nil, err
	}
	key := core.Key{JobID: job}
	out := d.Agent.Do(ctx, core.Intent{Action: core.Environment, Key: key, UID: peer.UID, Call: req.ID, Began: req.Began}, peer)
	if out.Err != nil {
		return nil, out.Err
	}
	rows := []EnvRow{}
	for _, v := range out.Environment {
		if !slices.Contains(node.Origins, v.Name) { // the shell that asks keeps its own job
			rows = append(rows, EnvRow(v))
		}
	}
	return rows, nil
}

// named finds the one job that this node holds, that the caller may see, and that has this id, or whose id of PBS has
// this short form. A job whose scheduler is known may also be one that the node does not hold.
func (d *Verbs) named(ctx context.Context, peer core.Peer, job core.JobID) (core.JobID, error) {
	if err := core.CheckJobID(job.Job); err != nil {
		return core.JobID{}, err
	}
	var entries []node.Entry
	if err := d.Agent.Look(ctx, func(m *node.Machine) { entries = m.Entries() }); err != nil {
		return core.JobID{}, err
	}
	var whole, short []core.JobID
	for _, e := range entries {
		id := e.Key.JobID
		if job.Scheduler != "" && id.Scheduler != job.Scheduler || peer.UID != 0 && peer.UID != e.UID {
			continue
		}
		if of, _ := core.ShortJobID(id.Job); id.Job == job.Job && !slices.Contains(whole, id) {
			whole = append(whole, id)
		} else if of == job.Job && !slices.Contains(short, id) {
			short = append(short, id)
		}
	}
	if len(whole) == 0 {
		whole = short
	}
	switch {
	case len(whole) == 0 && job.Scheduler != "":
		return job, nil
	case len(whole) == 0:
		return core.JobID{}, core.Errorf(core.NoRecord, "environment of job %s: this node holds nothing for it that uid %d may see", core.Clip(job.Job), peer.UID)
	case len(whole) > 1:
		return core.JobID{}, core.Errorf(core.BadCall, "job %s: there are two here: %s and %s", core.Clip(job.Job), whole[0], whole[1]).WithRemedy("say which: SCHEDULER/JOB")
	}
	return whole[0], nil
}

// services reads the NICs, and says whose each service is.
func (d *Verbs) services(ctx context.Context, req hook.Request) (listener.Page, error) {
	services, err := d.Agent.needs.Driver.Services(ctx)
	if err != nil {
		return listener.Page{}, d.Agent.driverError(err)
	}
	jobs := make([]string, len(services))
	if err := d.Agent.Look(ctx, func(m *node.Machine) {
		for i := range services {
			if job, ok := m.Maker(&services[i]); ok {
				jobs[i] = job.String()
			}
		}
	}); err != nil {
		return listener.Page{}, err
	}
	rows := make([]ServiceRow, 0, len(services))
	for at, s := range services {
		r := ServiceRow{Device: s.Device, Service: s.ID, Owner: s.Owner.String(), VNIs: s.VNIs, Classes: s.Classes.Names(), Limits: map[string][3]int{}, Enabled: s.Enabled, LNIs: s.LNIs, Kind: "unknown"}
		for i, l := range s.Limits {
			r.Limits[core.Resource(i).String()] = [3]int{int(l.Reserved), int(l.Max), int(s.InUse[i])}
		}
		switch {
		case s.Default:
			r.Kind = "default"
		case s.System:
			r.Kind = "system"
		case jobs[at] != "":
			r.Kind, r.Job = "job", jobs[at]
		case d.Site.Service != nil && d.Site.Service(d.Agent.needs.Node, s.VNIs) != "":
			r.Kind, r.Job = "service", "service "+d.Site.Service(d.Agent.needs.Node, s.VNIs)
		}
		rows = append(rows, r)
	}
	key := func(r ServiceRow) string { return fmt.Sprintf("%s %010d", r.Device, r.Service) }
	slices.SortFunc(rows, func(a, b ServiceRow) int { return cmp.Compare(key(a), key(b)) })
	return listener.Slice(req, rows, key)
}

// doctor examines the node. It starts the commands of plugins, so it is not everybody's.
func (d *Verbs) doctor(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args DoctorArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	if _, err := Privileged(peer, VerbDoctor); err != nil {
		return nil, err
	}
	return Fitting(req, d.Agent.Doctor(ctx, d.Site, args.Limit)), nil
}

// clean removes orphans, some at each call.
func (d *Verbs) clean(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args CleanArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	right, err := Privileged(peer, auditClean)
	if err != nil {
		d.Agent.audit.Info(auditRefuse, append(peer.Audited(req.ID, ""), core.LogVerb, auditClean, core.LogReason, string(core.ReasonOf(err)))...)
		return nil, err
	}
	rows, next, err := d.Agent.Clean(ctx, d.Site, peer, req.ID, right, req.Cursor, args.DryRun)
	return listener.Page{Body: rows, Next: next}, err
}

// Privileged is the right of a caller to do what only root and the agent's user may.
func Privileged(peer core.Peer, verb string) (right string, err error) {
	switch {
	case peer.Root():
		return "root", nil
	case int64(peer.UID) == int64(os.Geteuid()):
		return "the agent's user", nil
	}
	return "", core.Errorf(core.NotAllowed, "%s: uid %d may not do it", verb, peer.UID).WithRemedy("only root may, on the node itself")
}
