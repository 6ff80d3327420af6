package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	authorityv1 "github.com/weft-hpc/weft/rpc/proto/weft/authority/v1"
)

type fakeAuthority struct {
	got    []any
	grant  core.Grant
	fail   error
	attend func(ctx context.Context, node string, first core.Report, next <-chan core.Report, told func(core.Orders)) error
}

func (f *fakeAuthority) Reserve(_ context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	f.got = append(f.got, node, ask, peer)
	return f.grant, f.fail
}

func (f *fakeAuthority) Attend(ctx context.Context, node string, first core.Report, next <-chan core.Report, told func(core.Orders)) error {
	return f.attend(ctx, node, first, next, told)
}

func isNode(name string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return name, nil }
}

func wireAuthority(t testing.TB, f core.Authority) core.Authority {
	return NewAuthority(wire(t, func(s *grpc.Server) { ServeAuthority(s, f, isNode("n1")) }, AuthorityOptions()...))
}

func TestReserve(t *testing.T) {
	f := &fakeAuthority{}
	c := wireAuthority(t, f)
	rapid.Check(t, func(t *rapid.T) {
		f.got, f.fail, f.grant = nil, nil, genGrant.Draw(t, "grant")
		ask, peer := genIntent.Draw(t, "ask"), genPeer.Draw(t, "peer")
		grant, err := c.Reserve(context.Background(), "another", ask, peer)
		if err != nil {
			t.Fatal(err)
		}
		peer.Node = "n1" // as the certificate says
		if diff := cmp.Diff([]any{"n1", ask, peer, f.grant}, append(f.got, grant)); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		e := genError.Draw(t, "error")
		f.fail = e
		if _, err := c.Reserve(context.Background(), "another", ask, peer); !cmp.Equal(e, core.AsError(err), errorsWhole) {
			t.Fatalf("%v, want %v", err, e)
		}
	})
}

func TestTheCertificateSaysWhoCalls(t *testing.T) {
	f := &fakeAuthority{attend: func(context.Context, string, core.Report, <-chan core.Report, func(core.Orders)) error {
		t.Error("it attends")
		return nil
	}}
	ask := core.Intent{Action: core.Prepare, Key: core.Key{JobID: core.JobID{Scheduler: "s", Job: "1"}}}
	for name, node := range map[string]func(context.Context) (string, error){
		"no certificate": func(context.Context) (string, error) { return "", errors.New("no certificate") },
		"no name":        isNode(""),
		"a bad name":     isNode("../n1"),
	} {
		c := NewAuthority(wire(t, func(s *grpc.Server) { ServeAuthority(s, f, node) }))
		_, err := c.Reserve(t.Context(), "n1", ask, core.Peer{Node: "n1"})
		err2 := c.Attend(t.Context(), "n1", core.Report{Full: true}, nil, nil)
		if err == nil || err2 == nil || len(f.got) > 0 {
			t.Errorf("%s: %v, %v", name, err, err2)
		}
		if name == "no certificate" && (core.AsError(err).Reason != core.NotAllowed || core.AsError(err2).Reason != core.NotAllowed) {
			t.Errorf("%s: %v, %v", name, err, err2)
		}
	}
}

func TestAttendBothWays(t *testing.T) {
	f := &fakeAuthority{}
	c := wireAuthority(t, f)
	rapid.Check(t, func(t *rapid.T) {
		first := genReport.Draw(t, "first")
		first.Full, first.Answer, first.Reply, first.From = true, nil, nil, "bufconn"
		reports, orders := list(t, "reports", genReport, 6), list(t, "orders", genOrders, 6)
		var by string
		var got []core.Report
		f.attend = func(_ context.Context, node string, first core.Report, next <-chan core.Report, told func(core.Orders)) error {
			by, got = node, append(got, first)
			for _, o := range orders {
				told(o)
			}
			for r := range next {
				got = append(got, r)
			}
			return nil
		}
		next := make(chan core.Report, len(reports))
		for _, r := range reports {
			next <- r
		}
		close(next)
		var told []core.Orders
		if err := c.Attend(context.Background(), "another", first, next, func(o core.Orders) { told = append(told, o) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{"n1", append([]core.Report{first}, reports...), orders}, []any{by, got, told}, errorsWhole); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

func TestAttendForwardsLargeAnswersWhole(t *testing.T) {
	want := core.Report{Answer: &core.Forward{Scheduler: "flux", Ask: 7, Jobs: core.Jobs{Complete: true}}}
	for i := range 40_000 { // more than one message may have
		want.Answer.Jobs.Jobs = append(want.Answer.Jobs.Jobs, core.JobStatus{
			Run:   core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "flux", Job: fmt.Sprint("ƒ", i)}}, Fingerprint: core.Fingerprint{UID: 1, Submitted: 1 << 40}},
			State: core.JobRunning, Hosts: strings.Repeat("h", 100),
		})
	}
	got := make(chan core.Report, 2)
	f := &fakeAuthority{attend: func(_ context.Context, _ string, _ core.Report, next <-chan core.Report, _ func(core.Orders)) error {
		for r := range next {
			got <- r
		}
		return nil
	}}
	next := make(chan core.Report, 2)
	next <- want
	next <- core.Report{Number: 2}
	close(next)
	if err := wireAuthority(t, f).Attend(t.Context(), "", core.Report{Full: true}, next, nil); err != nil {
		t.Fatal(err)
	}
	large, small := <-got, <-got
	if large.Answer == nil || !slices.Equal(want.Answer.Jobs.Jobs, large.Answer.Jobs.Jobs) || !large.Answer.Jobs.Complete || large.Answer.Ask != 7 {
		t.Error("the answer is not what was sent")
	}
	if small.Number != 2 || small.Answer != nil {
		t.Errorf("%+v", small)
	}
}

// attendTo runs attend on the server; what it returned comes through the channel.
func attendTo(attend func(ctx context.Context, next <-chan core.Report, told func(core.Orders)) error) (*fakeAuthority, chan error) {
	ended := make(chan error, 1)
	return &fakeAuthority{attend: func(ctx context.Context, _ string, _ core.Report, next <-chan core.Report, told func(core.Orders)) error {
		err := attend(ctx, next, told)
		ended <- err
		return err
	}}, ended
}

func untilDone(ctx context.Context, _ <-chan core.Report, told func(core.Orders)) error {
	told(core.Orders{Heard: 1})
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestAttendEnds(t *testing.T) {
	full := core.Report{Full: true}
	t.Run("by the agent", func(t *testing.T) {
		f, ended := attendTo(untilDone)
		ctx, cancel := context.WithCancel(t.Context())
		err := wireAuthority(t, f).Attend(ctx, "", full, make(chan core.Report), func(core.Orders) { cancel() })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := <-ended; err == nil {
			t.Error("the server's side did not end")
		}
	})
	t.Run("by the agent, and says why", func(t *testing.T) {
		f, ended := attendTo(untilDone)
		why := core.Errorf(core.Overloaded, "too far behind")
		ctx, cancel := context.WithCancelCause(t.Context())
		err := wireAuthority(t, f).Attend(ctx, "", full, make(chan core.Report), func(core.Orders) { cancel(why) })
		if err != error(why) {
			t.Error(err)
		}
		<-ended
	})
	t.Run("by the server's error", func(t *testing.T) {
		why := core.Errorf(core.Cancelled, "node n1: it began a newer session")
		f, _ := attendTo(func(context.Context, <-chan core.Report, func(core.Orders)) error { return why })
		err := wireAuthority(t, f).Attend(t.Context(), "", full, make(chan core.Report), func(core.Orders) {})
		if !cmp.Equal(why, core.AsError(err), errorsWhole) {
			t.Error(err)
		}
	})
	t.Run("by the server", func(t *testing.T) {
		f, _ := attendTo(func(context.Context, <-chan core.Report, func(core.Orders)) error { return nil })
		if err := wireAuthority(t, f).Attend(t.Context(), "", full, make(chan core.Report), func(core.Orders) {}); err != nil {
			t.Error(err)
		}
	})
	t.Run("by the connection", func(t *testing.T) {
		f, ended := attendTo(untilDone)
		conn := wire(t, func(s *grpc.Server) { ServeAuthority(s, f, isNode("n1")) })
		err := NewAuthority(conn).Attend(t.Context(), "", full, make(chan core.Report), func(core.Orders) { conn.Close() })
		if core.AsError(err) == nil {
			t.Error("no error")
		}
		if err := <-ended; core.AsError(err).Reason != core.Cancelled {
			t.Error(err)
		}
	})
	t.Run("by a first report that is not full", func(t *testing.T) {
		f, _ := attendTo(untilDone)
		for _, first := range []core.Report{{Number: 1}, {Answer: &core.Forward{Scheduler: "s"}}} {
			if err := wireAuthority(t, f).Attend(t.Context(), "", first, make(chan core.Report), nil); !errors.Is(err, core.Invalid) {
				t.Error(err)
			}
		}
	})
	t.Run("by a report that cannot be", func(t *testing.T) {
		f, ended := attendTo(untilDone)
		next := make(chan core.Report, 1)
		next <- core.Report{Devices: []string{"cxi0\n"}}
		err := wireAuthority(t, f).Attend(t.Context(), "", full, next, func(core.Orders) {})
		if !errors.Is(err, core.Invalid) {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, core.Invalid) {
			t.Error(err)
		}
	})
	t.Run("by a node that takes no orders", func(t *testing.T) {
		f, ended := attendTo(func(ctx context.Context, _ <-chan core.Report, told func(core.Orders)) error {
			o := core.Orders{Clean: make([]core.Clean, 1000)}
			for i := range o.Clean {
				o.Clean[i].Run = core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "s", Job: fmt.Sprint(i)}}}
			}
			for ctx.Err() == nil { // told never waits for the node
				told(o)
			}
			return context.Cause(ctx)
		})
		stuck := make(chan struct{})
		served := make(chan error, 1)
		c := wireAuthority(t, f)
		go func() {
			served <- c.Attend(t.Context(), "", full, make(chan core.Report), func(core.Orders) { <-stuck })
		}()
		if err := <-ended; core.AsError(err).Reason != core.Overloaded {
			t.Error(err)
		}
		close(stuck)
		if err := <-served; core.AsError(err).Reason != core.Overloaded {
			t.Error(err)
		}
	})
}

// TestAttendWaitsForTheServer shows that a node's reports wait at the node while the server is busy, in bounded memory.
func TestAttendWaitsForTheServer(t *testing.T) {
	free := make(chan struct{})
	got := make(chan int, 1)
	f, _ := attendTo(func(_ context.Context, next <-chan core.Report, _ func(core.Orders)) error {
		<-free
		if len(next) > reportsWaiting {
			t.Errorf("%d reports wait", len(next))
		}
		n := 0
		for range next {
			n++
		}
		got <- n
		return nil
	})
	conn := wire(t, func(s *grpc.Server) { ServeAuthority(s, f, isNode("n1")) })
	stream, err := authorityv1.NewAuthorityClient(conn).Attend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const all = 5000
	for i := range all {
		if i == 500 {
			close(free)
		}
		if err := stream.Send(encodeReport(core.Report{Full: i == 0, Number: uint64(i)})[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if n := <-got; n != all-1 {
		t.Errorf("%d reports of %d", n, all-1)
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("orders")
	}
}

func TestReportsBelongTogether(t *testing.T) {
	answer := func(scheduler string, ask uint64) *authorityv1.Report {
		return &authorityv1.Report{Answer: &authorityv1.Forward{Scheduler: scheduler, Ask: ask}}
	}
	for name, parts := range map[string][]*authorityv1.AttendRequest{
		"nothing":                    {{}},
		"a part without an answer":   {{Report: &authorityv1.Report{}, More: true}},
		"a report between two parts": {{Report: answer("s", 1), More: true}, {Report: &authorityv1.Report{}}},
		"another question":           {{Report: answer("s", 1), More: true}, {Report: answer("s", 2)}},
		"another scheduler":          {{Report: answer("s", 1), More: true}, {Report: answer("r", 1)}},
		"no scheduler":               {{Report: answer("", 1)}},
	} {
		d, g := &decoder{}, reports{gathering: gathering{most: maxForwarded}}
		for _, p := range parts {
			if _, whole := g.add(d, p); whole {
				t.Errorf("%s: it is whole", name)
			}
		}
		if d.err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}
