package rpc

import (
	"time"

	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
)

// Generators of every value that core allows in a message.

var (
	genName = rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}`)
	genNode = rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9._-]{0,254}`)
	genText = rapid.OneOf(rapid.SampledFrom([]string{"", "ünï ☃\n\t", "名前", "𝄞"}), rapid.String())
	genWord = rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[\p{L}\p{N} .:/#-]{0,64}`))
	genUID  = rapid.Uint32Range(0, core.NoUID-1) // core.NoUID is nobody, who has no job and no group
	genJob  = rapid.OneOf(
		rapid.StringMatching(`[1-9][0-9]{0,8}(_[0-9]{1,3})?`), rapid.StringMatching(`ƒ[1-9A-Za-z]{1,12}`),
		rapid.StringMatching(`[0-9]{1,6}\.[a-z]{1,8}`), rapid.StringMatching(`[\p{L}\p{N}\p{S}\p{P}]{1,64}`),
	).Filter(func(id string) bool { return core.CheckJobID(id) == nil })
	genInt = rapid.OneOf(rapid.IntRange(0, 8), rapid.IntRange(0, 1<<31-1))

	genJobID = rapid.Custom(func(t *rapid.T) core.JobID {
		return core.JobID{Scheduler: genName.Draw(t, "scheduler"), Job: genJob.Draw(t, "job")}
	})
	genKey = rapid.Custom(func(t *rapid.T) core.Key {
		return core.Key{JobID: genJobID.Draw(t, "id"), Generation: rapid.Uint32().Draw(t, "generation")}
	})
	genRun = rapid.Custom(func(t *rapid.T) core.Run {
		return core.Run{Key: genKey.Draw(t, "key"), Fingerprint: core.Fingerprint{UID: genUID.Draw(t, "uid"), Submitted: rapid.Int64().Draw(t, "submitted")}}
	})
	genHead = rapid.Custom(func(t *rapid.T) core.Head {
		return core.Head{
			Store: genWord.Draw(t, "store"), Incarnation: rapid.Uint64().Draw(t, "incarnation"),
			Epoch: rapid.Uint64().Draw(t, "epoch"), Revision: rapid.Uint64().Draw(t, "revision"),
		}
	})
	genPeer = rapid.Custom(func(t *rapid.T) core.Peer {
		return core.Peer{
			UID: rapid.Uint32().Draw(t, "uid"), GID: rapid.Uint32().Draw(t, "gid"), PID: rapid.Int32().Draw(t, "pid"),
			Node: rapid.OneOf(rapid.Just(""), genNode).Draw(t, "node"),
		}
	})

	genVNI   = rapid.Custom(func(t *rapid.T) core.VNI { return core.VNI(rapid.Uint16Range(1, 65535).Draw(t, "vni")) })
	genClass = rapid.Custom(func(t *rapid.T) core.Classes {
		return core.Classes(rapid.Uint8Max(uint8(core.AllClasses)).Draw(t, "classes"))
	})
	genLimits = rapid.Custom(func(t *rapid.T) core.Limits {
		var l core.Limits
		for r := range l {
			l[r].Max = rapid.Uint16().Draw(t, "max")
			l[r].Reserved = rapid.Uint16Max(l[r].Max).Draw(t, "reserved")
		}
		return l
	})
	genCounts = rapid.Custom(func(t *rapid.T) (c [core.NumResources]uint16) {
		for r := range c {
			c[r] = rapid.Uint16().Draw(t, "count")
		}
		return c
	})
	genOwner = rapid.Custom(func(t *rapid.T) core.Owner {
		o := core.Owner{Kind: core.OwnerKind(rapid.Uint8Max(uint8(core.OwnerNetNS)).Draw(t, "kind")), ID: genUID.Draw(t, "id")}
		if o.Kind == core.OwnerNone || o.Kind == core.OwnerNetNS {
			o.ID = rapid.Uint32().Draw(t, "any id")
		}
		return o
	})
	genService = rapid.Custom(func(t *rapid.T) core.Service {
		return core.Service{
			Device: genName.Draw(t, "device"), ID: rapid.Uint32().Draw(t, "id"), Owner: genOwner.Draw(t, "owner"),
			VNIs: list(t, "vnis", genVNI, 6), Classes: core.Classes(rapid.Uint8Max(31).Draw(t, "classes")), Limits: genLimits.Draw(t, "limits"),
			InUse: genCounts.Draw(t, "in use"), System: rapid.Bool().Draw(t, "system"), Default: rapid.Bool().Draw(t, "default"), Enabled: rapid.Bool().Draw(t, "enabled"),
			LNIs: rapid.Uint16().Draw(t, "lnis"),
		}
	})
	genSpec = rapid.Custom(func(t *rapid.T) core.ServiceSpec {
		return core.ServiceSpec{
			Device: genName.Draw(t, "device"), Owner: core.Owner{Kind: core.OwnerKind(rapid.Uint8Range(1, 3).Draw(t, "kind")), ID: genUID.Draw(t, "id")},
			VNIs: rapid.SliceOfN(genVNI, 1, core.MaxVNIs).Draw(t, "vnis"), Classes: genClass.Draw(t, "classes"), Limits: genLimits.Draw(t, "limits"),
		}
	})
	genDevice = rapid.Custom(func(t *rapid.T) core.Device {
		d := core.Device{
			Name: genName.Draw(t, "name"), Address: rapid.Uint32Max(1<<20-1).Draw(t, "address"), Up: rapid.Bool().Draw(t, "up"), Retry: rapid.Bool().Draw(t, "retry"),
			Open: rapid.Bool().Draw(t, "open"), Fault: genText.Draw(t, "fault"), Remedy: genText.Draw(t, "remedy"),
			Bus: genWord.Draw(t, "bus"), Probed: genWord.Draw(t, "probed"), Network: genWord.Draw(t, "network"),
			Sign:    core.Sign{Path: genWord.Draw(t, "sign"), Inode: rapid.Uint64().Draw(t, "inode")},
			Classes: genClass.Draw(t, "classes"), RGIDs: core.Stock{Total: rapid.Uint16().Draw(t, "rgids"), Free: rapid.Uint16().Draw(t, "free rgids")},
		}
		for r := range d.Capacity {
			n := genCounts.Draw(t, "supply")
			d.Capacity[r] = core.Supply{
				Total: n[0], Free: n[1], Least: n[2], PoolsLeft: n[3],
				MaxIsReserved: rapid.Bool().Draw(t, "max is reserved"), Pooled: rapid.Bool().Draw(t, "pooled"), PooledByMax: rapid.Bool().Draw(t, "pooled by max"),
			}
		}
		return d
	})

	genReading = rapid.Custom(func(t *rapid.T) core.NICReading {
		return core.NICReading{
			Before: list(t, "before", genDevice, 2), Services: list(t, "services", genService, 2), After: list(t, "after", genDevice, 2),
		}
	})

	genError = rapid.Custom(func(t *rapid.T) *core.Error {
		reasons := core.Reasons()
		e := &core.Error{
			Code:   core.Code(rapid.Uint8Range(uint8(core.Invalid), uint8(core.Internal)).Draw(t, "code")),
			Reason: reasons[rapid.IntRange(0, len(reasons)-1).Draw(t, "reason")].Reason, What: genText.Draw(t, "what"), Remedy: genText.Draw(t, "mend"),
		}
		e.Short = list(t, "short", rapid.Custom(func(t *rapid.T) core.Shortage {
			return core.Shortage{
				Device: genName.Draw(t, "device"), Resource: core.Resource(rapid.Uint8Max(uint8(core.NumResources)-1).Draw(t, "resource")),
				Want: rapid.Uint16().Draw(t, "want"), Have: rapid.Uint16().Draw(t, "have"), Pool: rapid.Bool().Draw(t, "pool"),
			}
		}), 4)
		return e
	})
	genCreated = rapid.Custom(func(t *rapid.T) core.Created {
		if rapid.Bool().Draw(t, "failed") {
			return core.Created{Err: genError.Draw(t, "error")}
		}
		return core.Created{Service: genService.Draw(t, "service")}
	})

	genCollective = rapid.Custom(func(t *rapid.T) core.Collective {
		return core.Collective{
			JobID: genWord.Draw(t, "job id"), Token: genText.Draw(t, "token"), URL: genText.Draw(t, "url"),
			Addresses: genInt.Draw(t, "addresses"), MinNodes: genInt.Draw(t, "min nodes"),
		}
	})
	genFabric = rapid.Custom(func(t *rapid.T) core.Fabric {
		return core.Fabric{Collectives: list(t, "collectives", genKey, 4), Addresses: genInt.Draw(t, "addresses"), Total: genInt.Draw(t, "total")}
	})
	genGrant = rapid.Custom(func(t *rapid.T) core.Grant {
		g := core.Grant{
			Run: genRun.Draw(t, "run"), GID: genUID.Draw(t, "gid"), VNIs: list(t, "vnis", genVNI, core.MaxVNIs), Classes: genClass.Draw(t, "classes"),
			Limits: genLimits.Draw(t, "limits"), Floor: genCounts.Draw(t, "floor"),
			Asked: rapid.Bool().Draw(t, "asked"), Exact: rapid.Bool().Draw(t, "exact"), Share: core.Share{Cores: genInt.Draw(t, "cores"), Total: genInt.Draw(t, "total")}, MinNICs: genInt.Draw(t, "min nics"),
			Inventory: list(t, "inventory", genName, 4), Warnings: list(t, "warnings", genText, 3), Head: genHead.Draw(t, "head"),
		}
		g.Steps = rapid.IntRange(0, len(g.VNIs)).Draw(t, "steps")
		if rapid.Bool().Draw(t, "drawn") {
			g.Drawn = &core.Drawn{VNI: core.VNI(rapid.Uint16().Draw(t, "drawn")), Warning: genText.Draw(t, "warning")}
		}
		if rapid.Bool().Draw(t, "request") {
			g.Request = new(genRequest.Draw(t, "job's request"))
		}
		if rapid.Bool().Draw(t, "collective") {
			c := genCollective.Draw(t, "collective")
			g.Collective = &c
		}
		return g
	})

	genCall = rapid.Custom(func(t *rapid.T) core.HookCall {
		c := core.HookCall{
			ID: genWord.Draw(t, "id"), Scheduler: genName.Draw(t, "scheduler"), Phase: genWord.Draw(t, "phase"), Args: list(t, "args", genText, 4),
			Stdin: octets(t, "stdin"), Node: genNode.Draw(t, "node"), Began: rapid.Int64().Draw(t, "began"), Peer: genPeer.Draw(t, "peer"),
			Parent: rapid.Bool().Draw(t, "parent"),
		}
		if env := rapid.MapOfN(genWord, genText, 0, 4).Draw(t, "env"); len(env) > 0 {
			c.Env = env
		}
		return c
	})
	genIntent = rapid.Custom(func(t *rapid.T) core.Intent {
		a := core.Intent{
			Action: core.Action(rapid.Uint8Range(uint8(core.Prepare), uint8(core.Room)).Draw(t, "action")), Key: genKey.Draw(t, "key"), UID: rapid.Uint32().Draw(t, "uid"),
			Step: genWord.Draw(t, "step"), Note: octets(t, "note"), Alive: list(t, "alive", genKey, 4), Began: rapid.Int64().Draw(t, "began"), Speaks: rapid.Bool().Draw(t, "speaks"),
			Joins: rapid.Bool().Draw(t, "joins"), Tells: rapid.Bool().Draw(t, "tells"),
			Boot: genWord.Draw(t, "boot"), Agent: genWord.Draw(t, "agent"), Call: genWord.Draw(t, "call"),
			StepNodes: genInt.Draw(t, "step nodes"), Request: genRequest.Draw(t, "request"),
		}
		if a.Action >= core.Running && rapid.Bool().Draw(t, "of no job") {
			a.Key = core.Key{}
		}
		return a
	})
	genPhase = rapid.Custom(func(t *rapid.T) core.HookPhase {
		return core.HookPhase{
			Name: genName.Draw(t, "name"), Action: core.Action(rapid.Uint8Range(uint8(core.Prepare), uint8(core.Room)).Draw(t, "action")),
			Root: rapid.Bool().Draw(t, "root"), Variables: list(t, "variables", genName, 4), Job: list(t, "job", genName, 2), Step: list(t, "step", genName, 2),
			First: list(t, "first", genName, 2), Asks: list(t, "asks", genName, 2), Stdin: genInt.Draw(t, "stdin"), Limit: time.Duration(rapid.Int64Range(1, 1<<62).Draw(t, "limit")),
		}
	})
	genOption = rapid.Custom(func(t *rapid.T) core.Option {
		return core.Option{
			Names: append([]string{genName.Draw(t, "name")}, list(t, "names", genName, maxAliases-1)...), Value: genText.Draw(t, "value"),
			Example: genText.Draw(t, "example"), Help: genText.Draw(t, "help"), Idle: rapid.Bool().Draw(t, "idle"),
		}
	})
	genOutcome = rapid.Custom(func(t *rapid.T) core.Outcome {
		o := core.Outcome{
			Action: core.Action(rapid.Uint8Max(uint8(core.Room)).Draw(t, "action")), Warnings: list(t, "warnings", genText, 3), Pending: rapid.Bool().Draw(t, "pending"),
			StepWarnings: list(t, "step warnings", genText, 3),
			Environment: list(t, "environment", rapid.Custom(func(t *rapid.T) core.Variable {
				return core.Variable{Name: rapid.StringMatching(`[A-Z][A-Z_0-9]{0,20}`).Draw(t, "name"), Value: genWord.Draw(t, "value"), Unset: rapid.Bool().Draw(t, "unset")}
			}), 4),
		}
		if rapid.Bool().Draw(t, "of a job") {
			o.Key = genKey.Draw(t, "key")
		}
		if rapid.Bool().Draw(t, "failed") {
			o.Err = genError.Draw(t, "error")
		}
		return o
	})
	genReply = rapid.Custom(func(t *rapid.T) core.HookReply {
		return core.HookReply{Stdout: octets(t, "stdout"), Stderr: octets(t, "stderr"), Exit: rapid.IntRange(0, 255).Draw(t, "exit")}
	})

	genRequest = rapid.Custom(func(t *rapid.T) core.Request {
		r := core.Request{
			Off: rapid.Bool().Draw(t, "off"), VNIs: genInt.Draw(t, "vnis"), JobVNI: rapid.Bool().Draw(t, "job vni"), SingleNode: rapid.Bool().Draw(t, "single node"),
			Classes: genClass.Draw(t, "classes"), Depth: genInt.Draw(t, "depth"), Collectives: rapid.Bool().Draw(t, "collectives"),
			Exact: rapid.Bool().Draw(t, "exact"), Warnings: list(t, "warnings", genText, 3),
		}
		number := rapid.Ptr(rapid.Uint16(), true) // nil asks for nothing, 0 asks for 0
		for i := range r.Limits {
			r.Limits[i] = core.LimitRequest{PerCore: number.Draw(t, "per core"), Reserved: number.Draw(t, "reserved"), Max: number.Draw(t, "max")}
		}
		return r
	})
	genFacts = rapid.Custom(func(t *rapid.T) core.Job {
		j := core.Job{
			GID: genUID.Draw(t, "gid"), User: genWord.Draw(t, "user"), Groups: list(t, "groups", genWord, 4), Account: genWord.Draw(t, "account"),
			Queue: genWord.Draw(t, "queue"), Name: genText.Draw(t, "name"), Request: genRequest.Draw(t, "request"), Gone: rapid.Bool().Draw(t, "gone"),
			Placements: list(t, "placements", rapid.Custom(func(t *rapid.T) core.Placement {
				return core.Placement{
					Hosts: genWord.Draw(t, "hosts"), Nodes: genInt.Draw(t, "nodes"), Cores: genInt.Draw(t, "cores"), Total: genInt.Draw(t, "total"),
				}
			}), 3),
		}
		told := rapid.Ptr(genWord, true)
		j.Told = core.Told{
			QOS: told.Draw(t, "qos"), Reservation: told.Draw(t, "reservation"), Constraints: told.Draw(t, "constraints"),
			TimeLimit: rapid.Ptr(rapid.Int64Min(0), true).Draw(t, "time limit"),
		}
		if !j.Gone || rapid.Bool().Draw(t, "with its run") {
			j.Run = genRun.Draw(t, "run")
		}
		return j
	})
	genJobs = rapid.Custom(func(t *rapid.T) core.Jobs {
		if rapid.Bool().Draw(t, "asking") {
			return core.Jobs{Asking: true}
		}
		if rapid.Bool().Draw(t, "silent") {
			return core.Jobs{Silent: "squeue: no answer"}
		}
		if rapid.Bool().Draw(t, "blind") {
			return core.Jobs{Blind: "PrivateData=jobs"}
		}
		return core.Jobs{Complete: rapid.Bool().Draw(t, "complete"), Jobs: list(t, "jobs", rapid.Custom(func(t *rapid.T) core.JobStatus {
			return core.JobStatus{
				Run: genRun.Draw(t, "run"), State: core.JobState(rapid.Uint8Range(uint8(core.JobQueued), uint8(core.JobFinal)).Draw(t, "state")), Hosts: genWord.Draw(t, "hosts"),
				Started: rapid.Int64().Draw(t, "started"),
			}
		}), 6)}
	})
	genRan = rapid.Custom(func(t *rapid.T) core.Ran {
		return core.Ran{Scheduler: genName.Draw(t, "scheduler"), Jobs: list(t, "jobs", rapid.Custom(func(t *rapid.T) core.JobStatus {
			return core.JobStatus{Run: genRun.Draw(t, "run"), State: core.JobRunning, Hosts: genWord.Draw(t, "hosts"), Started: rapid.Int64().Draw(t, "started")}
		}), 3), Whole: rapid.Bool().Draw(t, "whole")}
	})

	genHeld = rapid.Custom(func(t *rapid.T) core.Held {
		h := core.Held{
			Run: genRun.Draw(t, "run"), GID: genUID.Draw(t, "gid"), VNIs: list(t, "vnis", genVNI, core.MaxVNIs),
			State:    core.HeldState(rapid.Uint8Range(uint8(core.HeldPreparing), uint8(core.HeldClean)).Draw(t, "state")),
			Services: list(t, "services", genService, 2), Why: genText.Draw(t, "why"),
			Life:     core.Life(rapid.Uint8Range(0, uint8(core.LifeSeen)).Draw(t, "life")),
			Warnings: list(t, "warnings", genText, 3),
		}
		h.Steps = rapid.IntRange(0, len(h.VNIs)).Draw(t, "steps")
		return h
	})
	genSchedulerCall = rapid.Custom(func(t *rapid.T) core.SchedulerCall {
		c := core.SchedulerCall{
			ID: rapid.Uint64().Draw(t, "id"), Scheduler: genName.Draw(t, "scheduler"), Within: time.Duration(rapid.Int64().Draw(t, "within")),
			Verb: rapid.SampledFrom(append(core.SchedulerVerbs(), "", "dance")).Draw(t, "verb"), Key: genKey.Draw(t, "key"), Node: genName.Draw(t, "node"),
			Reason: genText.Draw(t, "reason"), Note: octets(t, "note"), From: genPeer.Draw(t, "from"),
		}
		if c.Verb == core.CallAnnotate || rapid.Bool().Draw(t, "a grant") {
			g := genGrant.Draw(t, "grant").Shown()
			c.Grant = &g
		}
		return c
	})
	genUnanswered = rapid.Custom(func(t *rapid.T) core.Unanswered {
		return core.Unanswered{Scheduler: genName.Draw(t, "scheduler"), Why: genText.Draw(t, "why"), From: rapid.Int64().Draw(t, "from"), Until: rapid.Int64().Draw(t, "until")}
	})
	genDrain = rapid.Custom(func(t *rapid.T) core.Drain {
		return core.Drain{Reason: genText.Draw(t, "reason"), By: genText.Draw(t, "by"), Since: rapid.Int64().Draw(t, "since")}
	})
	genDrained = rapid.Custom(func(t *rapid.T) core.Drained {
		return core.Drained{Hosts: genName.Draw(t, "hosts"), Drain: genDrain.Draw(t, "drain"), Hook: rapid.Bool().Draw(t, "hook")}
	})
	genSchedulerReply = rapid.Custom(func(t *rapid.T) core.SchedulerReply {
		r := core.SchedulerReply{ID: rapid.Uint64().Draw(t, "id")}
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			job := genFacts.Draw(t, "job")
			r.Job = &job
		case 2:
			r.Drained = list(t, "drained", genDrained, 3)
		case 1:
			r.Err = genError.Draw(t, "error")
		}
		return r
	})
	genNodeReply = rapid.Custom(func(t *rapid.T) core.NodeReply {
		r := core.NodeReply{ID: rapid.Uint64().Draw(t, "id"), Body: octets(t, "body"), Next: genText.Draw(t, "next")}
		if rapid.Bool().Draw(t, "fails") {
			r.Err = genError.Draw(t, "error")
		}
		return r
	})
	genNodeAsk = rapid.Custom(func(t *rapid.T) core.NodeAsk {
		return core.NodeAsk{
			ID: rapid.Uint64().Draw(t, "id"), Verb: genWord.Draw(t, "verb"), Within: time.Duration(rapid.Int64().Draw(t, "within")),
			Room: rapid.IntRange(0, core.MaxNodeReply).Draw(t, "room"), Cursor: genText.Draw(t, "cursor"),
		}
	})
	genStepID = rapid.Custom(func(t *rapid.T) core.StepID {
		return core.StepID{Run: genRun.Draw(t, "run"), Step: genWord.Draw(t, "step")}
	})
	genStepHeld = rapid.Custom(func(t *rapid.T) core.StepHeld {
		return core.StepHeld{
			StepID: genStepID.Draw(t, "id"), VNI: core.VNI(rapid.Uint16().Draw(t, "vni")), Nodes: genInt.Draw(t, "nodes"), Over: rapid.Bool().Draw(t, "over"),
		}
	})
	genReport = rapid.Custom(func(t *rapid.T) core.Report {
		if rapid.Bool().Draw(t, "answer") {
			return core.Report{Answer: &core.Forward{Scheduler: genName.Draw(t, "scheduler"), Ask: rapid.Uint64().Draw(t, "ask"), Jobs: genJobs.Draw(t, "jobs")}}
		}
		if rapid.Bool().Draw(t, "reply") {
			reply := genSchedulerReply.Draw(t, "reply")
			return core.Report{Reply: &reply}
		}
		if rapid.Bool().Draw(t, "told") {
			reply := genNodeReply.Draw(t, "told")
			return core.Report{Told: &reply}
		}
		return core.Report{
			Number: rapid.Uint64().Draw(t, "number"), Boot: genWord.Draw(t, "boot"), Agent: genWord.Draw(t, "agent"), Hardware: genWord.Draw(t, "hardware"), Seen: genHead.Draw(t, "seen"), Full: rapid.Bool().Draw(t, "full"), First: rapid.Bool().Draw(t, "first"),
			Devices: list(t, "devices", genName, 4), Held: list(t, "held", genHeld, 3), Unknown: list(t, "unknown", genService, 2),
			Blind: list(t, "blind", genName, 3), Unusable: list(t, "unusable", genName, 3), Changed: rapid.Bool().Draw(t, "changed"), Fault: genText.Draw(t, "fault"), Epilogs: list(t, "epilogs", genJobID, 3),
			Unanswered: list(t, "unanswered", genUnanswered, 3),
			Steps:      list(t, "steps", genStepHeld, 3),
		}
	})
	genOrders = rapid.Custom(func(t *rapid.T) core.Orders {
		o := core.Orders{
			Head: genHead.Draw(t, "head"), Heard: rapid.Uint64().Draw(t, "heard"), Forget: list(t, "forget", genRun, 3), Vouch: list(t, "vouch", genRun, 3),
			Calls: list(t, "calls", genSchedulerCall, 3), Ran: list(t, "ran", genRan, 2), Inventory: list(t, "inventory", genName, 4),
			TwoHosts: genText.Draw(t, "two hosts"), Asks: list(t, "asks", genNodeAsk, 3), Over: list(t, "over", genStepID, 3),
			Clean: list(t, "clean", rapid.Custom(func(t *rapid.T) core.Clean {
				return core.Clean{Run: genRun.Draw(t, "run"), VNIs: list(t, "vnis", genVNI, core.MaxVNIs)}
			}), 3),
		}
		if rapid.Bool().Draw(t, "a drain") {
			drain := genDrain.Draw(t, "drain")
			o.Drain = &drain
		}
		return o
	})

	genField = rapid.StringMatching(`[a-z][a-z_]{0,10}`)
	genInfo  = rapid.Custom(func(t *rapid.T) Info {
		return Info{
			Name: genName.Draw(t, "name"), Kind: genWord.Draw(t, "kind"), Version: genWord.Draw(t, "version"), Services: list(t, "services", genWord, 3),
			Abilities: list(t, "abilities", rapid.Custom(func(t *rapid.T) core.Ability { return core.Ability(genWord.Draw(t, "ability")) }), 3),
		}
	})
	genFinding = rapid.Custom(func(t *rapid.T) core.Finding {
		return core.Finding{
			Severity: core.Severity(rapid.Uint8Max(uint8(core.Critical)).Draw(t, "severity")), What: genText.Draw(t, "what"),
			Evidence: genText.Draw(t, "evidence"), Remedy: genText.Draw(t, "mend"),
			NICs: list(t, "nics", genName, 4),
		}
	})
)

// list is nil where it is empty, as what is decoded.
func list[T any](t *rapid.T, label string, g *rapid.Generator[T], most int) []T {
	if l := rapid.SliceOfN(g, 0, most).Draw(t, label); len(l) > 0 {
		return l
	}
	return nil
}

func octets(t *rapid.T, label string) []byte { return list(t, label, rapid.Byte(), 20) }

// genValue of a kind; an empty list is not nil, since a value's type is all that tells what it is.
func genValue(kind core.Kind, depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch kind {
		case core.KindString:
			return genText.Draw(t, "string")
		case core.KindInt:
			return rapid.Int64().Draw(t, "int")
		case core.KindBool:
			return rapid.Bool().Draw(t, "bool")
		case core.KindDuration:
			return time.Duration(rapid.Int64().Draw(t, "duration"))
		case core.KindStrings:
			return rapid.SliceOfN(genText, 0, 3).Draw(t, "strings")
		default:
			return rapid.SliceOfN(genValues(depth+1), 0, 2).Draw(t, "blocks")
		}
	})
}

func genKind(depth int) *rapid.Generator[core.Kind] {
	most := core.KindBlocks
	if depth > 2 {
		most = core.KindStrings
	}
	return rapid.Custom(func(t *rapid.T) core.Kind {
		return core.Kind(rapid.Uint8Range(uint8(core.KindString), uint8(most)).Draw(t, "kind"))
	})
}

func genValues(depth int) *rapid.Generator[core.Values] {
	return rapid.Custom(func(t *rapid.T) core.Values {
		v := core.Values{}
		for _, name := range rapid.SliceOfN(genField, 0, 3).Draw(t, "names") {
			v[name] = genValue(genKind(depth).Draw(t, "kind"), depth).Draw(t, "value")
		}
		return v
	})
}

func genSchema(depth int) *rapid.Generator[core.Schema] {
	return rapid.Custom(func(t *rapid.T) core.Schema {
		return core.Schema{Fields: list(t, "fields", rapid.Custom(func(t *rapid.T) core.Field {
			f := core.Field{
				Name: genField.Draw(t, "name"), Kind: genKind(depth).Draw(t, "kind"), Required: rapid.Bool().Draw(t, "required"), Doc: genText.Draw(t, "doc"),
			}
			if f.Kind == core.KindBlocks {
				f.Labels, f.Block = rapid.IntRange(0, 3).Draw(t, "labels"), genSchema(depth+1).Draw(t, "block")
			} else if rapid.Bool().Draw(t, "default") {
				f.Default = genValue(f.Kind, depth).Draw(t, "default")
			}
			return f
		}), 3)}
	})
}
