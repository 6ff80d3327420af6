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

type fakeParser struct {
	fakeHooks
	options []core.Option
	given   []string
	request core.Request
}

func (f *fakeParser) Options(context.Context) ([]core.Option, error) { return f.options, f.fail }

func (f *fakeParser) ParseRequest(_ context.Context, given []string) (core.Request, error) {
	f.given = given
	return f.request, f.fail
}

func TestRequestParser(t *testing.T) {
	f := &fakeParser{}
	c := NewHooks(wire(t, func(s *grpc.Server) { ServeHooks(s, f) })).(core.RequestParser)
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		given := list(t, "given", genName, maxGiven)
		f.options, f.request, f.fail = list(t, "options", genOption, 5), genFacts.Draw(t, "job").Request, nil
		options, err := c.Options(ctx)
		if diff := cmp.Diff(f.options, options); diff != "" || err != nil {
			t.Fatalf("%v (-want +got)\n%s", err, diff)
		}
		request, err := c.ParseRequest(ctx, given)
		if diff := cmp.Diff(f.request, request) + cmp.Diff(given, f.given); diff != "" || err != nil {
			t.Fatalf("%v (-want +got)\n%s", err, diff)
		}
		e := genError.Draw(t, "error")
		f.fail = e
		if _, err := c.ParseRequest(ctx, nil); !cmp.Equal(e, core.AsError(err), errorsWhole) {
			t.Fatalf("%v, want %v", err, e)
		}
		if _, err := c.Options(ctx); !cmp.Equal(e, core.AsError(err), errorsWhole) {
			t.Fatalf("%v, want %v", err, e)
		}
	})
	f.options, f.fail = make([]core.Option, maxOptions+1), nil
	if got, err := c.Options(ctx); err == nil || got != nil {
		t.Errorf("it takes %d options", len(got))
	}
	f.options = []core.Option{{Help: "no name"}}
	if _, err := c.Options(ctx); err == nil {
		t.Error("it takes an option without a name")
	}
	f.given = nil
	if _, err := c.ParseRequest(ctx, make([]string, maxGiven+1)); err == nil || f.given != nil {
		t.Errorf("it takes %d given options: %v", maxGiven+1, err)
	}
}

// An adapter that reads no options, and one of a release that knew none, say so alike.
func TestRequestParserIsOptional(t *testing.T) {
	for name, register := range map[string]func(*grpc.Server){
		"without":            func(s *grpc.Server) { ServeHooks(s, fakeHooks{}) },
		"of another release": func(s *grpc.Server) { hooksv1.RegisterHooksServer(s, hooksv1.UnimplementedHooksServer{}) },
	} {
		c := NewHooks(wire(t, register)).(core.RequestParser)
		_, err := c.Options(t.Context())
		_, parse := c.ParseRequest(t.Context(), []string{"x"})
		if !errors.Is(err, core.Unsupported) || !errors.Is(parse, core.Unsupported) {
			t.Errorf("%s: %v, %v", name, err, parse)
		}
	}
}
