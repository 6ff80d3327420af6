// Package rpctest puts a scheduler's adapter behind the client and the server of rpc, as a daemon has it. Only tests
// import it.
package rpctest

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/rpc"
)

// Adapter is a core.Hooks, and a core.Scheduler with all that is optional, at the other end of a connection.
type Adapter struct {
	hooks  core.Hooks
	client core.SchedulerClient
}

// Wire serves adapter, a core.Hooks and a core.Scheduler, in memory until t ends.
func Wire(t testing.TB, adapter any) *Adapter {
	t.Helper()
	line := bufconn.Listen(1 << 20)
	server := grpc.NewServer(rpc.PluginOptions()...)
	rpc.ServeHooks(server, adapter.(core.Hooks))
	rpc.ServeScheduler(server, core.Dispatcher{Of: adapter.(core.Scheduler)})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(line)
	}()
	options := append(rpc.PluginDial(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return line.DialContext(ctx) }))
	conn, err := grpc.NewClient("passthrough:///adapter", options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		<-served
	})
	return &Adapter{rpc.NewHooks(conn), rpc.NewScheduler(conn, core.Abilities(adapter))}
}

// Parse calls the adapter through the wire, as each method does.
func (a *Adapter) Parse(ctx context.Context, c core.HookCall) (core.Intent, error) {
	return a.hooks.Parse(ctx, c)
}

// Render calls the adapter through the wire.
func (a *Adapter) Render(ctx context.Context, c core.HookCall, o core.Outcome) (core.HookReply, error) {
	return a.hooks.Render(ctx, c, o)
}

// Phases implements core.Phased.
func (a *Adapter) Phases(ctx context.Context) ([]core.HookPhase, error) {
	return a.hooks.(core.Phased).Phases(ctx)
}

// Describe implements core.Scheduler.
func (a *Adapter) Describe(ctx context.Context, key core.Key, note []byte, from core.Peer) (core.Job, error) {
	return core.Describe(ctx, a.client, key, note, from)
}

// Watch implements core.Scheduler.
func (a *Adapter) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	return a.client.Watch(ctx, tell)
}

// Fail implements core.Scheduler.
func (a *Adapter) Fail(ctx context.Context, key core.Key, reason string) error {
	return a.call(ctx, core.SchedulerCall{Verb: core.CallFail, Scheduler: key.Scheduler, Key: key, Reason: reason})
}

// Drain implements core.Scheduler.
func (a *Adapter) Drain(ctx context.Context, node, reason string) error {
	return a.call(ctx, core.SchedulerCall{Verb: core.CallDrain, Node: node, Reason: reason})
}

// Resume implements core.Resumer.
func (a *Adapter) Resume(ctx context.Context, node string) error {
	return a.call(ctx, core.SchedulerCall{Verb: core.CallResume, Node: node})
}

// Down implements core.Downer.
func (a *Adapter) Down(ctx context.Context, node string) error {
	return a.call(ctx, core.SchedulerCall{Verb: core.CallDown, Node: node})
}

// Drained implements core.DrainLister.
func (a *Adapter) Drained(ctx context.Context) ([]core.Drained, error) {
	reply, err := a.client.Call(ctx, core.SchedulerCall{Verb: core.CallDrained})
	return reply.Drained, err
}

// Requeue implements core.Requeuer.
func (a *Adapter) Requeue(ctx context.Context, key core.Key, reason string) error {
	return a.call(ctx, core.SchedulerCall{Verb: core.CallRequeue, Scheduler: key.Scheduler, Key: key, Reason: reason})
}

// Blame implements core.Blamer.
func (a *Adapter) Blame(ctx context.Context, key core.Key, node, reason string) error {
	call := core.SchedulerCall{Verb: core.CallBlame, Scheduler: key.Scheduler, Key: key, Node: node, Reason: reason}
	return a.call(ctx, call)
}

// Annotate implements core.Annotator.
func (a *Adapter) Annotate(ctx context.Context, key core.Key, g core.Grant) error {
	return a.call(ctx, core.SchedulerCall{Verb: core.CallAnnotate, Scheduler: key.Scheduler, Key: key, Grant: &g})
}

func (a *Adapter) call(ctx context.Context, c core.SchedulerCall) error {
	_, err := a.client.Call(ctx, c)
	return err
}
