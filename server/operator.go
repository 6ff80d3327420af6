package server

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hook"
)

// write does an operator's verb, and audits it whatever comes of it.
func (d *Verbs) write(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	by := peer.Audited(req.ID, req.Right)
	if req.Verb == "forget" {
		n, err := d.forget(ctx, by, req)
		if err != nil {
			d.Server.auditor.Info(auditForget, append(by, core.LogCount, n, core.LogReason, string(core.ReasonOf(err)), core.LogError, err.Error())...)
		}
		return Count{Count: n}, err
	}
	var args NodeArgs
	done, err := d.onNodes(ctx, peer, req, &args)
	by = append(by, core.LogNode, args.Nodes, core.LogCount, done.Count)
	if req.Verb == "drain" {
		by = append(by, core.LogWhy, args.Reason)
	}
	if err != nil {
		by = append(by, core.LogReason, string(core.ReasonOf(err)), core.LogError, err.Error())
	} else if len(done.Refused) > 0 {
		by = append(by, core.LogError, strings.Join(done.Refused, "; "))
	}
	d.Server.auditor.Info(req.Verb, by...)
	done.Nodes = args.Nodes
	return done, err
}

// onNodes does a verb that names nodes.
func (d *Verbs) onNodes(ctx context.Context, peer core.Peer, req hook.Request, args *NodeArgs) (done Count, err error) {
	if err := req.Decode(args); err != nil {
		return done, err
	}
	list, err := hostlist.Parse(args.Nodes)
	if err != nil {
		return done, core.Errorf(core.BadCall, "nodes: %w", err)
	}
	names, err := list.ExpandMax(maxNamed)
	if err != nil {
		return done, core.Errorf(core.BadCall, "nodes: %w", err)
	}
	if len(names) == 0 {
		return done, core.Errorf(core.BadCall, "%s: no node is named", req.Verb).WithRemedy("`weft nodes` lists them")
	}
	if req.Verb == "recover" && args.Nodes == Down {
		if names, done.Why, err = d.Server.down(ctx); err != nil {
			return done, err
		}
		args.Nodes = hostlist.Fold(names)
	}
	if err := d.known(ctx, names); err != nil {
		return done, err
	}
	if req.Verb == "recover" {
		if len(names) > 0 {
			done.Why, err = d.Server.idle(ctx, names)
		}
		if err == nil {
			done.Count, err = d.Server.Do(ctx, func(call uint64) engine.Input {
				return engine.Recover{Call: call, Without: names}
			})
		}
		return done, err
	}
	args.Reason = strings.Join(strings.Fields(args.Reason), " ")
	switch {
	case req.Verb != "drain":
		args.Reason = "" // one would drain
	case args.Reason == "":
		return done, core.Errorf(core.BadCall, "drain: a reason is missing").WithRemedy("`weft drain NODES REASON`: who finds the node drained must learn why")
	case len(args.Reason) > maxReason:
		return done, core.Errorf(core.BadCall, "drain: the reason has %d bytes and there may be %d", len(args.Reason), maxReason).WithRemedy("say it in fewer words")
	case strings.ContainsFunc(args.Reason, func(r rune) bool { return !unicode.IsPrint(r) }):
		return done, core.Errorf(core.BadCall, "drain: the reason has a character that does not print")
	}
	var did []string
	if req.Verb == "drain" {
		if err := d.Server.Look(ctx, func(m *engine.Machine) { done.Before = before(m, names, args.Reason) }); err != nil {
			return done, err
		}
	}
	for _, name := range names {
		n, err := d.Server.Do(ctx, func(call uint64) engine.Input {
			if req.Verb == "accept" {
				return engine.Accept{Call: call, Node: name}
			}
			return engine.SetDrain{Call: call, Node: name, Reason: args.Reason, By: person(peer)}
		})
		reason := core.ReasonOf(err)
		switch {
		case err == nil:
			did = append(did, name)
			done.Count += n
		case len(names) > 1 && (reason == core.NotThere || reason == core.NodeDrained):
			done.Refused = append(done.Refused, core.AsError(err).Line())
		default:
			return done, err
		}
	}
	if req.Verb == "accept" {
		return done, nil
	}
	if done.Told, err = d.Server.told(ctx, did, req.Verb == "drain"); err != nil || req.Verb == "drain" {
		return done, err
	}
	var away []string
	err = d.Server.Look(ctx, func(m *engine.Machine) { away = slices.DeleteFunc(did, m.Attached) })
	done.Away = hostlist.Fold(away)
	return done, err
}

// before are the nodes that Weft has drained for another reason, which a new reason replaces.
func before(m *engine.Machine, names []string, reason string) (all []string) {
	for _, name := range names {
		if d := m.Drain(name); d.Reason != "" && d.Reason != reason {
			all = append(all, name+": "+d.String())
		}
	}
	return all
}

// person is who made a call, as lists show it.
func person(p core.Peer) string {
	if p.Root() {
		return "root"
	}
	return core.UID(p.UID).String()
}

// known refuses names that the system does not have, before anything is done to those that it has.
func (d *Verbs) known(ctx context.Context, names []string) error {
	names = slices.Clone(names)
	err := d.Server.Look(ctx, func(m *engine.Machine) { names = slices.DeleteFunc(names, m.Named) })
	if err != nil || len(names) == 0 {
		return err
	}
	return core.Errorf(core.NotThere, "node %q: there is none of that name, so nothing was done", core.Clip(hostlist.Fold(names))).WithRemedy("`weft nodes` lists them")
}

func (d *Verbs) forget(ctx context.Context, by []any, req hook.Request) (int, error) {
	var args JobArgs
	if err := req.Decode(&args); err != nil {
		return 0, err
	}
	if args.Vanished {
		n, err := d.Server.Do(ctx, func(call uint64) engine.Input { return engine.Forget{Call: call, Vanished: true} })
		if err == nil {
			d.Server.auditor.Info(auditForget, append(by, core.LogCount, n, core.LogWhy, "its scheduler's answers lack it, and so do those of many others")...)
		}
		return n, err
	}
	var found []engine.View
	if err := d.Server.Look(ctx, func(m *engine.Machine) {
		if args.VNI != 0 {
			for h := range m.Holders(core.VNI(args.VNI), core.VNI(args.VNI), 0) {
				found = append(found, h.View)
			}
		} else {
			found = d.find(m, args)
		}
	}); err != nil {
		return 0, err
	}
	switch {
	case len(found) > 0:
	case args.VNI != 0:
		return 0, core.Errorf(core.NotThere, "VNI %d: nothing holds it", args.VNI).WithRemedy("`weft vnis` lists what is held")
	default:
		return 0, core.Errorf(core.NotThere, "job %q: nothing is held for it", core.Clip(args.Job)).WithRemedy("`weft vnis` lists what is held")
	}
	for _, v := range found {
		if v.State == engine.Active && !args.Confirmed {
			return 0, core.Errorf(core.NotAllowed, "job %s: its scheduler has not said that it is over", v.Job.JobID).
				WithRemedy("cancel the job in its scheduler; if that scheduler is gone for good, `weft forget --gone` takes your word for it")
		}
	}
	total := 0
	for _, v := range found {
		n, err := d.Server.Do(ctx, func(call uint64) engine.Input { return engine.Forget{Call: call, Serial: v.Serial} })
		if err != nil {
			return total, err
		}
		d.Server.auditor.Info(auditForget, append(slices.Clip(by), core.LogJob, v.Job.Key.String(), core.LogOwner, v.Job.UID, core.LogVNI, core.VNIRanges(engine.VNIsOf(v.VNIs)),
			core.LogWhy, "it was "+v.State.String()+"; "+cmp.Or(waits(v), "nothing was waited for"))...)
		total += n
	}
	return total, nil
}
