// adapter joins a scheduler whose jobs are files: DIR/JOB holds the job's uid and its nodes.
// It uses only public packages, so a release builds it as each other does.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/sdk"
)

type adapter struct {
	Dir string `weft:"dir" doc:"The folder of the jobs."`
}

func main() { sdk.Serve(&adapter{}) }

func (a *adapter) Schema() core.Schema                              { return sdk.SchemaOf(&adapter{}) }
func (a *adapter) Configure(_ context.Context, v core.Values) error { return sdk.Decode(v, a) }

func (a *adapter) Phases(context.Context) ([]core.HookPhase, error) {
	return []core.HookPhase{
		{Name: "prolog", Action: core.Prepare, Root: true, Stdin: 4096, Limit: 30 * time.Second},
		{Name: "epilog", Action: core.CleanUp, Root: true, Stdin: 4096, Limit: 30 * time.Second},
	}, nil
}

func (a *adapter) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	intent := core.Intent{Began: call.Began, Action: core.Prepare}
	if call.Phase == "epilog" {
		intent.Action = core.CleanUp
	}
	var of core.Run
	err := json.Unmarshal(call.Stdin, &of)
	intent.Key, intent.UID = of.Key, of.UID
	return intent, err
}

func (a *adapter) Render(_ context.Context, _ core.HookCall, out core.Outcome) (core.HookReply, error) {
	if out.Err != nil {
		return core.HookReply{Exit: 1, Stderr: []byte(out.Err.Error() + "\n")}, nil
	}
	var reply core.HookReply
	for _, v := range out.Environment {
		if !v.Unset {
			reply.Stdout = fmt.Appendf(reply.Stdout, "%s=%s\n", v.Name, v.Value)
		}
	}
	return reply, nil
}

func (a *adapter) read(id core.JobID) (run core.Run, hosts string, err error) {
	run.JobID = id
	text, err := os.ReadFile(filepath.Join(a.Dir, id.Job))
	if err != nil {
		return run, "", core.Errorf(core.JobUnknown, "job %s: no file says that it runs", id.Job)
	}
	_, err = fmt.Sscan(string(text), &run.UID, &hosts)
	return run, hosts, err
}

func (a *adapter) Describe(_ context.Context, key core.Key, _ []byte, _ core.Peer) (core.Job, error) {
	run, hosts, err := a.read(key.JobID)
	if err != nil {
		return core.Job{}, err
	}
	at := core.Placement{Hosts: hosts, Nodes: 1 + strings.Count(hosts, ","), Cores: 2, Total: 8}
	return core.Job{Run: run, GID: run.UID, Placements: []core.Placement{at}}, nil
}

func (a *adapter) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		if err := tell(core.Jobs{Asking: true}); err != nil {
			return err
		}
		all := core.Jobs{Complete: true}
		files, err := os.ReadDir(a.Dir)
		if err != nil {
			return err
		}
		for _, f := range files {
			if strings.HasPrefix(f.Name(), ".") { // half written
				continue
			}
			run, hosts, err := a.read(core.JobID{Scheduler: "files", Job: f.Name()})
			if err == nil {
				all.Jobs = append(all.Jobs, core.JobStatus{Run: run, State: core.JobRunning, Hosts: hosts})
			}
		}
		if err := tell(all); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (a *adapter) Fail(context.Context, core.Key, string) error { return nil }

func (a *adapter) Drain(context.Context, string, string) error { return nil }
