package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/hook/rundir"
)

const exports = "export SLINGSHOT_VNIS=1024\n"

func ofJob(id string) core.JobID { return core.JobID{Scheduler: "tioga", Job: id} }

// leave is the file that prepare leaves for a job.
func leave(t testing.TB, d rundir.Dir, id string, uid uint32, text string, step ...string) string {
	t.Helper()
	r := rundir.Rendered{Reply: rundir.Reply{Stdout: []byte(text)}}
	for _, piece := range step {
		r.Step = append(r.Step, []byte(piece))
	}
	path := rundir.EnvironPath(d.Environs(), ofJob(id))
	must(t, rundir.WriteEnviron(path, rundir.Environ{UID: uid, Replies: map[string]rundir.Rendered{"taskprolog": r}}, uid))
	return path
}

func TestTheFileAnswersATask(t *testing.T) {
	d := planned(t, alone)
	leave(t, d, "7", uint32(os.Getuid()), exports, "export STEP=", "\n")
	leave(t, d, "ƒ8", uint32(os.Getuid()), exports)
	for name, test := range map[string]struct {
		env  []string
		exit int
		out  string
	}{
		"a task":               {[]string{"JOB_ID=7"}, 0, exports},
		"of a step":            {[]string{"JOB_ID=7", "STEP_ID=3"}, 0, "export STEP=3\n"},
		"by the first name":    {[]string{"JOB_ID=9", "HET_ID=7"}, 0, exports},
		"an empty first name":  {[]string{"JOB_ID=7", "HET_ID="}, 0, exports},
		"not ASCII":            {[]string{"JOB_ID=ƒ8"}, 0, exports},
		"no file":              {[]string{"JOB_ID=9"}, 1, ""},
		"no id":                {[]string{}, 1, ""},
		"a step to be quoted":  {[]string{"JOB_ID=7", "STEP_ID=3\nexport LD_PRELOAD=x"}, 1, ""},
		"a path":               {[]string{"JOB_ID=../tioga/7"}, 1, ""},
		"a path in the middle": {[]string{"JOB_ID=7/../7"}, 1, ""},
		"a path up":            {[]string{"JOB_ID=.."}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, how{env: test.env}, "--dir", string(d), "tioga", "taskprolog")
			if got.exit != test.exit || got.out != test.out || test.exit == 0 && got.err != "" || test.exit != 0 && !got.line() {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestAStepThatAsks calls the agent, which gets what it asks for. The job's file answers others.
func TestAStepThatAsks(t *testing.T) {
	d := planned(t, patient)
	leave(t, d, "7", uint32(os.Getuid()), exports)
	serve(t, d.UsersSocket(), 0o666, listener.Users(), func(_ context.Context, _ core.Peer, req hook.Request) (any, error) {
		var in core.HookCall
		err := req.Decode(&in)
		return core.HookReply{Stdout: []byte(in.Env["NETWORK"] + in.Env["TASK"])}, err
	})
	for name, test := range map[string]struct {
		env []string
		out string
	}{
		"a step":                    {[]string{"STEP_ID=3", "NETWORK=tcs", "TASK=0"}, "tcs0"},
		"a step that asks nothing":  {[]string{"STEP_ID=3", "TASK=0"}, exports},
		"a step with an empty text": {[]string{"STEP_ID=3", "NETWORK="}, exports},
		"the batch script":          {[]string{"NETWORK=tcs", "TASK=0"}, exports},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, how{env: append(test.env, "JOB_ID=7")}, "--dir", string(d), "tioga", "taskprolog")
			if got.exit != 0 || got.out != test.out {
				t.Errorf("got %+v, want %q", got, test.out)
			}
		})
	}
}

// TestTheFileOfARestartedNIC is not believed, nor is that of a NIC that the task's user cannot look up, as in a sandbox:
// the agent knows which services are left.
func TestTheFileOfARestartedNIC(t *testing.T) {
	d := planned(t, alone)
	sight := string(place(t))
	nic := filepath.Join(sight, "cxi0")
	must(t, os.WriteFile(nic, nil, 0o600))
	info, err := os.Stat(nic)
	must(t, err)
	user := how{env: []string{"JOB_ID=7"}}
	owner := uint32(os.Getuid())
	if owner == 0 {
		user.uid, owner = nobody, nobody
	}
	e := rundir.Environ{
		UID:     owner,
		Replies: map[string]rundir.Rendered{"taskprolog": {Reply: rundir.Reply{Stdout: []byte(exports)}}},
		Signs:   []core.Sign{{Path: nic, Inode: info.Sys().(*syscall.Stat_t).Ino}},
	}
	must(t, rundir.WriteEnviron(rundir.EnvironPath(d.Environs(), ofJob("7")), e, owner))
	serve(t, d.UsersSocket(), 0o666, listener.Users(), func(context.Context, core.Peer, hook.Request) (any, error) {
		return core.HookReply{Stdout: []byte("by the agent")}, nil
	})
	task := func(of, want string) {
		t.Helper()
		if got := run(t, user, "--dir", string(d), "tioga", "taskprolog"); got.exit != 0 || got.out != want {
			t.Errorf("%s: %+v", of, got)
		}
	}
	task("the NIC has not restarted", exports)
	must(t, os.Chmod(sight, 0))
	task("the NIC cannot be looked up", "by the agent")
	must(t, os.Chmod(sight, 0o755))
	must(t, os.Remove(nic))
	task("the NIC has restarted", "by the agent")
}

// TestWarningsAreToldOnce of a job: to its first task, which is the batch script or task 0 of the first step.
func TestWarningsAreToldOnce(t *testing.T) {
	d := planned(t, alone)
	const warned = exports + "print weft: warning: few\n"
	file := func(id string, first map[string]rundir.Rendered) {
		all := map[string]rundir.Rendered{"taskprolog": {Reply: rundir.Reply{Stdout: []byte(exports)}}}
		e := rundir.Environ{UID: uint32(os.Getuid()), Replies: all, First: first}
		must(t, rundir.WriteEnviron(rundir.EnvironPath(d.Environs(), ofJob(id)), e, e.UID))
	}
	file("7", map[string]rundir.Rendered{"taskprolog": {Reply: rundir.Reply{Stdout: []byte(warned)}}})
	file("8", nil)
	for name, test := range map[string]struct {
		env []string
		out string
	}{
		"batch script":               {[]string{"JOB_ID=7", "TASK=0"}, warned},
		"first step":                 {[]string{"JOB_ID=7", "TASK=0", "STEP_ID=0"}, warned},
		"first step of a batch job":  {[]string{"JOB_ID=7", "TASK=0", "STEP_ID=0", "WEFT_WARNED=7"}, exports},
		"job that a job submitted":   {[]string{"JOB_ID=7", "TASK=0", "WEFT_WARNED=6"}, warned},
		"later step":                 {[]string{"JOB_ID=7", "TASK=0", "STEP_ID=1"}, exports},
		"another task":               {[]string{"JOB_ID=7", "TASK=1", "STEP_ID=0"}, exports},
		"another task of its node":   {[]string{"JOB_ID=7", "TASK=64"}, exports},
		"a task without a number":    {[]string{"JOB_ID=7"}, exports},
		"a job without any warnings": {[]string{"JOB_ID=8", "TASK=0"}, exports},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, how{env: test.env}, "--dir", string(d), "tioga", "taskprolog")
			if got.exit != 0 || got.out != test.out || got.err != "" {
				t.Errorf("got %+v, want %q", got, test.out)
			}
		})
	}
}

func TestAFileIsBelievedOnlyOfItsOwner(t *testing.T) {
	for name, bad := range map[string]func(t *testing.T, path string){
		"others can read it": func(t *testing.T, path string) { must(t, os.Chmod(path, 0o444)) },
		"a symbolic link": func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".real"))
			must(t, os.Symlink(path+".real", path))
		},
		"two names":                          func(t *testing.T, path string) { must(t, os.Link(path, path+".too")) },
		"in a folder that others can write":  func(t *testing.T, path string) { must(t, os.Chmod(filepath.Dir(path), 0o777)) },
		"in a folder of folders of the kind": func(t *testing.T, path string) { must(t, os.Chmod(filepath.Dir(filepath.Dir(path)), 0o777)) },
		"empty":                              func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
		"endless":                            func(t *testing.T, path string) { must(t, os.Truncate(path, 1<<40)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := planned(t, alone)
			bad(t, leave(t, d, "7", uint32(os.Getuid()), exports))
			if got := run(t, how{}, "--dir", string(d), "tioga", "taskprolog"); got.exit == 0 || !got.line() {
				t.Errorf("without an agent: %+v", got)
			}
			must(t, d.WriteHooks(plan(patient)))
			serve(t, d.UsersSocket(), 0o666, listener.Users(), func(context.Context, core.Peer, hook.Request) (any, error) {
				return core.HookReply{Stdout: []byte("by the agent")}, nil
			})
			if got := run(t, how{}, "--dir", string(d), "tioga", "taskprolog"); got.exit != 0 || got.out != "by the agent" {
				t.Errorf("the agent was not asked: %+v", got)
			}
		})
	}
}

// TestAnotherUsersEnvironment is asked for by a task that claims to be another user's job.
func TestAnotherUsersEnvironment(t *testing.T) {
	root(t)
	const owner, thief = 1001, 1002
	d := planned(t, alone)
	leave(t, d, "7", owner, exports)
	if got := run(t, how{uid: owner}, "--dir", string(d), "tioga", "taskprolog"); got.exit != 0 || got.out != exports {
		t.Errorf("the owner: %+v", got)
	}
	if got := run(t, how{uid: thief}, "--dir", string(d), "tioga", "taskprolog"); got.exit == 0 || !got.line() || strings.Contains(got.err, "SLINGSHOT") {
		t.Errorf("another: %+v", got)
	}
	if got := run(t, how{}, "--dir", string(d), "tioga", "taskprolog"); got.exit != 0 || got.out != exports {
		t.Errorf("root: %+v", got)
	}
	// Even a file that its reader could have made himself does not come from a folder that he could write.
	trap := place(t)
	must(t, trap.WriteHooks(plan(patient)))
	must(t, os.Chown(string(trap), thief, thief))
	if got := run(t, how{uid: owner}, "--dir", string(trap), "tioga", "taskprolog"); got.exit == 0 || !got.line() || !strings.Contains(got.err, "not believed") {
		t.Errorf("a run directory of another user: %+v", got)
	}
	if got := run(t, how{}, "--dir", string(trap), "tioga", "prolog"); got.exit == 0 || !got.line() || !strings.Contains(got.err, "not believed") {
		t.Errorf("root with a run directory of a user: %+v", got)
	}
}

func TestRootsSocketIsRoots(t *testing.T) {
	root(t)
	d := planned(t, patient)
	serve(t, d.RootSocket(), 0o600, listener.Root(), echo)
	serve(t, d.UsersSocket(), 0o666, listener.Users(), func(_ context.Context, peer core.Peer, _ hook.Request) (any, error) {
		return core.HookReply{Stdout: fmt.Appendf(nil, "uid %d", peer.UID)}, nil
	})
	if got := run(t, how{uid: nobody}, "--dir", string(d), "tioga", "prolog"); got.exit == 0 || !got.line() {
		t.Errorf("a user at root's socket: %+v", got)
	}
	if got := run(t, how{uid: nobody}, "--dir", string(d), "tioga", "taskprolog"); got.out != "uid 65534" {
		t.Errorf("a user at the users' socket: %+v", got)
	}
}

// TestManyTasksOfAFile are 192 tasks that start at once, without any agent.
func TestManyTasksOfAFile(t *testing.T) {
	d := planned(t, patient)
	leave(t, d, "7", uint32(os.Getuid()), exports)
	var group sync.WaitGroup
	for range 192 {
		group.Go(func() {
			if got := run(t, how{}, "--dir", string(d), "tioga", "taskprolog"); got.exit != 0 || got.out != exports || got.err != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
	group.Wait()
}
