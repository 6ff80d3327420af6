package history

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/dev/schedulertest"
)

// stepd is a step's process on a node, as slurmstepd is.
type stepd struct {
	b        *box
	boot     string
	id       core.StepID
	nodes    int
	keeper   node.Keeper
	dead     bool
	answered bool
	vni      core.VNI // 0: it shares the job's
	excused  bool     // the store lost its draw, and cannot know
	kept     bool     // an older store may have it as living: its VNI comes back with its job's
	told     int      // the server's process that it had its answer of
}

// lives reports whether the process can still use its VNI. Its scheduler ends it with its job.
func (d *stepd) lives() bool {
	if !d.b.powered || d.boot != d.b.boot || !d.b.w.sched.Lives(d.id.Run, d.b.name) {
		d.dead = true
	}
	return !d.dead
}

// drawing has policy give VNIs to steps, too.
func (w *world) drawing(d engine.Decision, j core.Job) engine.Decision {
	if d.Deny == nil && len(d.VNIs) > 0 && w.drawable > 0 {
		d.VNIs = append(d.VNIs, slices.Repeat([]engine.Wanted{{Name: "step", Pool: poolName}}, w.drawable)...)
		d.Steps, d.Beyond = uint8(w.drawable), engine.Beyond(j.Submitted%2)
		d.Quotas[0].Most += 4 * w.drawable
	}
	return d
}

// stepLife begins a step of a job, or ends one.
func (w *world) stepLife(running []*schedulertest.Job) {
	w.stepds = slices.DeleteFunc(w.stepds, func(d *stepd) bool { return d.dead && !d.answered })
	var live []*stepd
	for _, d := range w.stepds {
		if d.lives() {
			live = append(live, d)
		}
	}
	if n := len(live); n > 0 && w.odds(400) {
		w.endStep(live[w.rng.IntN(n)])
		return
	}
	if len(running) == 0 {
		return
	}
	j := running[w.rng.IntN(len(running))]
	hosts := slices.Clone(j.Hosts)
	if len(hosts) > 1 && w.odds(500) {
		hosts = hosts[:1]
	}
	w.stepID++
	w.say("step %d of %v begins on %v", w.stepID, j.Run, hosts)
	for _, name := range hosts {
		b := w.at(name)
		if !b.powered {
			continue
		}
		w.processes++
		d := &stepd{
			b: b, boot: b.boot, id: core.StepID{Run: j.Run, Step: strconv.Itoa(w.stepID)}, nodes: len(hosts),
			keeper: node.Keeper{PID: int32(w.rng.IntN(4)), Start: w.processes},
		}
		w.stepds = append(w.stepds, d)
		begin := schedulertest.Hook{Node: name, Action: core.Prepare, Key: j.Key, UID: j.UID, Run: j.Run}
		w.hooks = append(w.hooks, &hook{Hook: begin, b: b, stepd: d})
	}
}

// endStep ends a process. It says so, or was killed.
func (w *world) endStep(d *stepd) {
	if !d.lives() {
		return
	}
	d.dead = true
	said := w.odds(500)
	w.say("%s: step %s of %v ends, and says so: %v", d.b.name, d.id.Step, d.id.Run, said)
	if said {
		end := schedulertest.Hook{Node: d.b.name, Action: core.StepEnd, Key: d.id.Key, UID: d.id.UID, Run: d.id.Run}
		w.hooks = append(w.hooks, &hook{Hook: end, b: d.b, stepd: d})
	}
}

// stepHook makes in the call of a step's process.
func (h *hook) stepHook(in *node.Hook) {
	d := h.stepd
	in.Ask.Key.Generation = core.AnyGeneration
	in.Ask.Step, in.Ask.StepNodes, in.Ask.Tells, in.Ask.Speaks = d.id.Step, d.nodes, h.Action == core.Prepare, true
	if d.lives() || h.Action == core.StepEnd {
		in.Keeper = d.keeper
	}
}

// missKeepers has b's agent see which processes are gone.
func (w *world) missKeepers(b *box) {
	for b.agent.up {
		gone := slices.IndexFunc(b.agent.m.Keepers(), func(k node.Keeper) bool {
			return !slices.ContainsFunc(w.stepds, func(d *stepd) bool { return d.b == b && d.keeper == k && d.lives() })
		})
		if gone < 0 {
			return
		}
		b.input(node.KeeperGone{Keeper: b.agent.m.Keepers()[gone]})
	}
}

// drew judges the answer to a step: no two live steps share a drawn VNI, and a step has one on all its nodes.
func (l *law) drew(b *box, h *hook, o core.Outcome) {
	d := h.stepd
	if d == nil || !d.lives() {
		return
	}
	first, _, _ := strings.Cut(variable(o.Environment, "SLINGSHOT_VNIS"), ",")
	n, _ := strconv.Atoi(first)
	v := core.VNI(n)
	e, ok := b.entry(d.id.Run)
	if !ok || !slices.Contains(e.Grant.Drawable(), v) {
		v = 0
	}
	if l.zombies[d.id.Run] || l.excused[v] || !ok { // the node has no record: it took the id for an earlier job
		d.excused = true
	}
	d.answered, d.vni, d.told = true, v, l.w.srv.proc
	for _, other := range l.w.stepds {
		switch {
		case other == d || !other.answered || other.excused || d.excused || !other.lives():
		case other.id.Run != d.id.Run && other.b.stands(other.id.Run) == "": // it can use its VNI no more
		case other.id == d.id && other.vni != v:
			l.w.fail("R10: step %s of %v has VNI %d on %s, and %d on %s",
				d.id.Step, d.id.Run, v, b.name, other.vni, other.b.name)
		case other.id != d.id && other.vni == v && v != 0:
			l.w.fail("R10: VNI %d is drawn by step %s of %v on %s, and now by step %s of %v on %s",
				v, other.id.Step, other.id.Run, other.b.name, d.id.Step, d.id.Run, b.name)
		}
	}
}

// excuseSteps is for a loss of the store's past, of which the server knows or not.
func (l *law) excuseSteps(known bool) {
	for _, d := range l.w.stepds {
		d.kept, d.excused = true, d.excused || !known
	}
}

func variable(env []core.Variable, name string) string {
	for _, v := range env {
		if v.Name == name && !v.Unset {
			return v.Value
		}
	}
	return ""
}

// fits reports whether a SLINGSHOT_VNIS is one that the grant may show: the job's own, or a step's and the job's.
func fits(g core.Grant, vnis string) bool {
	own := g.Own()
	if vnis == core.FormatVNIs(own) {
		return true
	}
	if len(own) > 1 {
		own = own[1:]
	}
	return slices.ContainsFunc(g.Drawable(), func(v core.VNI) bool {
		return vnis == core.FormatVNIs(append([]core.VNI{v}, own...))
	})
}

// healSteps ends all steps while their jobs live. Every VNI whose step had an answer on each of its nodes comes back.
func (w *world) healSteps() {
	for _, d := range w.stepds {
		w.endStep(d)
	}
	for range 3 {
		w.settle()
		w.pass(5 * time.Second)
	}
	w.settle()
	for v := range w.srv.m.Reservations(0) {
		if v.State != engine.Active {
			continue
		}
		for _, draw := range v.Steps {
			known := 0
			for _, d := range w.stepds {
				e, ok := d.b.entry(v.Job.Run)
				ended := ok && e.State == node.Ready && d.boot == d.b.boot && d.answered
				ended = ended || d.answered && d.b.powered && d.boot != d.b.boot && d.told == w.srv.proc // it has rebooted
				if ended && d.id.Run == v.Job.Run && d.id.Step == draw.Step && !d.kept && !w.law.paired[d.b.name] {
					known++
				}
			}
			if known >= draw.Nodes {
				w.fail("liveness: step %s of %v is over on its %d nodes, and still has VNI %d",
					draw.Step, v.Job.Run, draw.Nodes, draw.VNI)
			}
		}
	}
}
