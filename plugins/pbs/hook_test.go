package pbs_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/pbs/install"
	"github.com/weft-hpc/weft/plugins/pbs/pbstest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// scriptedHook names the folder from which this test's program answers as weft-hook, with an adapter and without an agent.
const scriptedHook = "WEFT_SCRIPTED_HOOK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(scriptedHook); dir != "" {
		os.Exit(answer(dir))
	}
	os.Exit(m.Run())
}

// saying is what weft-hook answers in one phase on one host.
type saying struct {
	Reason core.Reason // a failure
	Raw    *string     // instead of any answer
	Code   int
	Told   []core.Variable
}

// answer is weft-hook: weft-hook --dir HOST SCHEDULER PHASE.
func answer(dir string) int {
	host, phase := filepath.Base(os.Args[2]), os.Args[4]
	var says map[string]saying
	text, err := os.ReadFile(filepath.Join(dir, "says"))
	if err == nil {
		err = json.Unmarshal(text, &says)
	}
	var stdin bytes.Buffer
	if _, fault := stdin.ReadFrom(os.Stdin); err != nil || fault != nil {
		fmt.Fprintln(os.Stderr, err, fault)
		return 1
	}
	say, scripted := says[phase+" "+host]
	if !scripted {
		say = says[phase]
	}
	if say.Raw != nil {
		fmt.Print(*say.Raw)
		return say.Code
	}
	p := pbs.New("tioga")
	call := core.HookCall{Scheduler: "tioga", Phase: phase, Stdin: stdin.Bytes(), Began: 7}
	ask, err := p.Parse(nil, call) //nolint:staticcheck // it does nothing that ends
	out := core.Outcome{Action: ask.Action, Key: ask.Key, Environment: say.Told}
	switch {
	case err != nil:
		out.Err = core.AsError(err)
	case say.Reason != "":
		out.Err = core.Errorf(say.Reason, "%s on %s: it is so", ask.Key, host)
	}
	r, err := p.Render(nil, call, out) //nolint:staticcheck // nor does this
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("%s", r.Stdout)
	return r.Exit
}

// site is a complex whose hooks are the real hook file, run by a Python with the stand-in module.
type site struct {
	*pbstest.Complex
	t      *testing.T
	python *python
	dir    string
	hangs  string // the event in which weft-hook hangs
	room   bool   // its configuration says that runjob asks

	mu   sync.Mutex
	runs []ran
}

// ran is what one run of the hook file did.
type ran struct {
	Event    string            `json:"-"`
	Log      []string          `json:"log"`
	Rejected bool              `json:"rejected"`
	Message  string            `json:"message"`
	Deleted  bool              `json:"deleted"`
	Rerun    bool              `json:"rerun"`
	Offline  map[string]string `json:"offline"`
	Env      map[string]string `json:"env"`
	Failed   string            `json:"failed"`
	Calls    []struct {
		Command []string `json:"command"`
		Limit   float64  `json:"limit"`
		Env     []string `json:"env"`
	} `json:"calls"`
}

// python runs hook files, each in a process of its own that it forks: to start an interpreter for each takes long.
type python struct {
	mu  sync.Mutex
	in  *json.Encoder
	out *json.Decoder
}

// theInterpreter ends with the tests, by the end of its standard input.
func theInterpreter(t *testing.T) *python {
	t.Helper()
	p, err := interpreter()
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		t.Skip("NOT RUN: PBS's hook file, since there is no python3 here; `make test-deps` brings it")
	}
	return p
}

// interpreter is WEFT_PYTHON, or python3; nil: there is none. The first python3 of the path says which program it is: it
// may be a script that looks for one.
var interpreter = sync.OnceValues(func() (*python, error) {
	name := os.Getenv("WEFT_PYTHON")
	if name == "" {
		name = "python3"
	}
	path, err := exec.Command(name, "-S", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return nil, nil
	}
	cmd := exec.Command(strings.TrimSpace(string(path)), "-S", filepath.Join("testdata", "python", "run.py"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &python{in: json.NewEncoder(in), out: json.NewDecoder(out)}, cmd.Start()
})

func (p *python) ask(question, answer any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.in.Encode(question); err != nil {
		return err
	}
	return p.out.Decode(answer)
}

func newSite(t *testing.T, hosts int, says map[string]saying) *site {
	t.Helper()
	s := &site{Complex: pbstest.New(hosts), t: t, python: theInterpreter(t), dir: t.TempDir()}
	s.FailClose = true
	s.Events = strings.Split(install.NodeEvents+","+install.ObitEvent+","+install.RoomEvent, ",")
	s.Hook = s.run
	s.write("weft_hook.py", install.Script)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.write("weft-hook", "#!/bin/sh\nexport GORACE=atexit_sleep_ms=0\n"+scriptedHook+"="+s.dir+" exec "+self+" \"$@\"\n")
	s.says(says)
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) says(says map[string]saying) {
	s.t.Helper()
	text, err := json.Marshal(says)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("says", string(text))
}

// run is the complex's hook.
func (s *site) run(e pbstest.Event) pbstest.Result {
	host := "server"
	if e.Host != nil {
		host = e.Host.Name
	}
	given := map[string]any{"event": e.Name, "host": host, "hangs": s.hangs == e.Name}
	if e.Job != nil {
		j := map[string]any{
			"id": e.Job.ID, "euser": userOf(s.t), "egroup": e.Job.Group, "exec_vnode": e.Job.ExecVnode(), "queue": e.Job.Queue, "Account_Name": e.Job.Account,
			"ctime": e.Job.Submitted, "resources": e.Job.Resources,
		}
		if e.Job.Runs > 0 {
			j["run_count"] = e.Job.Runs
		}
		given["job"] = j
		vnodes := map[string]string{}
		for _, h := range e.Job.On {
			for _, v := range h.Vnodes {
				vnodes[v.Name] = h.Name + ".example.org"
			}
		}
		given["vnodes"] = vnodes
	}
	if e.Name == "execjob_launch" {
		given["env"] = map[string]string{"PBS_JOBID": e.Job.ID, "SLINGSHOT_SVC_IDS": "66", "FI_CXI_COLL_JOB_ID": "carried", "HOME": "/users/tester"}
	}
	ids := []string{}
	for _, j := range e.Jobs {
		ids = append(ids, j.ID)
	}
	given["jobs"] = ids
	return s.event(given)
}

// userOf is a user whom this host knows.
func userOf(t *testing.T) string {
	t.Helper()
	if os.Geteuid() == 0 {
		return "root"
	}
	text, err := exec.Command("id", "-un").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// event runs the hook file on one event.
func (s *site) event(given map[string]any) pbstest.Result {
	host := given["host"].(string)
	config := map[string]any{
		"weft_hook": filepath.Join(s.dir, "weft-hook"), "scheduler": "tioga", "dir": "/run/" + host, "server_dir": "/run/server",
		"resources": []string{"slingshot_tcs", "slingshot_depth", "slingshot_off"}, "room": s.room,
	}
	text, err := json.Marshal(config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(host+".json", string(text))
	r := ran{Event: given["event"].(string) + " " + host}
	asked := map[string]any{
		"hook": filepath.Join(s.dir, "weft_hook.py"), "config": filepath.Join(s.dir, host+".json"), "event": given,
	}
	if err := s.python.ask(asked, &r); err != nil {
		s.t.Fatalf("%s: %v", r.Event, err)
	}
	if r.Failed != "" {
		s.t.Errorf("%s: the hook file failed: %s", r.Event, r.Failed)
	}
	s.mu.Lock()
	s.runs = append(s.runs, r)
	s.mu.Unlock()
	return pbstest.Result{Rejected: r.Rejected, Message: r.Message, Delete: r.Deleted, Failed: r.Failed != "", Offline: r.Offline, Env: r.Env}
}

// last is the last run of an event.
func (s *site) last(event string) ran {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Backward(s.runs) {
		if r.Event == event {
			return r
		}
	}
	s.t.Fatalf("there was no %s; there were %v", event, s.Past())
	return ran{}
}

func (s *site) past(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.Past()); diff != "" {
		s.t.Errorf("the events (-want +got):\n%s", diff)
	}
	s.Forget()
}

func (s *site) state(j *pbstest.Job, state string, runs, exit int) {
	s.t.Helper()
	if j.State != state || j.Runs != runs || j.Exit != exit {
		s.t.Errorf("job %s is %s after %d runs with exit status %d (%s), want %s, %d, %d", j.ID, j.State, j.Runs, j.Exit, j.Comment, state, runs, exit)
	}
}

// offline are the vnodes that are, with their comments.
func (s *site) offline(want map[string]string) {
	s.t.Helper()
	got := map[string]string{}
	for _, h := range s.Hosts() {
		for _, v := range h.Vnodes {
			if v.Offline {
				got[v.Name] = v.Comment
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("offline (-want +got):\n%s", diff)
	}
}

// granted is a job's environment on a node with two NICs.
var granted = []core.Variable{
	{Name: "FI_CXI_COLL_JOB_ID", Unset: true},
	{Name: "SLINGSHOT_VNIS", Value: "1116,1115,64529"}, {Name: "SLINGSHOT_DEVICES", Value: "cxi0,cxi1"}, {Name: "SLINGSHOT_SVC_IDS", Value: "5,6"}, {Name: "SLINGSHOT_TCS", Value: "0xa"},
}

var all = map[string]saying{"execjob_launch": {Told: granted}}

// with is all, and what else is said.
func with(more map[string]saying) map[string]saying {
	m := maps.Clone(all)
	maps.Copy(m, more)
	return m
}
