package rpc

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/fulltest"
	authorityv1 "github.com/weft-hpc/weft/rpc/proto/weft/authority/v1"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
	fabricv1 "github.com/weft-hpc/weft/rpc/proto/weft/fabric/v1"
	hooksv1 "github.com/weft-hpc/weft/rpc/proto/weft/hooks/v1"
	nicv1 "github.com/weft-hpc/weft/rpc/proto/weft/nic/v1"
	pluginv1 "github.com/weft-hpc/weft/rpc/proto/weft/plugin/v1"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

// errorsWhole compares what of an error crosses; its cause stays where it is.
var errorsWhole = cmp.Options{
	cmp.Comparer(func(a, b *core.Error) bool {
		return a == nil && b == nil || a != nil && b != nil && a.Code == b.Code && a.Reason == b.Reason && a.What == b.What && a.Remedy == b.Remedy && cmp.Equal(a.Short, b.Short)
	}),
}

// trip takes a value through the bytes of its message and back. It compares the golden messages, too.
func trip[D any, P proto.Message](t *testing.T, gen *rapid.Generator[D], encode func(D) P, empty func() P, decode func(*decoder, P) D, stays ...string) {
	t.Helper()
	drawn := fields{} // of the same values every time: random ones would leave a field out once in a while
	for seed := range 300 {
		drawn.see(reflect.ValueOf(gen.Example(seed)))
	}
	rapid.Check(t, func(t *rapid.T) {
		want := gen.Draw(t, "value")
		wire, err := proto.Marshal(encode(want))
		if err != nil {
			t.Fatal(err)
		}
		m := empty()
		if err := proto.Unmarshal(wire, m); err != nil {
			t.Fatal(err)
		}
		d := &decoder{}
		got := decode(d, m)
		if d.err != nil {
			t.Fatalf("%v", d.err)
		}
		if diff := cmp.Diff(want, got, errorsWhole); diff != "" {
			t.Fatalf("(-sent +received)\n%s", diff)
		}
	})
	for name, seen := range drawn {
		if seen == slices.Contains(stays, name) {
			if seen {
				t.Errorf("%s crosses, and must stay", name)
				continue
			}
			t.Errorf("%s was never drawn, so nothing shows that it crosses", name)
		}
	}
	goldens = append(goldens, golden(t, encode)...)
	released(t, releases, gen, encode, empty, decode)
}

// fields are those that core's structs have, and whether a value other than zero was drawn for each: a field that core gains and no generator knows would
// cross as nothing, unnoticed.
type fields map[string]bool

func (f fields) see(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			f.see(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			f.see(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			at := v.Type().Field(i)
			if !at.IsExported() {
				continue
			}
			name := v.Type().String() + "." + at.Name
			f[name] = f[name] || !v.Field(i).IsZero()
			f.see(v.Field(i))
		}
	default:
	}
}

func fresh[T any]() *T { return new(T) }

// releases are the messages of the release marks.
var releases *fulltest.Released

func TestEveryMessageCrossesWhole(t *testing.T) {
	releases = fulltest.ReadReleased(t)
	t.Run("Key", func(t *testing.T) { trip(t, genKey, encodeKey, fresh[corev1.Key], (*decoder).key) })
	t.Run("JobID", func(t *testing.T) {
		trip(t, genJobID, encodeJobID, fresh[corev1.JobID], func(d *decoder, p *corev1.JobID) core.JobID { return d.jobID(p.GetScheduler(), p.GetJob()) })
	})
	t.Run("Run", func(t *testing.T) { trip(t, genRun, encodeRun, fresh[corev1.Run], (*decoder).run) })
	t.Run("Head", func(t *testing.T) { trip(t, genHead, encodeHead, fresh[corev1.Head], (*decoder).head) })
	t.Run("Peer", func(t *testing.T) { trip(t, genPeer, encodePeer, fresh[corev1.Peer], (*decoder).peer) })
	t.Run("Error", func(t *testing.T) {
		trip(t, genError, func(e *core.Error) *corev1.Error { return encodeError(e) }, fresh[corev1.Error], func(_ *decoder, p *corev1.Error) *core.Error { return local.fault(p) })
	})
	t.Run("Limits", func(t *testing.T) { trip(t, genLimits, encodeLimits, fresh[corev1.Limits], (*decoder).wanted) })
	t.Run("Counts", func(t *testing.T) { trip(t, genCounts, encodeCounts, fresh[corev1.Counts], (*decoder).counts) })
	t.Run("Owner", func(t *testing.T) { trip(t, genOwner, encodeOwner, fresh[corev1.Owner], (*decoder).owner) })
	t.Run("Service", func(t *testing.T) { trip(t, genService, encodeService, fresh[corev1.Service], (*decoder).service) })
	t.Run("Spec", func(t *testing.T) { trip(t, genSpec, encodeSpec, fresh[nicv1.Spec], (*decoder).spec) })
	t.Run("Reading", func(t *testing.T) { trip(t, genReading, encodeReading, fresh[nicv1.ReadReply], (*decoder).reading) })
	t.Run("Device", func(t *testing.T) { trip(t, genDevice, encodeDevice, fresh[nicv1.Device], (*decoder).nic) })
	t.Run("Created", func(t *testing.T) {
		trip(t, genCreated, encodeCreated, fresh[nicv1.Created], func(d *decoder, p *nicv1.Created) core.Created { return d.created(nicRemote, p) })
	})
	t.Run("Collective", func(t *testing.T) {
		trip(t, genCollective, encodeCollective, fresh[corev1.Collective], (*decoder).collective)
	})
	t.Run("Fabric", func(t *testing.T) {
		trip(t, genFabric, encodeFabric, fresh[fabricv1.CollectivesReply], (*decoder).fabric)
	})
	t.Run("Grant", func(t *testing.T) { trip(t, genGrant, encodeGrant, fresh[corev1.Grant], (*decoder).grant) })
	t.Run("Call", func(t *testing.T) { trip(t, genCall, encodeCall, fresh[hooksv1.Call], (*decoder).call) })
	t.Run("Intent", func(t *testing.T) { trip(t, genIntent, encodeIntent, fresh[corev1.Intent], (*decoder).intent) })
	t.Run("Option", func(t *testing.T) { trip(t, genOption, encodeOption, fresh[hooksv1.Option], (*decoder).option) })
	t.Run("Phase", func(t *testing.T) { trip(t, genPhase, encodePhase, fresh[hooksv1.Phase], (*decoder).phase) })
	t.Run("Outcome", func(t *testing.T) { trip(t, genOutcome, encodeOutcome, fresh[hooksv1.Outcome], (*decoder).outcome) })
	t.Run("Reply", func(t *testing.T) { trip(t, genReply, encodeReply, fresh[hooksv1.RenderReply], (*decoder).reply) })
	t.Run("Job", func(t *testing.T) { trip(t, genFacts, encodeJob, fresh[schedulerv1.Job], (*decoder).job) })
	t.Run("Request", func(t *testing.T) { trip(t, genRequest, encodeRequest, fresh[schedulerv1.Request], (*decoder).request) })
	t.Run("Jobs", func(t *testing.T) {
		trip(t, genJobs, func(j core.Jobs) *corev1.Jobs { return encodeJobs(j)[0] }, fresh[corev1.Jobs], (*decoder).jobs)
	})
	t.Run("Report", func(t *testing.T) {
		trip(t, genReport, func(r core.Report) *authorityv1.AttendRequest { return encodeReport(r)[0] }, fresh[authorityv1.AttendRequest],
			func(d *decoder, p *authorityv1.AttendRequest) core.Report {
				g := reports{gathering: gathering{most: maxForwarded}}
				r, _ := g.add(d, p)
				return r
			}, "core.Report.From")
	})
	t.Run("Held", func(t *testing.T) { trip(t, genHeld, encodeHeld, fresh[authorityv1.Held], (*decoder).held) })
	t.Run("Orders", func(t *testing.T) {
		trip(t, genOrders, encodeOrders, fresh[authorityv1.Orders], (*decoder).orders, "core.Collective.Token")
	})
	t.Run("Values", func(t *testing.T) {
		trip(t, genValues(0), encodeValues, fresh[pluginv1.Values], func(d *decoder, p *pluginv1.Values) core.Values { return d.values(p, 0) })
	})
	t.Run("Schema", func(t *testing.T) {
		trip(t, genSchema(0), encodeSchema, fresh[pluginv1.Schema], func(d *decoder, p *pluginv1.Schema) core.Schema { return d.schema(p, 0) })
	})
	t.Run("Info", func(t *testing.T) { trip(t, genInfo, encodeInfo, fresh[pluginv1.InfoReply], (*decoder).info) })
	t.Run("Finding", func(t *testing.T) { trip(t, genFinding, encodeFinding, fresh[pluginv1.Finding], (*decoder).finding) })
	unlike(t, goldens)
	releases.Done()
}
