package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

type fakeScheduler struct {
	got     []any
	job     core.Job
	drained []core.Drained
	fail    error
	watch   func(context.Context, func(core.Jobs) error) error
}

func (f *fakeScheduler) Describe(_ context.Context, k core.Key, note []byte, from core.Peer) (core.Job, error) {
	f.got = append(f.got, k, note, from)
	return f.job, f.fail
}

func (f *fakeScheduler) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	return f.watch(ctx, tell)
}

func (f *fakeScheduler) Fail(_ context.Context, k core.Key, reason string) error {
	f.got = append(f.got, k, reason)
	return f.fail
}

func (f *fakeScheduler) Drain(_ context.Context, node, reason string) error {
	f.got = append(f.got, node, reason)
	return f.fail
}

type fakeAnnotator struct{ *fakeScheduler }

func (f fakeAnnotator) Annotate(_ context.Context, k core.Key, g core.Grant) error {
	f.got = append(f.got, k, g)
	return f.fail
}

func (f fakeAnnotator) Resume(_ context.Context, node string) error {
	f.got = append(f.got, node)
	return f.fail
}

func (f fakeAnnotator) Down(_ context.Context, node string) error {
	f.got = append(f.got, node)
	return f.fail
}

func (f fakeAnnotator) Drained(context.Context) ([]core.Drained, error) {
	f.got = append(f.got, "drained")
	return f.drained, f.fail
}

func (f fakeAnnotator) Requeue(_ context.Context, k core.Key, reason string) error {
	f.got = append(f.got, k, reason)
	return f.fail
}

func (f fakeAnnotator) Blame(_ context.Context, k core.Key, node, reason string) error {
	f.got = append(f.got, k, node, reason)
	return f.fail
}

func wireScheduler(t testing.TB, f core.Scheduler) core.SchedulerClient {
	return NewScheduler(wire(t, func(s *grpc.Server) { ServeScheduler(s, core.Dispatcher{Of: f}) }), core.Abilities(f))
}

func TestScheduler(t *testing.T) {
	f := &fakeScheduler{}
	c := wireScheduler(t, fakeAnnotator{f})
	rapid.Check(t, func(t *rapid.T) {
		f.got, f.fail, f.job, f.drained = nil, nil, genFacts.Draw(t, "job"), list(t, "drained", genDrained, 3)
		call := core.SchedulerCall{
			Scheduler: genName.Draw(t, "scheduler"), Key: genKey.Draw(t, "key"), Note: octets(t, "note"), From: genPeer.Draw(t, "peer"),
			Reason: genText.Draw(t, "reason"), Node: genName.Draw(t, "node"),
		}
		grant := genGrant.Draw(t, "grant")
		call.Grant = &grant
		shown := grant.Shown() // the token stays here
		want := map[core.SchedulerVerb][]any{
			core.CallDescribe: {call.Key, call.Note, call.From}, core.CallFail: {call.Key, call.Reason}, core.CallDrain: {call.Node, call.Reason},
			core.CallRequeue: {call.Key, call.Reason}, core.CallAnnotate: {call.Key, shown}, core.CallResume: {call.Node},
			core.CallDown: {call.Node}, core.CallDrained: {"drained"}, core.CallBlame: {call.Key, call.Node, call.Reason},
		}
		answers := map[core.SchedulerVerb]core.SchedulerReply{core.CallDescribe: {Job: &f.job}, core.CallDrained: {Drained: f.drained}}
		e := genError.Draw(t, "error")
		for _, verb := range core.SchedulerVerbs() {
			call.Verb = verb
			f.got, f.fail = nil, nil
			reply, err := c.Call(context.Background(), call)
			if err != nil || !c.Has(verb) {
				t.Fatalf("%s: %v", verb, err)
			}
			if diff := cmp.Diff(want[verb], f.got); diff != "" {
				t.Fatalf("%s (-want +got)\n%s", verb, diff)
			}
			if diff := cmp.Diff(answers[verb], reply); diff != "" {
				t.Fatalf("%s (-want +got)\n%s", verb, diff)
			}
			f.fail = e
			reply, err = c.Call(context.Background(), call)
			if !cmp.Equal(core.SchedulerReply{}, reply) || !cmp.Equal(e, core.AsError(err), errorsWhole) {
				t.Fatalf("%s: %v, want %v", verb, err, e)
			}
		}
	})
}

// TestNoTokenGoesToANode looks at the order's own bytes: the half of a scheduler shows a grant to whoever may read its record.
func TestNoTokenGoesToANode(t *testing.T) {
	g := core.Grant{VNIs: []core.VNI{1024}, Collective: &core.Collective{JobID: "7", Token: "s3cr3t", Addresses: 8}}
	b, err := proto.Marshal(encodeSchedulerCall(core.SchedulerCall{ID: 1, Scheduler: "f", Verb: core.CallAnnotate, Key: core.Key{JobID: core.JobID{Scheduler: "f", Job: "1"}}, Grant: &g}))
	if err != nil || bytes.Contains(b, []byte("s3cr3t")) {
		t.Errorf("%q, %v", b, err)
	}
}

// TestVerbsAreOptional: a client that was told of none sends nothing, and an adapter that is asked all the same says so itself.
func TestVerbsAreOptional(t *testing.T) {
	f := &fakeScheduler{}
	conn := wire(t, func(s *grpc.Server) { ServeScheduler(s, core.Dispatcher{Of: f}) })
	key := core.Key{JobID: core.JobID{Scheduler: "s", Job: "1"}}
	for _, verb := range core.SchedulerVerbs() {
		call := core.SchedulerCall{Scheduler: "s", Verb: verb, Key: key, Node: "n1", Reason: "why", Grant: &core.Grant{Run: core.Run{Key: key}}}
		if _, err := NewScheduler(conn, nil).Call(t.Context(), call); !errors.Is(err, core.Unsupported) || f.got != nil {
			t.Errorf("%s: %v, and the adapter heard %v", verb, err, f.got)
		}
	}
	for _, verb := range []core.SchedulerVerb{core.CallAnnotate, core.CallResume, core.CallRequeue, "dance"} {
		call := core.SchedulerCall{Scheduler: "s", Verb: verb, Key: key, Node: "n1", Reason: "why", Grant: &core.Grant{Run: core.Run{Key: key}}}
		if _, err := NewScheduler(conn, []core.Ability{core.Ability(verb)}).Call(t.Context(), call); !errors.Is(err, core.Unsupported) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// TestACallNamesWhatItIsAbout: no adapter is asked about the job, or told of the node, of no name.
func TestACallNamesWhatItIsAbout(t *testing.T) {
	f := &fakeScheduler{}
	c := wireScheduler(t, fakeAnnotator{f})
	verbs := slices.DeleteFunc(core.SchedulerVerbs(), func(v core.SchedulerVerb) bool { return v == core.CallDrained })
	for _, verb := range verbs {
		if _, err := c.Call(t.Context(), core.SchedulerCall{Scheduler: "s", Verb: verb}); core.AsError(err).Reason != core.BadCall || f.got != nil {
			t.Errorf("%s: %v, and the adapter heard %v", verb, err, f.got)
		}
	}
}

// TestTellReturnsWhenHeard looks at the adapter while the consumer is still being told: until then the adapter must not go on to ask its scheduler.
func TestTellReturnsWhenHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		went := 0 // how many messages the adapter got rid of
		f := &fakeScheduler{watch: func(_ context.Context, tell func(core.Jobs) error) error {
			for _, j := range []core.Jobs{{Asking: true}, {Complete: true}, {}, {Asking: true}} {
				if err := tell(j); err != nil {
					return err
				}
				went++
			}
			return nil
		}}
		told := 0
		if err := wireScheduler(t, f).Watch(t.Context(), func(core.Jobs) error {
			synctest.Wait() // everybody else has gone as far as it can
			if went != told {
				t.Errorf("the adapter went on with %d messages while the consumer had heard %d", went, told)
			}
			told++
			return nil
		}); err != nil || told != 4 {
			t.Errorf("%d: %v", told, err)
		}
	})
}

func TestWatchTellsLargeAnswersWhole(t *testing.T) {
	want := core.Jobs{Complete: true}
	for i := range 30_000 {
		want.Jobs = append(want.Jobs, core.JobStatus{
			Run:   core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "tioga", Job: fmt.Sprint(i + 1)}}, Fingerprint: core.Fingerprint{UID: 1000, Submitted: 1}},
			State: core.JobRunning, Hosts: strings.Repeat("n", 40),
		})
	}
	if n := len(encodeJobs(want)); n < 3 {
		t.Fatalf("%d parts", n)
	}
	f := &fakeScheduler{watch: func(_ context.Context, tell func(core.Jobs) error) error {
		return errors.Join(tell(core.Jobs{Asking: true}), tell(want), tell(core.Jobs{Jobs: want.Jobs[:1]}))
	}}
	var got []core.Jobs
	if err := wireScheduler(t, f).Watch(t.Context(), func(j core.Jobs) error { got = append(got, j); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !got[0].Asking || !got[1].Complete || !slices.Equal(got[1].Jobs, want.Jobs) || got[2].Complete || !slices.Equal(got[2].Jobs, want.Jobs[:1]) {
		t.Errorf("%d messages are not what was told", len(got))
	}
}

func TestWatchEnds(t *testing.T) {
	ended := make(chan error, 1)
	until := func(ctx context.Context, tell func(core.Jobs) error) error {
		err := tell(core.Jobs{Asking: true})
		for err == nil {
			err = tell(core.Jobs{})
		}
		ended <- err
		return err
	}
	t.Run("by the consumer's error", func(t *testing.T) {
		enough := errors.New("enough")
		err := wireScheduler(t, &fakeScheduler{watch: until}).Watch(t.Context(), func(j core.Jobs) error {
			if j.Asking {
				return nil
			}
			return enough
		})
		if err != enough {
			t.Error(err)
		}
		if err := <-ended; core.AsError(err).Reason != core.Cancelled {
			t.Error(err)
		}
	})
	t.Run("by the caller", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := wireScheduler(t, &fakeScheduler{watch: until}).Watch(ctx, func(core.Jobs) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-ended
	})
	t.Run("by the adapter's error", func(t *testing.T) {
		want := core.Errorf(core.SchedulerAway, "squeue: no answer")
		err := wireScheduler(t, &fakeScheduler{watch: func(_ context.Context, tell func(core.Jobs) error) error {
			return errors.Join(tell(core.Jobs{Asking: true}), want)
		}}).Watch(t.Context(), func(core.Jobs) error { return nil })
		if !cmp.Equal(want, core.AsError(err), errorsWhole) {
			t.Error(err)
		}
	})
	t.Run("by a consumer that hears what was not told", func(t *testing.T) {
		conn := wire(t, func(s *grpc.Server) { ServeScheduler(s, core.Dispatcher{Of: &fakeScheduler{watch: until}}) })
		stream, err := schedulerv1.NewSchedulerClient(conn).Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&schedulerv1.WatchRequest{Heard: 2}); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); nicRemote.inward("Watch", err).Reason != core.BadCall {
			t.Error(err)
		}
		<-ended
	})
}

func TestPartsBelongTogether(t *testing.T) {
	job := &corev1.JobStatus{Run: encodeRun(core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "s", Job: "1"}}}), State: 1}
	for name, parts := range map[string][]*corev1.Jobs{
		"a change in an answer":    {{Complete: true, Jobs: []*corev1.JobStatus{job}}, {}},
		"a question in an answer":  {{Complete: true}, {Asking: true}},
		"a question with jobs":     {{Asking: true, Jobs: []*corev1.JobStatus{job}}},
		"a question with answer":   {{Asking: true, Complete: true}},
		"a state that none has":    {{Jobs: []*corev1.JobStatus{{Run: job.Run, State: 4}}}},
		"no state":                 {{Jobs: []*corev1.JobStatus{{Run: job.Run}}}},
		"more bytes than may come": {{Jobs: []*corev1.JobStatus{job}}, {Jobs: []*corev1.JobStatus{job, job, job, job, job}}},
	} {
		d, g := &decoder{}, gathering{most: 60}
		for i, p := range parts {
			if _, whole := g.add(d, p, i < len(parts)-1); whole {
				t.Errorf("%s: it is whole", name)
			}
		}
		if d.err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}
