package rpc

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	authorityv1 "github.com/weft-hpc/weft/rpc/proto/weft/authority/v1"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
	hooksv1 "github.com/weft-hpc/weft/rpc/proto/weft/hooks/v1"
	nicv1 "github.com/weft-hpc/weft/rpc/proto/weft/nic/v1"
	pluginv1 "github.com/weft-hpc/weft/rpc/proto/weft/plugin/v1"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

// TestEdges gives each number the last value that is taken and the first that is not, in a message that is right but for it.
func TestEdges(t *testing.T) {
	key := func() *corev1.Key { return &corev1.Key{Scheduler: "tioga", Job: "1"} }
	run := func() *corev1.Run { return &corev1.Run{Key: key(), Uid: 1000} }
	vnis := func(n uint32) []uint32 {
		v := make([]uint32, n)
		for i := range v {
			v[i] = uint32(i) + 1
		}
		return v
	}
	service := func(change func(*corev1.Service)) func(*decoder) {
		s := &corev1.Service{Device: "cxi0"}
		change(s)
		return func(d *decoder) { d.service(s) }
	}
	spec := func(change func(*nicv1.Spec)) func(*decoder) {
		s := &nicv1.Spec{Device: "cxi0", Owner: &corev1.Owner{Kind: corev1.OwnerKind_OWNER_KIND_UID, Id: 1000}, Vnis: vnis(1)}
		change(s)
		return func(d *decoder) { d.spec(s) }
	}
	grant := func(change func(*corev1.Grant)) func(*decoder) {
		g := &corev1.Grant{Run: run()}
		change(g)
		return func(d *decoder) { d.grant(g) }
	}
	job := func(change func(*schedulerv1.Job)) func(*decoder) {
		j := &schedulerv1.Job{Run: run()}
		change(j)
		return func(d *decoder) { d.job(j) }
	}
	ask := func(change func(*corev1.Intent)) func(*decoder) {
		a := &corev1.Intent{Action: corev1.Action_ACTION_PREPARE, Key: key()}
		change(a)
		return func(d *decoder) { d.intent(a) }
	}
	held := func(change func(*authorityv1.Held)) func(*decoder) {
		h := &authorityv1.Held{Run: run(), State: authorityv1.HeldState_HELD_STATE_READY}
		change(h)
		return func(d *decoder) { d.held(h) }
	}
	for _, test := range []struct {
		what      string
		with      func(n uint32) func(*decoder)
		last, bad uint32
	}{
		{"classes of a job", func(n uint32) func(*decoder) { return spec(func(s *nicv1.Spec) { s.Classes = n }) }, 15, 16},
		{"classes of a grant", func(n uint32) func(*decoder) { return grant(func(g *corev1.Grant) { g.Classes = n }) }, 15, 16},
		{"classes of a request", func(n uint32) func(*decoder) {
			return job(func(j *schedulerv1.Job) { j.Request = &schedulerv1.Request{Classes: n} })
		}, 15, 16},
		{"classes of a service", func(n uint32) func(*decoder) { return service(func(s *corev1.Service) { s.Classes = n }) }, 31, 32},
		{"classes beyond a byte", func(n uint32) func(*decoder) { return service(func(s *corev1.Service) { s.Classes = n }) }, 1, 256},
		{"VNI", func(n uint32) func(*decoder) { return service(func(s *corev1.Service) { s.Vnis = []uint32{n} }) }, 65535, 65536},
		{"VNI 0", func(n uint32) func(*decoder) { return service(func(s *corev1.Service) { s.Vnis = []uint32{n} }) }, 1, 0},
		{"VNIs to make", func(n uint32) func(*decoder) { return spec(func(s *nicv1.Spec) { s.Vnis = vnis(n) }) }, 4, 5},
		{"no VNI to make", func(n uint32) func(*decoder) { return spec(func(s *nicv1.Spec) { s.Vnis = vnis(n) }) }, 1, 0},
		{"VNIs of a grant", func(n uint32) func(*decoder) { return grant(func(g *corev1.Grant) { g.Vnis = vnis(n) }) }, 4, 5},
		{"VNIs of a run", func(n uint32) func(*decoder) { return held(func(h *authorityv1.Held) { h.Vnis = vnis(n) }) }, 4, 5},
		{"kind of owner", func(n uint32) func(*decoder) {
			return service(func(s *corev1.Service) { s.Owner = &corev1.Owner{Kind: corev1.OwnerKind(n)} })
		}, 3, 4},
		{"no owner", func(n uint32) func(*decoder) { return spec(func(s *nicv1.Spec) { s.Owner.Kind = corev1.OwnerKind(n) }) }, 1, 0},
		{"uid of an owner", func(n uint32) func(*decoder) { return spec(func(s *nicv1.Spec) { s.Owner.Id = n }) }, core.NoUID - 1, core.NoUID},
		{"uid of a run", func(n uint32) func(*decoder) { return grant(func(g *corev1.Grant) { g.Run.Uid = n }) }, core.NoUID - 1, core.NoUID},
		{"gid of a grant", func(n uint32) func(*decoder) { return grant(func(g *corev1.Grant) { g.Gid = n }) }, core.NoUID - 1, core.NoUID},
		{"max", func(n uint32) func(*decoder) {
			return spec(func(s *nicv1.Spec) { s.Limits = &corev1.Limits{Acs: &corev1.Limit{Max: n}} })
		}, 65535, 65536},
		{"reserved", func(n uint32) func(*decoder) {
			return spec(func(s *nicv1.Spec) { s.Limits = &corev1.Limits{Ptes: &corev1.Limit{Max: 7, Reserved: n}} })
		}, 7, 8},
		{"reserved of a grant", func(n uint32) func(*decoder) {
			return grant(func(g *corev1.Grant) { g.Limits = &corev1.Limits{Les: &corev1.Limit{Max: 7, Reserved: n}} })
		}, 7, 8},
		{"floor", func(n uint32) func(*decoder) {
			return grant(func(g *corev1.Grant) { g.Floor = &corev1.Counts{Eqs: n} })
		}, 65535, 65536},
		{"limit asked for", func(n uint32) func(*decoder) {
			return job(func(j *schedulerv1.Job) {
				j.Request = &schedulerv1.Request{Limits: &schedulerv1.LimitRequests{Cts: &schedulerv1.LimitRequest{PerCore: &n}}}
			})
		}, 65535, 65536},
		{"supply", func(n uint32) func(*decoder) {
			return func(d *decoder) {
				d.nic(&nicv1.Device{Name: "cxi0", Capacity: &nicv1.Capacity{Tles: &nicv1.Supply{PoolsLeft: n}}})
			}
		}, 65535, 65536},
		{"address", func(n uint32) func(*decoder) {
			return func(d *decoder) { d.nic(&nicv1.Device{Name: "cxi0", Address: n}) }
		}, 1<<20 - 1, 1 << 20},
		{"RGIDs", func(n uint32) func(*decoder) {
			return func(d *decoder) { d.nic(&nicv1.Device{Name: "cxi0", RgidsTotal: n}) }
		}, math.MaxUint16, math.MaxUint16 + 1},
		{"free RGIDs", func(n uint32) func(*decoder) {
			return func(d *decoder) { d.nic(&nicv1.Device{Name: "cxi0", RgidsFree: n}) }
		}, math.MaxUint16, math.MaxUint16 + 1},
		{"a profile's classes", func(n uint32) func(*decoder) {
			return func(d *decoder) { d.nic(&nicv1.Device{Name: "cxi0", Classes: n}) }
		}, uint32(core.AllClasses), uint32(core.AllClasses) + 1},
		{"fewest NICs", func(n uint32) func(*decoder) { return grant(func(g *corev1.Grant) { g.MinNics = n }) }, 1<<31 - 1, 1 << 31},
		{"nodes of a share", func(n uint32) func(*decoder) {
			return job(func(j *schedulerv1.Job) { j.Placements = []*schedulerv1.Placement{{Nodes: n}} })
		}, 1<<31 - 1, 1 << 31},
		{"action", func(n uint32) func(*decoder) { return ask(func(a *corev1.Intent) { a.Action = corev1.Action(n) }) }, 6, 7},
		{"no action", func(n uint32) func(*decoder) { return ask(func(a *corev1.Intent) { a.Action = corev1.Action(n) }) }, 1, 0},
		{"note", func(n uint32) func(*decoder) { return ask(func(a *corev1.Intent) { a.Note = make([]byte, n) }) }, core.MaxNote, core.MaxNote + 1},
		{"jobs alive", func(n uint32) func(*decoder) {
			return ask(func(a *corev1.Intent) {
				a.Alive = make([]*corev1.Key, n)
				for i := range a.Alive {
					a.Alive[i] = key()
				}
			})
		}, maxRuns, maxRuns + 1},
		{"qos", func(n uint32) func(*decoder) {
			return job(func(j *schedulerv1.Job) { j.Qos = new(strings.Repeat("q", int(n))) })
		}, maxWord, maxWord + 1},
		{"time limit", func(n uint32) func(*decoder) {
			return job(func(j *schedulerv1.Job) { j.TimeLimit = new(int64(int32(n))) })
		}, 0, 1<<32 - 1},
		{"step", func(n uint32) func(*decoder) {
			return ask(func(a *corev1.Intent) { a.Step = strings.Repeat("s", int(n)) })
		}, maxWord, maxWord + 1},
		{"job id", func(n uint32) func(*decoder) {
			return ask(func(a *corev1.Intent) { a.Key.Job = strings.Repeat("1", int(n)) })
		}, core.MaxJobID, core.MaxJobID + 1},
		{"scheduler", func(n uint32) func(*decoder) {
			return ask(func(a *corev1.Intent) { a.Key.Scheduler = strings.Repeat("s", int(n)) })
		}, core.MaxScheduler, core.MaxScheduler + 1},
		{"NIC's name", func(n uint32) func(*decoder) {
			return service(func(s *corev1.Service) { s.Device = strings.Repeat("c", int(n)) })
		}, maxDevice, maxDevice + 1},
		{"state of a run", func(n uint32) func(*decoder) {
			return held(func(h *authorityv1.Held) { h.State = authorityv1.HeldState(n) })
		}, 5, 6},
		{"no state of a run", func(n uint32) func(*decoder) {
			return held(func(h *authorityv1.Held) { h.State = authorityv1.HeldState(n) })
		}, 1, 0},
		{"state of a job", func(n uint32) func(*decoder) {
			return func(d *decoder) {
				d.jobs(&corev1.Jobs{Jobs: []*corev1.JobStatus{{Run: run(), State: corev1.JobState(n)}}})
			}
		}, 3, 4},
		{"exit code", func(n uint32) func(*decoder) {
			return func(d *decoder) { d.reply(&hooksv1.RenderReply{Exit: int32(n)}) }
		}, 255, 256},
		{"phase's limit", func(n uint32) func(*decoder) {
			return func(d *decoder) {
				d.phase(&hooksv1.Phase{Name: "prolog", Action: corev1.Action_ACTION_PREPARE, Limit: int64(n)})
			}
		}, 1, 0},
		{"phase's variables", func(n uint32) func(*decoder) {
			return func(d *decoder) {
				d.phase(&hooksv1.Phase{Name: "prolog", Action: corev1.Action_ACTION_PREPARE, Limit: 1, Variables: make([]string, n)})
			}
		}, maxNames, maxNames + 1},
		{"severity", func(n uint32) func(*decoder) {
			return func(d *decoder) { d.finding(&pluginv1.Finding{Severity: pluginv1.Severity(n)}) }
		}, 4, 5},
		{"no severity", func(n uint32) func(*decoder) {
			return func(d *decoder) { d.finding(&pluginv1.Finding{Severity: pluginv1.Severity(n)}) }
		}, 1, 0},
		{"kind of a field", func(n uint32) func(*decoder) {
			return func(d *decoder) {
				d.schema(&pluginv1.Schema{Fields: []*pluginv1.Field{{Name: "a", Kind: pluginv1.Kind(n)}}}, 0)
			}
		}, 6, 7},
	} {
		for n, taken := range map[uint32]bool{test.last: true, test.bad: false} {
			d := &decoder{}
			test.with(n)(d)
			if taken != (d.err == nil) {
				t.Errorf("%s %d: taken %v, error %v", test.what, n, d.err == nil, d.err)
			}
			if d.err != nil && (d.err.Reason != core.BadCall || d.err.Remedy == "") {
				t.Errorf("%s %d: %q", test.what, n, d.err.Reason)
			}
		}
	}
}

// TestNobodyIsNotRoot: a message that leaves out who calls must not become uid 0.
func TestNobodyIsNotRoot(t *testing.T) {
	d := &decoder{}
	if p := d.peer(nil); p.Root() || d.err == nil {
		t.Errorf("%+v, %v", p, d.err)
	}
}

// TestTokensAreNotInComplaints: what is wrong with a secret is said without it.
func TestTokensAreNotInComplaints(t *testing.T) {
	d := &decoder{}
	d.collective(&corev1.Collective{Token: strings.Repeat("secret", maxURL)})
	if d.err == nil || strings.Contains(d.err.Line(), "secret") {
		t.Errorf("%v", d.err)
	}
}
