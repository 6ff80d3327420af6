package main

import (
	"context"
	"os"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// A hook without a reader for its words ends as it does with one. A task must not start without its variables.
func TestOutputWithoutAReader(t *testing.T) {
	d := planned(t, patient)
	leave(t, d, "7", uint32(os.Getuid()), exports)
	serve(t, d.RootSocket(), 0o600, listener.Root(), func(context.Context, core.Peer, hook.Request) (any, error) {
		return core.HookReply{Stderr: []byte("a warning\n")}, nil
	})
	for _, test := range []struct {
		name, phase, dead string
		exit              int
	}{
		{"a prolog", "prolog", "out err", 0},
		{"a task whose warnings nobody reads", "taskprolog", "err", 0},
		{"a task whose variables nobody reads", "taskprolog", "out", 1},
		{"a task whose output is closed", "taskprolog", "closed", 1},
		{"a phase that nobody knows", "none", "err", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := run(t, how{dead: test.dead}, "--dir", string(d), "tioga", test.phase)
			if got.exit != test.exit {
				t.Errorf("got %+v, want exit code %d", got, test.exit)
			}
			if test.dead == "closed" && !got.line() {
				t.Errorf("it does not say why: %+v", got)
			}
		})
	}
}
