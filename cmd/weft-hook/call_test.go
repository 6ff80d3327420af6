package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// echo answers with the call itself.
func echo(_ context.Context, _ core.Peer, req hook.Request) (any, error) {
	var in core.HookCall
	if err := req.Decode(&in); err != nil {
		return nil, err
	}
	text, err := json.Marshal(in)
	return core.HookReply{Stdout: text, Stderr: []byte("as the adapter says\n"), Exit: 3}, err
}

func TestTheCallIsWhatThePhaseWants(t *testing.T) {
	d := planned(t, patient)
	serve(t, d.RootSocket(), 0o600, listener.Root(), echo)
	serve(t, d.UsersSocket(), 0o666, listener.Users(), func(context.Context, core.Peer, hook.Request) (any, error) {
		return core.HookReply{Stdout: []byte("the users' socket")}, nil
	})
	// A MiB of environment, of which two variables are wanted.
	env := []string{"JOB_ID=7", "JOB_UID=1000", "SECRET=x", "WEFT_DIR=/nowhere"}
	for range 9 {
		env = append(env, "FILL="+strings.Repeat("x", 120<<10))
	}
	got := run(t, how{env: env}, "--dir", string(d), "slurm", "prolog", "one", "--two", "ƒ3")
	if got.exit != 3 || got.err != "as the adapter says\n" {
		t.Errorf("got %+v", got)
	}
	var call core.HookCall
	must(t, json.Unmarshal([]byte(got.out), &call))
	want := core.HookCall{Scheduler: "tioga", Phase: "prolog", Args: []string{"one", "--two", "ƒ3"}, Env: map[string]string{"JOB_ID": "7", "JOB_UID": "1000"}, Parent: true}
	if diff := cmp.Diff(want, call); diff != "" {
		t.Error(diff)
	}
	if got := run(t, how{}, "--dir", string(d), "tioga", "taskprolog"); got.out != "the users' socket" || got.exit != 0 {
		t.Errorf("a phase of users: %+v", got)
	}
}

func TestAVariableThatIsTooLongStaysBehind(t *testing.T) {
	d := planned(t, patient)
	serve(t, d.RootSocket(), 0o600, listener.Root(), echo)
	serve(t, d.UsersSocket(), 0o666, listener.Users(), echo)
	env := []string{"JOB_ID=7", "COMMENT=" + strings.Repeat("x", 100<<10)}
	got := run(t, how{env: env}, "--dir", string(d), "tioga", "taskprolog")
	if got.exit != 3 || !strings.Contains(got.out, `"JOB_ID":"7"`) || strings.Contains(got.out, "xxx") || !strings.Contains(got.err, "variable COMMENT: it has 102400 bytes") {
		t.Errorf("users: %.300s %.300s", got.out, got.err)
	}
	if got := run(t, how{env: env}, "--dir", string(d), "tioga", "prolog"); got.exit != 3 || len(got.out) < 100<<10 {
		t.Errorf("root: %d bytes, %.300s", len(got.out), got.err)
	}
}

func TestStandardInput(t *testing.T) {
	d := planned(t, patient)
	serve(t, d.UsersSocket(), 0o666, listener.Users(), echo)
	for name, test := range map[string]struct {
		text string
		exit int
		says string
	}{
		"some":     {"{}", 3, `"Stdin":"e30="`},
		"none":     {"", 3, `"Stdin":""`},
		"too much": {strings.Repeat("x", 65), 1, "more than 64 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			must(t, err)
			defer r.Close()
			_, err = w.WriteString(test.text)
			must(t, err)
			must(t, w.Close())
			got := run(t, how{stdin: r}, "--dir", string(d), "tioga", "input")
			if got.exit != test.exit || !strings.Contains(got.out+got.err, test.says) {
				t.Errorf("got %+v", got)
			}
		})
	}
	// Which of two is first depends on how busy the machine is: the hook that says what it waited for, or the one that says that its time is over.
	t.Run("nobody writes", func(t *testing.T) {
		d := planned(t, 150*time.Millisecond)
		r, w, err := os.Pipe()
		must(t, err)
		defer r.Close()
		defer w.Close()
		got := run(t, how{stdin: r}, "--dir", string(d), "tioga", "input")
		if got.exit != exitFailed || !got.line() || !strings.Contains(got.err, "standard input") && !strings.Contains(got.err, "not over within") {
			t.Errorf("got %+v", got)
		}
	})
}

// TestStandardInputThatDoesNotEnd: on a machine that is not busy, the hook says what it waited for, and says it before its time is over.
func TestStandardInputThatDoesNotEnd(t *testing.T) {
	d := planned(t, patient)
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close() // what still reads ends
		var said bytes.Buffer
		c := &call{dir: d, scheduler: "tioga", phase: "input", env: func(string) (string, bool) { return "", false }, stdin: r, stdout: io.Discard, stderr: &said, began: time.Now()}
		c.watch = time.AfterFunc(looking, func() { t.Error("its time is over and it has said nothing") })
		defer c.watch.Stop()
		if code := c.run(); code != exitFailed || !strings.Contains(said.String(), "standard input: it did not end within the time limit") || strings.Count(said.String(), "\n") != 1 {
			t.Errorf("exit %d: %s", code, said.String())
		}
		if took := time.Since(c.began); took >= patient {
			t.Errorf("it took %s of %s", took, patient)
		}
	})
}

// TestOneLastLine: a hook whose time is over while it says why it fails says one of the two.
func TestOneLastLine(t *testing.T) {
	var said bytes.Buffer
	c := &call{stderr: &said}
	c.fail(core.Errorf(core.TimedOut, "standard input: it did not end"))
	c.last("it was not over within %s", patient)
	if got := said.String(); !strings.Contains(got, "standard input") || strings.Count(got, "\n") != 1 {
		t.Errorf("%s", got)
	}
}

func TestOutputThatNobodyReads(t *testing.T) {
	d := planned(t, 300*time.Millisecond)
	serve(t, d.UsersSocket(), 0o666, listener.Users(), func(context.Context, core.Peer, hook.Request) (any, error) {
		return core.HookReply{Stdout: []byte(strings.Repeat("x", 500<<10))}, nil
	})
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--dir", string(d), "tioga", "taskprolog")
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"JOB_ID=7"}, w, w // neither has a reader
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 1 || ctx.Err() != nil {
		t.Errorf("exit code %d, %v", code, ctx.Err())
	}
}

func TestUsage(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		exit int
		says string
	}{
		"nothing":         {nil, 2, "must be given"},
		"one":             {[]string{"slurm"}, 2, "must be given"},
		"unknown flag":    {[]string{"--socket", "x", "slurm", "prolog"}, 2, "-socket"},
		"no folder":       {[]string{"--dir", "", "slurm", "prolog"}, 2, "--dir"},
		"no run folder":   {[]string{"--dir", "/nonexistent/weft", "slurm", "prolog"}, 1, "start `weft agent`"},
		"control signs":   {[]string{"--dir", "/nonexistent/weft", "a\x1b[31m\n\u0085b", "prolog"}, 1, "a?[31m"},
		"a long argument": {[]string{"--dir", "/nonexistent/weft", strings.Repeat("a", 100<<10), "prolog"}, 1, "aaa…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, how{}, test.args...)
			if got.exit != test.exit || !got.line() || !strings.Contains(got.err, test.says) || len(got.err) > maxLine+8 {
				t.Errorf("got %+v", got)
			}
		})
	}
	got := run(t, how{}, "--say", "print ", "--dir", "/nonexistent/weft", "a\n"+strings.Repeat("b", 100<<10), "prolog")
	if got.exit != 1 || got.err != "" || !strings.HasPrefix(got.out, "print weft-hook: ") || strings.Count(got.out, "\n") != 1 || len(got.out) > maxLine+16 {
		t.Errorf("with --say: %+v", got)
	}
	if got := run(t, how{}, "--say", "print ", "slurm"); got.exit != 2 || got.err != "" || !strings.HasPrefix(got.out, "print weft-hook: ") || strings.Count(got.out, "\n") != 1 {
		t.Errorf("wrong usage with --say: %+v", got)
	}
	if got := run(t, how{}, "--help"); got.exit != 0 || !strings.Contains(got.out, usage) {
		t.Errorf("help: %+v", got)
	}
	d := planned(t, patient)
	for args, says := range map[string]string{"lsf prolog": "name one of: tioga", "tioga spank": "use one of: prolog, taskprolog"} {
		if got := run(t, how{}, append([]string{"--dir", string(d)}, strings.Fields(args)...)...); got.exit != 1 || !got.line() || !strings.Contains(got.err, says) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if got := run(t, how{}, "--dir", string(place(t)), "tioga", "prolog"); got.exit != 1 || !got.line() || !strings.Contains(got.err, "hooks.json") {
		t.Errorf("no hooks.json: %+v", got)
	}
}

// TestManyAtOnce are 192 tasks that all ask the agent, since no file answers them. The users' socket lets a uid have 8 calls at a time.
func TestManyAtOnce(t *testing.T) {
	d := planned(t, patient)
	serve(t, d.UsersSocket(), 0o666, listener.Users(), func(context.Context, core.Peer, hook.Request) (any, error) {
		return core.HookReply{Stdout: []byte("export SLINGSHOT_VNIS=1024\n")}, nil
	})
	var group sync.WaitGroup
	for range 192 {
		group.Go(func() {
			if got := run(t, how{}, "--dir", string(d), "tioga", "taskprolog"); got.exit != 0 || got.out != "export SLINGSHOT_VNIS=1024\n" || got.err != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
	group.Wait()
}

// TestAnAgentThatComesBack: a hook that meets no agent comes again, with the same call.
func TestAnAgentThatComesBack(t *testing.T) {
	p := plan(patient)
	for i := range p.Schedulers[0].Phases {
		p.Schedulers[0].Phases[i].Stdin = 100
	}
	d := place(t)
	must(t, d.WriteHooks(p))
	// The first try finds no agent.
	starts := sync.OnceFunc(func() {
		time.AfterFunc(50*time.Millisecond, func() { serve(t, d.RootSocket(), 0o600, listener.Root(), echo) })
	})
	var out, errs bytes.Buffer
	c := &call{
		dir: d, scheduler: "tioga", phase: "prolog", began: time.Now(), uid: os.Getuid(), stdin: strings.NewReader("an event"),
		stdout: &out, stderr: &errs, watch: time.NewTimer(time.Hour),
		env: func(string) (string, bool) { starts(); return "7", true },
	}
	defer c.watch.Stop()
	event := base64.StdEncoding.EncodeToString([]byte("an event"))
	if exit := c.run(); exit != 3 || !strings.Contains(out.String(), `"JOB_ID":"7"`) || !strings.Contains(out.String(), event) {
		t.Errorf("exit %d: %s %s", exit, &out, &errs)
	}
}
