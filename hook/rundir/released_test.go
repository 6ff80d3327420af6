package rundir

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/fulltest"
)

// TestReleasedFiles reads the files that agents of each release mark left for weft-hook.
func TestReleasedFiles(t *testing.T) {
	r := fulltest.ReadReleased(t)
	r.Check("hooks.json", func(text []byte) (any, error) { return ParseHooks(text) })
	r.Check("environ", func(text []byte) (any, error) {
		var e Environ
		err := json.Unmarshal(text, &e)
		return e, err
	})
	if r.Making() {
		said := core.HookReply{Stdout: []byte("out"), Stderr: []byte("err")}
		hooks := Hooks{Node: "n1", Schedulers: []Scheduler{{Name: "tioga", Type: "slurm", Phases: []Phase{{
			HookPhase: core.HookPhase{
				Name: "prolog", Action: core.Prepare, Root: true, Variables: []string{"V"}, Job: []string{"J"}, Step: []string{"S"},
				First: []string{"F"}, Asks: []string{"A"}, Stdin: 1, Limit: time.Second,
			},
			Bypass: said, Away: &said, Observe: true, Leave: said,
		}}}}}
		text, err := hooks.Encode()
		if err != nil {
			t.Fatal(err)
		}
		r.Make("hooks.json", text, hooks)
		replies := map[string]Rendered{"task": {Reply: Reply{Stdout: []byte("out"), Exit: 1}, Step: [][]byte{[]byte("s")}}}
		e := Environ{
			Generation: 1, UID: 2, Submitted: 3, Variables: []core.Variable{{Name: "N", Value: "V"}, {Name: "U", Unset: true}},
			Signs: []core.Sign{{Path: "/p", Inode: 4}}, Replies: replies, First: replies,
		}
		if text, err = json.Marshal(e); err != nil {
			t.Fatal(err)
		}
		r.Make("environ", text, e)
	}
	r.Done()
}
