package rpc

import (
	"strings"

	"github.com/weft-hpc/weft/core"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
	hooksv1 "github.com/weft-hpc/weft/rpc/proto/weft/hooks/v1"
)

func encodeCall(c core.HookCall) *hooksv1.Call {
	env := make(map[string]string, len(c.Env))
	for k, v := range c.Env {
		env[utf(k)] = utf(v)
	}
	return &hooksv1.Call{
		Id: utf(c.ID), Scheduler: utf(c.Scheduler), Phase: utf(c.Phase), Args: every(c.Args, utf), Env: env, Stdin: c.Stdin,
		Node: utf(c.Node), Began: c.Began, Peer: encodePeer(c.Peer),
		Parent: c.Parent,
	}
}

func (d *decoder) call(p *hooksv1.Call) core.HookCall {
	if len(p.GetEnv()) > maxItems {
		d.fail("environment: there are %d variables and there may be %d", len(p.GetEnv()), maxItems)
	}
	var env map[string]string
	if len(p.GetEnv()) > 0 && d.err == nil {
		env = p.GetEnv()
		for k, v := range env {
			d.fit("variable", k, maxWord)
			d.fit(k, v, maxValue)
		}
	}
	return core.HookCall{
		ID: d.word("call", p.GetId()), Scheduler: d.word("scheduler", p.GetScheduler()), Phase: d.word("phase", p.GetPhase()),
		Args: each(d, "arguments", p.GetArgs(), maxItems, func(s string) string { return d.fit("argument", s, maxValue) }),
		Env:  env, Stdin: d.bytes("standard input", p.GetStdin(), MaxPlugin), Node: d.word("node", p.GetNode()), Began: p.GetBegan(), Peer: d.peer(p.GetPeer()),
		Parent: p.GetParent(),
	}
}

func encodeIntent(a core.Intent) *corev1.Intent {
	return &corev1.Intent{
		Action: corev1.Action(a.Action), Key: encodeAnyKey(a.Key), Uid: a.UID, Step: utf(a.Step), Note: a.Note, Alive: every(a.Alive, encodeKey),
		Began: a.Began, Boot: utf(a.Boot), Agent: utf(a.Agent), Call: utf(a.Call), Speaks: a.Speaks,
		Joins: a.Joins, Tells: a.Tells, StepNodes: count(a.StepNodes), Request: packRequest(a.Request),
	}
}

func (d *decoder) intent(p *corev1.Intent) core.Intent {
	a := core.Intent{
		Action: d.action(p.GetAction()), Key: d.anyKey(p.GetKey()), UID: p.GetUid(), Step: d.word("step", p.GetStep()),
		Note: d.bytes("note", p.GetNote(), core.MaxNote), Alive: each(d, "jobs", p.GetAlive(), maxRuns, d.key), Began: p.GetBegan(),
		Boot: d.word("boot id", p.GetBoot()), Agent: d.word("agent", p.GetAgent()), Call: d.word("call", p.GetCall()), Speaks: p.GetSpeaks(),
		Joins: p.GetJoins(), Tells: p.GetTells(), StepNodes: d.count("nodes", p.GetStepNodes()), Request: d.packedRequest(p.GetRequest()),
	}
	if d.err == nil && a.Key == (core.Key{}) && a.Action != core.Running && a.Action != core.Room {
		d.fail("%s: it names no job", a.Action)
	}
	return a
}

func (d *decoder) action(p corev1.Action) core.Action {
	if p < corev1.Action(core.Prepare) || p > corev1.Action(core.Room) {
		d.fail("hook: there is no action %d", p)
	}
	return core.Action(p)
}

func encodeOutcome(o core.Outcome) *hooksv1.Outcome {
	p := &hooksv1.Outcome{
		Action: corev1.Action(o.Action), Key: encodeAnyKey(o.Key), Warnings: texts(o.Warnings), Pending: o.Pending,
		StepWarnings: texts(o.StepWarnings),
		Environment: every(o.Environment, func(v core.Variable) *hooksv1.Variable {
			return &hooksv1.Variable{Name: utf(v.Name), Value: utf(v.Value), Unset: v.Unset}
		}),
	}
	if o.Err != nil {
		p.Error = encodeError(o.Err)
	}
	return p
}

// outcome of an Intent, or of a call that was not understood: it then has no action.
func (d *decoder) outcome(p *hooksv1.Outcome) core.Outcome {
	o := core.Outcome{
		Key: d.anyKey(p.GetKey()), Warnings: each(d, "warnings", p.GetWarnings(), maxTexts, text), Pending: p.GetPending(),
		Environment: each(d, "variables", p.GetEnvironment(), maxItems, d.variable), Err: local.fault(p.GetError()),
		StepWarnings: each(d, "warnings", p.GetStepWarnings(), maxTexts, text),
	}
	if p.GetAction() != corev1.Action_ACTION_UNSPECIFIED {
		o.Action = d.action(p.GetAction())
	}
	return o
}

func (d *decoder) variable(p *hooksv1.Variable) core.Variable {
	v := core.Variable{Name: d.fit("variable", p.GetName(), maxWord), Value: d.fit(p.GetName(), p.GetValue(), maxValue), Unset: p.GetUnset()}
	if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.Contains(v.Value, "\x00") {
		d.fail("variable %q: no environment can hold it", core.Clip(v.Name))
	}
	return v
}

func (d *decoder) reply(p *hooksv1.RenderReply) core.HookReply {
	if p.GetExit() < 0 || p.GetExit() > 255 {
		d.fail("exit code %d: it is not from 0 to 255", p.GetExit())
	}
	return core.HookReply{
		Stdout: d.bytes("standard output", p.GetStdout(), MaxPlugin), Stderr: d.bytes("standard error", p.GetStderr(), MaxPlugin), Exit: int(p.GetExit()),
	}
}
