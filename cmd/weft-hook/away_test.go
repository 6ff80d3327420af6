package main

import (
	"strings"
	"testing"
	"time"

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

// A hook of root's that fails since nobody answers leaves word of that. Others drain no node.
func TestAFailureLeavesWord(t *testing.T) {
	d := planned(t, alone)
	began := time.Now().Unix()
	for _, args := range [][]string{{"tioga", "taskprolog"}, {"--say", "fail ", "tioga", "prolog"}, {"tioga", "prolog"}} {
		if got := run(t, how{env: []string{"JOB_ID=7"}}, append([]string{"--dir", string(d)}, args...)...); got.exit != exitFailed {
			t.Errorf("%v: %+v", args, got)
		}
	}
	all, err := d.Unanswered()
	if err != nil || len(all) != 1 || all[0].Scheduler != "tioga" || all[0].From < began ||
		!strings.HasPrefix(all[0].Why, "prolog of job 7: ") || !strings.Contains(all[0].Why, "there is no socket") {
		t.Errorf("%+v, %v", all, err)
	}
}
