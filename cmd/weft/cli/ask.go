package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// WithNotes prints the first note that comes with an answer on standard error, such as how old the answer is.
func WithNotes(ctx context.Context) context.Context {
	said := false
	return hook.WithNotes(ctx, func(note string) {
		if !said {
			said = true
			fmt.Fprintln(os.Stderr, "note: "+note)
		}
	})
}

// Ask makes one call to the server.
func (o *Options) Ask(ctx context.Context, verb string, in, out any) error {
	return o.AskNode(ctx, "", verb, in, out)
}

// AskNode makes one call to a node's agent; to the server where node is empty.
func (o *Options) AskNode(ctx context.Context, node, verb string, in, out any) error {
	path, err := o.Socket(node)
	if err != nil {
		return err
	}
	return hook.Call(ctx, path, verb, in, out)
}

// AskJob is AskNode for the start of a job. It waits for an agent of this host that restarts, as hooks do.
func (o *Options) AskJob(ctx context.Context, node, verb string, in, out any) error {
	ask := func() error { return o.AskNode(ctx, node, verb, in, out) }
	if _, ok := o.Agent(node); !ok {
		return ask() // of a simulated system
	}
	return hook.Again(ctx, hook.Patience, ask)
}

// AskHere makes one call to this host's agent, or to the server where there is no agent.
func (o *Options) AskHere(ctx context.Context, verb string, in, out any) error {
	_, node, _ := o.Here()
	return o.AskNode(ctx, node, verb, in, out)
}

// Count makes one call to the server that changes things, and gives how many.
func (o *Options) Count(ctx context.Context, verb string, in any) (int, error) {
	var n server.Count
	err := o.Ask(ctx, verb, in, &n)
	return n.Count, err
}

// List gathers a list of the server's. It is never nil.
func List[T any](ctx context.Context, o *Options, verb string, in any) ([]T, error) {
	return ListNode[T](ctx, o, "", verb, in)
}

// ListNode gathers a list of a node's agent; of the server where node is empty.
func ListNode[T any](ctx context.Context, o *Options, node, verb string, in any) ([]T, error) {
	path, err := o.Socket(node)
	if err != nil {
		return nil, err
	}
	return hook.List[T](ctx, path, verb, in)
}

// Answer makes one call to the server, and prints what it says.
func Answer[T any](ctx context.Context, o *Options, verb string, in any, table func(io.Writer, T)) error {
	var out T
	if err := o.Ask(ctx, verb, in, &out); err != nil {
		return err
	}
	return Print(o, out, table)
}

func PrintList[T any](ctx context.Context, o *Options, verb string, in any, table func(io.Writer, []T)) error {
	rows, err := List[T](ctx, o, verb, in)
	if err != nil {
		return err
	}
	return Print(o, rows, table)
}
