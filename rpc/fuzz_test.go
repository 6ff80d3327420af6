package rpc

import (
	"slices"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	authorityv1 "github.com/weft-hpc/weft/rpc/proto/weft/authority/v1"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
	fabricv1 "github.com/weft-hpc/weft/rpc/proto/weft/fabric/v1"
	hooksv1 "github.com/weft-hpc/weft/rpc/proto/weft/hooks/v1"
	nicv1 "github.com/weft-hpc/weft/rpc/proto/weft/nic/v1"
	pluginv1 "github.com/weft-hpc/weft/rpc/proto/weft/plugin/v1"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

// hostile decodes bytes as one message and checks what came of them.
type hostile struct {
	empty  func() proto.Message
	decode func(*testing.T, *decoder, proto.Message)
}

// as decodes to a D and, where nothing was refused, checks it.
func as[D any, P proto.Message](decode func(*decoder, P) D, valid func(*testing.T, D)) hostile {
	var p P
	return hostile{
		func() proto.Message { return p.ProtoReflect().New().Interface() },
		func(t *testing.T, d *decoder, m proto.Message) {
			if v := decode(d, m.(P)); d.err == nil {
				valid(t, v)
			}
		},
	}
}

var decoders = []hostile{
	as((*decoder).service, validService),
	as((*decoder).spec, func(t *testing.T, s core.ServiceSpec) {
		validService(t, core.Service{Device: s.Device, Owner: s.Owner, VNIs: s.VNIs})
		if len(s.VNIs) < 1 || len(s.VNIs) > core.MaxVNIs && !core.IsVNIRange(s.VNIs) || s.Classes&^core.AllClasses != 0 || s.Owner.Kind == core.OwnerNone {
			t.Errorf("%+v", s)
		}
		validLimits(t, s.Limits)
	}),
	as((*decoder).nic, func(t *testing.T, v core.Device) {
		if core.CheckName("NIC", v.Name, maxDevice) != nil || v.Address >= 1<<20 || v.Classes&^core.AllClasses != 0 {
			t.Errorf("%+v", v)
		}
	}),
	as(func(d *decoder, p *nicv1.Created) core.Created { return d.created(nicRemote, p) }, func(t *testing.T, c core.Created) {
		if c.Err != nil {
			validError(t, c.Err.(*core.Error))
		} else {
			validService(t, c.Service)
		}
	}),
	as((*decoder).grant, func(t *testing.T, g core.Grant) {
		validRun(t, g.Run)
		validVNIs(t, g.VNIs, core.MaxVNIs)
		validLimits(t, g.Limits)
		if g.Classes&^core.AllClasses != 0 || g.MinNICs < 0 || g.GID == core.NoUID || g.Collective != nil && (g.Collective.Addresses < 0 || g.Collective.MinNodes < 0) {
			t.Errorf("%+v", g)
		}
	}),
	as((*decoder).fabric, func(t *testing.T, f core.Fabric) {
		for _, k := range f.Collectives {
			validKey(t, k)
		}
		if f.Addresses < 0 || f.Total < 0 {
			t.Errorf("%+v", f)
		}
	}),
	as((*decoder).call, func(t *testing.T, c core.HookCall) {
		if len(c.Args) > maxItems || len(c.Env) > maxItems {
			t.Errorf("%d, %d", len(c.Args), len(c.Env))
		}
	}),
	as((*decoder).intent, func(t *testing.T, a core.Intent) {
		if a.Action < core.Prepare || a.Action > core.Room || len(a.Note) > core.MaxNote {
			t.Errorf("%+v", a)
		}
		if a.Action < core.Running {
			validKey(t, a.Key)
		}
	}),
	as((*decoder).outcome, func(t *testing.T, o core.Outcome) {
		if o.Action > core.Room {
			t.Errorf("%+v", o)
		}
		if o.Err != nil {
			validError(t, o.Err)
		}
	}),
	as((*decoder).reply, func(t *testing.T, r core.HookReply) {
		if r.Exit < 0 || r.Exit > 255 {
			t.Errorf("exit %d", r.Exit)
		}
	}),
	as((*decoder).phase, func(t *testing.T, p core.HookPhase) {
		if p.Limit <= 0 || p.Stdin < 0 || len(p.Variables) > maxNames || core.CheckName("phase", p.Name, core.MaxScheduler) != nil {
			t.Errorf("%+v", p)
		}
	}),
	as((*decoder).job, func(t *testing.T, j core.Job) {
		if !j.Gone {
			validRun(t, j.Run)
		}
		if j.Request.Classes&^core.AllClasses != 0 || j.Request.VNIs < 0 || j.Request.Depth < 0 {
			t.Errorf("%+v", j)
		}
		for _, s := range j.Placements {
			if s.Nodes < 0 || s.Cores < 0 || len(s.Hosts) > maxHosts {
				t.Errorf("%+v", s)
			}
		}
	}),
	as((*decoder).jobs, validJobs),
	as(func(d *decoder, p *authorityv1.AttendRequest) core.Report {
		g := reports{gathering: gathering{most: maxForwarded}}
		r, whole := g.add(d, p)
		if !whole && !p.GetMore() {
			d.fail("part")
		}
		return r
	}, func(t *testing.T, r core.Report) {
		for _, h := range r.Held {
			validRun(t, h.Run)
			validVNIs(t, h.VNIs, core.MaxVNIs)
			if h.State < core.HeldPreparing || h.State > core.HeldClean || h.Life > core.LifeSeen {
				t.Errorf("%+v", h)
			}
		}
		for _, s := range r.Unknown {
			validService(t, s)
		}
		for _, j := range r.Epilogs {
			validKey(t, core.Key{JobID: j})
		}
		if r.Answer != nil {
			validJobs(t, r.Answer.Jobs)
		}
		if r.Reply != nil && r.Reply.Err != nil {
			validError(t, r.Reply.Err)
		}
		if r.Reply != nil && r.Reply.Job != nil && !r.Reply.Job.Gone {
			validRun(t, r.Reply.Job.Run)
		}
	}),
	as((*decoder).orders, func(t *testing.T, o core.Orders) {
		for _, c := range o.Clean {
			validRun(t, c.Run)
			validVNIs(t, c.VNIs, core.MaxVNIs)
		}
		for _, r := range slices.Concat(o.Forget, o.Vouch) {
			validRun(t, r)
		}
		for _, c := range o.Calls {
			node := slices.Contains([]core.SchedulerVerb{core.CallDrain, core.CallResume, core.CallDown}, c.Verb)
			if c.Key != (core.Key{}) || slices.Contains(core.SchedulerVerbs(), c.Verb) && !node && c.Verb != core.CallDrained {
				validKey(t, c.Key)
			}
			if c.Verb == core.CallAnnotate && c.Grant == nil || len(c.Note) > core.MaxNote || len(c.Verb) > maxWord {
				t.Errorf("%+v", c)
			}
			if (node || c.Node != "") && core.CheckName("node", c.Node, core.MaxNodeName) != nil {
				t.Errorf("%+v", c)
			}
		}
	}),
	as((*decoder).peer, func(*testing.T, core.Peer) {}),
	as(func(_ *decoder, p *corev1.Error) *core.Error { return local.fault(p) }, validError),
	as(func(d *decoder, p *pluginv1.Values) core.Values { return d.values(p, 0) }, func(t *testing.T, v core.Values) {
		for name, value := range v {
			if name == "" || kindOf(value) == 0 {
				t.Errorf("%q: %v", name, value)
			}
		}
	}),
	as(func(d *decoder, p *pluginv1.Schema) core.Schema { return d.schema(p, 0) }, func(t *testing.T, s core.Schema) {
		for _, f := range s.Fields {
			if f.Kind < core.KindString || f.Kind > core.KindBlocks || f.Labels < 0 || f.Default != nil && kindOf(f.Default) != f.Kind {
				t.Errorf("%+v", f)
			}
		}
	}),
	as((*decoder).info, func(t *testing.T, i Info) {
		if core.CheckName("plugin", i.Name, maxDevice) != nil {
			t.Errorf("%+v", i)
		}
	}),
	as((*decoder).finding, func(t *testing.T, f core.Finding) {
		if f.Severity > core.Critical {
			t.Errorf("%+v", f)
		}
	}),
}

func validKey(t *testing.T, k core.Key) {
	if core.CheckName("scheduler", k.Scheduler, core.MaxScheduler) != nil || core.CheckJobID(k.Job) != nil {
		t.Errorf("%q", k)
	}
}

func validRun(t *testing.T, r core.Run) {
	validKey(t, r.Key)
	if r.UID == core.NoUID {
		t.Errorf("%+v", r)
	}
}

func validVNIs(t *testing.T, v []core.VNI, most int) {
	if len(v) > most || slices.Contains(v, 0) {
		t.Errorf("%v", v)
	}
}

func validService(t *testing.T, s core.Service) {
	validVNIs(t, s.VNIs, maxOnNIC)
	nobody := (s.Owner.Kind == core.OwnerUID || s.Owner.Kind == core.OwnerGID) && s.Owner.ID == core.NoUID
	if core.CheckName("NIC", s.Device, maxDevice) != nil || s.Classes&^(core.AllClasses|eth) != 0 || s.Owner.Kind > core.OwnerNetNS || nobody {
		t.Errorf("%+v", s)
	}
}

func validLimits(t *testing.T, l core.Limits) {
	for r, v := range l {
		if v.Reserved > v.Max {
			t.Errorf("%v: %+v", core.Resource(r), v)
		}
	}
}

func validJobs(t *testing.T, j core.Jobs) {
	if j.Asking && (j.Complete || len(j.Jobs) > 0) {
		t.Errorf("%+v", j)
	}
	for _, s := range j.Jobs {
		validRun(t, s.Run)
		if s.State < core.JobQueued || s.State > core.JobFinal {
			t.Errorf("%+v", s)
		}
	}
}

func validError(t *testing.T, e *core.Error) {
	if e.Code < core.Invalid || e.Code > core.Internal || !reasonForm.MatchString(string(e.Reason)) || len(e.What) > maxText || !utf8.ValidString(e.What) {
		t.Errorf("%+v", e)
	}
	for _, s := range e.Short {
		if s.Resource >= core.NumResources || len(s.Device) > maxDevice {
			t.Errorf("%+v", s)
		}
	}
}

// FuzzDecode gives any bytes to any decoder: they become a value that core allows, or an error.
func FuzzDecode(f *testing.F) {
	add := func(which int, m proto.Message) {
		if text, err := proto.Marshal(m); err == nil {
			f.Add(uint8(which), text)
		}
	}
	for seed := range 3 {
		examples := []proto.Message{
			encodeService(genService.Example(seed)), encodeSpec(genSpec.Example(seed)), encodeDevice(genDevice.Example(seed)), encodeCreated(genCreated.Example(seed)),
			encodeGrant(genGrant.Example(seed)), encodeFabric(genFabric.Example(seed)), encodeCall(genCall.Example(seed)), encodeIntent(genIntent.Example(seed)),
			encodeOutcome(genOutcome.Example(seed)), encodeReply(genReply.Example(seed)), encodePhase(genPhase.Example(seed)), encodeJob(genFacts.Example(seed)), encodeJobs(genJobs.Example(seed))[0],
			encodeReport(genReport.Example(seed))[0], encodeOrders(genOrders.Example(seed)), encodePeer(genPeer.Example(seed)), encodeError(genError.Example(seed)),
			encodeValues(genValues(0).Example(seed)), encodeSchema(genSchema(0).Example(seed)), encodeInfo(genInfo.Example(seed)), encodeFinding(genFinding.Example(seed)),
		}
		if len(examples) != len(decoders) {
			f.Fatalf("%d examples for %d decoders", len(examples), len(decoders))
		}
		for i, m := range examples {
			add(i, m)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		h := decoders[int(which)%len(decoders)]
		m := h.empty()
		if proto.Unmarshal(text, m) != nil {
			return
		}
		h.decode(t, &decoder{}, m)
	})
}

// TestHostileNumbers draws messages whose every number may be anything: most are refused, and none makes a value that core does not allow.
func TestHostileNumbers(t *testing.T) {
	number := rapid.OneOf(rapid.SampledFrom([]uint32{0, 1, 4, 5, 31, 32, 65535, 65536, 1<<20 - 1, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1}), rapid.Uint32())
	limit := func(t *rapid.T) *corev1.Limit {
		return &corev1.Limit{Max: number.Draw(t, "max"), Reserved: number.Draw(t, "reserved")}
	}
	kept := 0
	rapid.Check(t, func(rt *rapid.T) {
		key := &corev1.Key{Scheduler: rapid.SampledFrom([]string{"s", "", "a/b", "ü"}).Draw(rt, "scheduler"), Job: rapid.SampledFrom([]string{"1", "", "..", "a b", "-x"}).Draw(rt, "job")}
		run := &corev1.Run{Key: key, Uid: number.Draw(rt, "uid")}
		vnis := rapid.SliceOfN(number, 0, 6).Draw(rt, "vnis")
		owner := &corev1.Owner{Kind: corev1.OwnerKind(number.Draw(rt, "kind")), Id: number.Draw(rt, "id")}
		limits := &corev1.Limits{Txqs: limit(rt), Acs: limit(rt)}
		counts := &corev1.Counts{Ptes: number.Draw(rt, "ptes"), Acs: number.Draw(rt, "acs")}
		classes := number.Draw(rt, "classes")
		service := &corev1.Service{Device: "cxi0", Owner: owner, Vnis: vnis, Classes: classes, Limits: limits, InUse: counts}
		for _, m := range []proto.Message{
			service, &nicv1.Spec{Device: "cxi0", Owner: owner, Vnis: vnis, Classes: classes, Limits: limits},
			&nicv1.Device{Name: "cxi0", Address: number.Draw(rt, "address"), Capacity: &nicv1.Capacity{Eqs: &nicv1.Supply{Total: number.Draw(rt, "total")}}},
			&corev1.Grant{Run: run, Gid: number.Draw(rt, "gid"), Vnis: vnis, Classes: classes, Limits: limits, Floor: counts, MinNics: number.Draw(rt, "min")},
			&fabricv1.CollectivesReply{Collectives: []*corev1.Key{key}, Addresses: number.Draw(rt, "addresses")},
			&corev1.Intent{Action: corev1.Action(number.Draw(rt, "action")), Key: key},
			&hooksv1.RenderReply{Exit: int32(number.Draw(rt, "exit"))},
			&schedulerv1.Job{Run: run, Placements: []*schedulerv1.Placement{{Nodes: number.Draw(rt, "nodes")}}, Request: &schedulerv1.Request{Classes: classes, Vnis: number.Draw(rt, "n")}},
			&corev1.Jobs{Jobs: []*corev1.JobStatus{{Run: run, State: corev1.JobState(number.Draw(rt, "state"))}}},
			&authorityv1.AttendRequest{Report: &authorityv1.Report{Held: []*authorityv1.Held{{Run: run, Vnis: vnis, State: authorityv1.HeldState(number.Draw(rt, "held"))}}}},
			&authorityv1.Orders{Clean: []*authorityv1.Clean{{Run: run, Vnis: vnis}}},
			&corev1.Error{Code: corev1.Code(number.Draw(rt, "code")), Short: []*corev1.Shortage{{Resource: corev1.Resource(number.Draw(rt, "resource")), Want: number.Draw(rt, "want")}}},
			&pluginv1.Finding{Severity: pluginv1.Severity(number.Draw(rt, "severity"))},
			&pluginv1.Schema{Fields: []*pluginv1.Field{{Name: "a", Kind: pluginv1.Kind(number.Draw(rt, "kind"))}}},
		} {
			found := false
			for _, h := range decoders {
				if h.empty().ProtoReflect().Descriptor() == m.ProtoReflect().Descriptor() {
					d := &decoder{}
					h.decode(t, d, m)
					found = true
					if d.err == nil {
						kept++
					}
				}
			}
			if !found {
				rt.Fatalf("no decoder of %T", m)
			}
			if t.Failed() {
				rt.FailNow()
			}
		}
	})
	if kept == 0 {
		t.Error("everything was refused, so nothing was shown")
	}
}
