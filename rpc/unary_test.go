package rpc

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	hooksv1 "github.com/weft-hpc/weft/rpc/proto/weft/hooks/v1"
)

type fakeFabric struct {
	got  []any
	c    core.Collective
	all  core.Fabric
	fail error
}

func (f *fakeFabric) Reserve(_ context.Context, k core.Key, n int) (core.Collective, error) {
	f.got = append(f.got, k, n)
	return f.c, f.fail
}

func (f *fakeFabric) ReleaseStep(_ context.Context, k core.Key, step string) error {
	f.got = append(f.got, k, step)
	return f.fail
}

func (f *fakeFabric) Release(_ context.Context, k core.Key) error {
	f.got = append(f.got, k)
	return f.fail
}

func (f *fakeFabric) Collectives(context.Context) (core.Fabric, error) { return f.all, f.fail }

func TestFabric(t *testing.T) {
	f := &fakeFabric{}
	c := NewFabric(wire(t, func(s *grpc.Server) { ServeFabric(s, f) }))
	rapid.Check(t, func(t *rapid.T) {
		f.got, f.fail = nil, nil
		f.c, f.all = genCollective.Draw(t, "collective"), genFabric.Draw(t, "fabric")
		k, n, step := genKey.Draw(t, "key"), genInt.Draw(t, "n"), genWord.Draw(t, "step")
		got1, err1 := c.Reserve(context.Background(), k, n)
		err2 := c.ReleaseStep(context.Background(), k, step)
		err3 := c.Release(context.Background(), k)
		got2, err4 := c.Collectives(context.Background())
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{k, n, k, step, k, f.c, f.all}, append(f.got, got1, got2)); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		e := genError.Draw(t, "error")
		f.fail = e
		_, err1 = c.Reserve(context.Background(), k, n)
		_, err4 = c.Collectives(context.Background())
		for _, err := range []error{err1, c.ReleaseStep(context.Background(), k, step), c.Release(context.Background(), k), err4} {
			if !cmp.Equal(e, core.AsError(err), errorsWhole) {
				t.Fatalf("%v, want %v", err, e)
			}
		}
	})
	for _, key := range []core.Key{{}, {JobID: core.JobID{Scheduler: "s", Job: "../x"}}, {JobID: core.JobID{Scheduler: "s", Job: "a\xffb"}}} {
		f.got = nil
		if err := c.Release(t.Context(), key); !errors.Is(err, core.Invalid) || len(f.got) != 0 {
			t.Errorf("%q: %v", key, err)
		}
	}
	if _, err := c.Reserve(t.Context(), core.Key{JobID: core.JobID{Scheduler: "s", Job: "1"}}, -1); !errors.Is(err, core.Invalid) {
		t.Errorf("-1 addresses: %v", err)
	}
}

type fakeHooks struct {
	got   *[]any
	ask   core.Intent
	reply core.HookReply
	fail  error
}

func (f fakeHooks) Parse(_ context.Context, c core.HookCall) (core.Intent, error) {
	if f.got == nil {
		return core.Intent{Action: core.Room}, nil
	}
	*f.got = append(*f.got, c)
	return f.ask, f.fail
}

func (f fakeHooks) Render(_ context.Context, c core.HookCall, o core.Outcome) (core.HookReply, error) {
	*f.got = append(*f.got, c, o)
	return f.reply, f.fail
}

func TestHooks(t *testing.T) {
	f := &fakeHooks{got: new([]any)}
	c := NewHooks(wire(t, func(s *grpc.Server) { ServeHooks(s, f) }))
	rapid.Check(t, func(t *rapid.T) {
		*f.got, f.fail = nil, nil
		f.ask, f.reply = genIntent.Draw(t, "ask"), genReply.Draw(t, "reply")
		call, outcome := genCall.Draw(t, "call"), genOutcome.Draw(t, "outcome")
		ask, err1 := c.Parse(context.Background(), call)
		reply, err2 := c.Render(context.Background(), call, outcome)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{call, call, outcome, f.ask, f.reply}, append(*f.got, ask, reply), errorsWhole); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		e := genError.Draw(t, "error")
		f.fail = e
		_, err1 = c.Parse(context.Background(), call)
		_, err2 = c.Render(context.Background(), call, outcome)
		for _, err := range []error{err1, err2} {
			if !cmp.Equal(e, core.AsError(err), errorsWhole) {
				t.Fatalf("%v, want %v", err, e)
			}
		}
	})
	f.fail, f.reply = nil, core.HookReply{Exit: 256}
	if _, err := c.Render(t.Context(), core.HookCall{}, core.Outcome{}); err == nil {
		t.Error("exit code 256 is taken")
	}
}

type fakePhased struct {
	fakeHooks
	phases []core.HookPhase
}

func (f *fakePhased) Phases(context.Context) ([]core.HookPhase, error) { return f.phases, f.fail }

func TestPhases(t *testing.T) {
	f := &fakePhased{}
	c := NewHooks(wire(t, func(s *grpc.Server) { ServeHooks(s, f) })).(core.Phased)
	rapid.Check(t, func(t *rapid.T) {
		f.phases, f.fail = list(t, "phases", genPhase, 5), nil
		got, err := c.Phases(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f.phases, got); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		e := genError.Draw(t, "error")
		f.fail = e
		if _, err := c.Phases(context.Background()); !cmp.Equal(e, core.AsError(err), errorsWhole) {
			t.Fatalf("%v, want %v", err, e)
		}
	})
	f.phases, f.fail = make([]core.HookPhase, maxPhases+1), nil
	if got, err := c.Phases(t.Context()); err == nil || got != nil {
		t.Errorf("%d phases are taken", len(got))
	}
}

// An adapter that no hook calls for, and one of a release that knew no phases, say so alike.
func TestPhasesAreOptional(t *testing.T) {
	for name, register := range map[string]func(*grpc.Server){
		"no hook calls for it": func(s *grpc.Server) { ServeHooks(s, fakeHooks{}) },
		"of another release":   func(s *grpc.Server) { hooksv1.RegisterHooksServer(s, hooksv1.UnimplementedHooksServer{}) },
	} {
		if _, err := NewHooks(wire(t, register)).(core.Phased).Phases(t.Context()); !errors.Is(err, core.Unsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type fakePlugin struct {
	info     Info
	schema   core.Schema
	values   core.Values
	findings []core.Finding
	fail     error
}

func (f *fakePlugin) Info(context.Context) (Info, error)          { return f.info, f.fail }
func (f *fakePlugin) Schema(context.Context) (core.Schema, error) { return f.schema, f.fail }
func (f *fakePlugin) Configure(_ context.Context, v core.Values) error {
	f.values = v
	return f.fail
}
func (f *fakePlugin) Check(context.Context) ([]core.Finding, error) { return f.findings, f.fail }
func (f *fakePlugin) Health(context.Context) error                  { return f.fail }
func (f *fakePlugin) Drain(context.Context) error                   { return f.fail }

func TestPlugin(t *testing.T) {
	f := &fakePlugin{}
	c := NewPlugin(wire(t, func(s *grpc.Server) { ServePlugin(s, f) }))
	rapid.Check(t, func(t *rapid.T) {
		f.fail = nil
		f.info, f.schema, f.findings = genInfo.Draw(t, "info"), genSchema(0).Draw(t, "schema"), list(t, "findings", genFinding, 3)
		values := genValues(0).Draw(t, "values")
		info, err1 := c.Info(context.Background())
		schema, err2 := c.Schema(context.Background())
		findings, err3 := c.Check(context.Background())
		if err := errors.Join(err1, err2, err3, c.Configure(context.Background(), values), c.Health(context.Background()), c.Drain(context.Background())); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{f.info, f.schema, f.findings, values}, []any{info, schema, findings, f.values}); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		e := genError.Draw(t, "error")
		f.fail = e
		_, err1 = c.Info(context.Background())
		_, err2 = c.Schema(context.Background())
		_, err3 = c.Check(context.Background())
		for i, err := range []error{err1, err2, err3, c.Configure(context.Background(), nil), c.Health(context.Background()), c.Drain(context.Background())} {
			if !cmp.Equal(e, core.AsError(err), errorsWhole) {
				t.Fatalf("%d: %v, want %v", i, err, e)
			}
		}
	})
	f.fail = nil
	for _, bad := range []core.Values{{"n": 1}, {"": "x"}, {"x": nil}, {"b": []core.Values{{"n": 1.5}}}, deep(maxDepth + 1)} {
		if err := c.Configure(t.Context(), bad); !errors.Is(err, core.Invalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if err := c.Configure(t.Context(), deep(maxDepth)); err != nil {
		t.Error(err)
	}
}

func deep(n int) core.Values {
	v := core.Values{"x": int64(1)}
	for range n {
		v = core.Values{"b": []core.Values{v}}
	}
	return v
}

func TestComplaintsKeepTheirPaths(t *testing.T) {
	f := &fakePlugin{}
	c := NewPlugin(wire(t, func(s *grpc.Server) { ServePlugin(s, f) }))
	at := func(what string, path ...string) *core.PathError {
		return &core.PathError{Path: path, Err: core.Errorf(core.BadConfig, "%s", what)}
	}
	paths := func(err error) (out [][]string) {
		all := []error{err}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			all = joined.Unwrap()
		}
		for _, e := range all {
			if p, ok := errors.AsType[*core.PathError](e); ok {
				out = append(out, append(p.Path, p.Error()))
			} else {
				out = append(out, []string{e.Error()})
			}
		}
		return out
	}
	for name, test := range map[string]struct {
		fail error
		want [][]string
	}{
		"one":               {at("too slow", "nic", "0", "délai"), [][]string{{"nic", "0", "délai", "too slow"}}},
		"of a foreign kind": {&core.PathError{Path: []string{"a"}, Err: errors.New("no")}, [][]string{{"a", "no"}}},
		"several":           {errors.Join(at("x", "a"), core.Errorf(core.BadConfig, "all of it"), at("y", "b", "1")), [][]string{{"a", "x"}, {"all of it"}, {"b", "1", "y"}}},
		"without a path":    {core.Errorf(core.BadConfig, "all of it"), [][]string{{"all of it"}}},
	} {
		t.Run(name, func(t *testing.T) {
			f.fail = test.fail
			err := c.Configure(t.Context(), core.Values{})
			if diff := cmp.Diff(test.want, paths(err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if core.AsError(err).Reason != core.AsError(test.fail).Reason {
				t.Errorf("%v", core.AsError(err).Reason)
			}
		})
	}
}

func TestValueServesWhatItHas(t *testing.T) {
	bare := Value{About: Info{Name: "x"}, Of: 1}
	c := NewPlugin(wire(t, func(s *grpc.Server) { ServePlugin(s, bare) }))
	schema, err1 := c.Schema(t.Context())
	findings, err2 := c.Check(t.Context())
	if err := errors.Join(err1, err2, c.Configure(t.Context(), core.Values{"a": "b"}), c.Health(t.Context()), c.Drain(t.Context())); err != nil || schema.Fields != nil || findings != nil {
		t.Error(err, schema, findings)
	}
	whole := Value{Of: configured{}}
	if s, _ := whole.Schema(t.Context()); len(s.Fields) != 1 {
		t.Error(s)
	}
	if f, _ := whole.Check(t.Context()); len(f) != 1 {
		t.Error(f)
	}
	if err := whole.Configure(t.Context(), nil); !errors.Is(err, core.Busy) {
		t.Error(err)
	}
}

type configured struct{}

func (configured) Schema() core.Schema {
	return core.Schema{Fields: []core.Field{{Name: "a", Kind: core.KindInt}}}
}
func (configured) Configure(context.Context, core.Values) error {
	return core.Errorf(core.ServiceBusy, "x")
}
func (configured) Check(context.Context) ([]core.Finding, error) { return make([]core.Finding, 1), nil }
