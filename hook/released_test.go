package hook

import (
	"encoding/json"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/fulltest"
)

// TestReleasedFrames reads the frames that weft-hook and agents of each release mark sent.
func TestReleasedFrames(t *testing.T) {
	r := fulltest.ReadReleased(t)
	r.Check("request", func(text []byte) (any, error) { return ParseRequest(text) })
	r.Check("call", func(text []byte) (any, error) { return parse[core.HookCall](text) })
	r.Check("reply", func(text []byte) (any, error) { return parse[Reply](text) })
	r.Check("answer", func(text []byte) (any, error) { return parse[core.HookReply](text) })
	r.Check("error", func(text []byte) (any, error) {
		f, err := parse[Fault](text)
		return f.Err(), err
	})
	if r.Making() {
		call := core.HookCall{
			ID: "id", Scheduler: "tioga", Phase: "prolog", Args: []string{"a"}, Env: map[string]string{"JOB": "7"},
			Stdin: []byte("in"), Node: "n1", Began: 1, Parent: true, Peer: core.Peer{UID: 2, GID: 3, PID: 4, Node: "n2"},
		}
		request := Request{
			Version: Version, ID: "id", Verb: "hook", Body: made(t, call), Began: 5, Until: 6, Cursor: "c", Lines: true,
		}
		answer := core.HookReply{Stdout: []byte("out"), Stderr: []byte("err"), Exit: 3}
		fault := core.Errorf(core.NICShort, "it is short").WithRemedy("wait")
		fault.Short = []core.Shortage{{Device: "cxi0", Resource: core.TXQ, Want: 2, Have: 1, Pool: true}}
		reply := Reply{Version: Version, Error: NewFault(fault), Body: made(t, answer), Next: "n", Again: true}
		r.Make("request", made(t, request), request)
		r.Make("call", made(t, call), call)
		r.Make("reply", made(t, reply), reply)
		r.Make("answer", made(t, answer), answer)
		r.Make("error", made(t, NewFault(fault)), fault)
	}
	r.Done()
}

func parse[T any](text []byte) (v T, err error) {
	err = json.Unmarshal(text, &v)
	return v, err
}

func made(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
