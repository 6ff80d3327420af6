package main

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/listener"
)

// A phase goes by when nobody answers only where the site has said so; what is answered counts all the same.
func TestAway(t *testing.T) {
	p := plan(alone)
	phases := p.Schedulers[0].Phases
	for i := range phases {
		if phases[i].Name == "prolog" {
			phases[i].Away = &core.HookReply{Stdout: []byte("room\n")}
		}
	}
	d := place(t)
	must(t, d.WriteHooks(p))
	if got := run(t, how{}, "--dir", string(d), "tioga", "prolog"); got.exit != 0 || got.out != "room\n" || !strings.Contains(got.err, `on_failure = "degrade"`) {
		t.Errorf("got %+v", got)
	}
	if got := run(t, how{}, "--dir", string(d), "tioga", "epilog"); got.exit != 1 || !got.line() {
		t.Errorf("a phase of which the site has not said so: %+v", got)
	}
	serve(t, d.RootSocket(), 0o600, listener.Root(), echo)
	if got := run(t, how{}, "--dir", string(d), "tioga", "prolog"); got.exit != 3 || strings.Contains(got.out, "room") {
		t.Errorf("with an answer: %+v", got)
	}
}
