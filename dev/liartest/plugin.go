package liartest

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/sdk"
)

// Label is the instance's name in config.hcl.
const Label = "liar"

// The phases of its hooks, and the verbs of its socket.
const (
	prolog = "prolog"
	epilog = "epilog"

	verbDescribe = "describe"
	verbAnswer   = "answer"
	verbFail     = "fail"
	verbDrain    = "drain"
)

// call of a hook, as its standard input has it.
type hookInput struct {
	Key core.Key
	UID uint32
}

// question is about a job or a node.
type question struct {
	Key    core.Key
	Node   string
	Reason string
}

// adapter is the plugin.
type adapter struct {
	mu     sync.Mutex
	socket string
}

var (
	_ core.Hooks        = (*adapter)(nil)
	_ core.Scheduler    = (*adapter)(nil)
	_ core.Configurable = (*adapter)(nil)
	_ core.Phased       = (*adapter)(nil)
)

// Plugin is the main function of the plugin's program.
func Plugin() { sdk.Serve(&adapter{}, sdk.WithName(Label)) }

func (a *adapter) Schema() core.Schema {
	return core.Schema{Fields: []core.Field{{Name: "socket", Kind: core.KindString, Required: true}}}
}

func (a *adapter) Configure(_ context.Context, values core.Values) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.socket, _ = values["socket"].(string)
	return nil
}

func (a *adapter) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	var h hookInput
	if err := json.Unmarshal(call.Stdin, &h); err != nil {
		return core.Intent{}, core.Errorf(core.BadCall, "hook: %w", err)
	}
	action := map[string]core.Action{prolog: core.Prepare, epilog: core.CleanUp}[call.Phase]
	return core.Intent{Action: action, Key: h.Key, UID: h.UID, Began: call.Began}, nil
}

func (a *adapter) Render(_ context.Context, _ core.HookCall, out core.Outcome) (core.HookReply, error) {
	if out.Err != nil {
		return core.HookReply{Exit: 1, Stderr: []byte(string(out.Err.Reason) + ": " + out.Err.Error())}, nil
	}
	for _, v := range out.Environment {
		if v.Name == "SLINGSHOT_VNIS" {
			return core.HookReply{Stdout: []byte(v.Value)}, nil
		}
	}
	return core.HookReply{}, nil
}

// limit of a hook's time.
const limit = 8 * time.Second

func (a *adapter) Phases(context.Context) ([]core.HookPhase, error) {
	return []core.HookPhase{
		{Name: prolog, Action: core.Prepare, Root: true, Stdin: 4096, Limit: limit},
		{Name: epilog, Action: core.CleanUp, Root: true, Stdin: 4096, Limit: limit},
	}, nil
}

func (a *adapter) ask(ctx context.Context, verb string, in, out any) error {
	a.mu.Lock()
	path := a.socket
	a.mu.Unlock()
	return hook.Call(ctx, path, verb, in, out)
}

func (a *adapter) Describe(ctx context.Context, key core.Key, _ []byte, _ core.Peer) (core.Job, error) {
	var job core.Job
	err := a.ask(ctx, verbDescribe, question{Key: key}, &job)
	return job, err
}

// Watch asks several times a second: package poll does not ask that often.
func (a *adapter) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := tell(core.Jobs{Asking: true}); err != nil {
			return err
		}
		var jobs core.Jobs
		if err := a.ask(ctx, verbAnswer, nil, &jobs); err == nil {
			if err := tell(jobs); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (a *adapter) Fail(ctx context.Context, key core.Key, reason string) error {
	return a.ask(ctx, verbFail, question{Key: key, Reason: reason}, nil)
}

func (a *adapter) Drain(ctx context.Context, node, reason string) error {
	return a.ask(ctx, verbDrain, question{Node: node, Reason: reason}, nil)
}
