package life

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/local"
)

// localSite is a user with `weft run`: no queue, a process on each node, whose end is all that says that a job is over. Who gets nothing for a while comes
// again, with new processes and so as another job; who is denied does not.
type localSite struct {
	adapter
	w     *world
	dir   string
	group sync.WaitGroup // clean-ups

	mu     sync.Mutex
	tables map[string]*local.Table
	wants  map[string]*want
	gone   []string // nodes
}

// localName is the label of the scheduler of type local, as sites have it.
const localName = "local"

// want is what a user wants run.
type want struct {
	state string
	now   *attempt // nil: `weft run` is still to be called, or has failed
}

// attempt is one `weft run`.
type attempt struct {
	job      string // as Weft has it
	children map[string]*child
	cleaned  map[string]chan struct{} // by node: closed when it was cleaned up after the process there
}

// child is a process of a job.
type child struct {
	cmd *exec.Cmd
	in  io.Closer
	end sync.Once
}

func newLocal(w *world) site {
	s := &localSite{w: w, dir: w.TempDir(), wants: map[string]*want{}}
	s.die()
	return s
}

func (s *localSite) name() string { return localName }

// uid is another than root's where there may be such a process.
func (s *localSite) uid() uint32 {
	if os.Getuid() == 0 {
		return 1400
	}
	return uint32(os.Getuid()) //nolint:gosec // a uid
}

// die is the end of every agent's half: its tables are read anew from what they had written.
func (s *localSite) die() {
	s.mu.Lock()
	before := s.tables
	s.mu.Unlock()
	for _, t := range before {
		_ = t.Close()
	}
	tables := map[string]*local.Table{}
	for _, n := range names {
		t, err := local.Open(local.Options{Node: n, File: filepath.Join(s.dir, n), Cores: 4, Gone: func(e local.Entry) { s.group.Go(func() { s.cleanUp(n, e) }) }})
		if err != nil {
			s.w.Error(err)
			return
		}
		tables[n] = t
	}
	s.mu.Lock()
	s.tables = tables
	s.mu.Unlock()
	p := local.New(localName, slices.Collect(maps.Values(tables))...)
	s.replace(&process{hooks: p, scheduler: p, again: 200 * time.Millisecond})
}

func (s *localSite) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.wants {
		if w.now != nil {
			w.now.kill()
		}
	}
	for _, t := range s.tables {
		_ = t.Close()
	}
}

func (s *localSite) table(node string) *local.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[node]
}

// spawn starts a process that lives until it is told to end.
func (s *localSite) spawn() (*child, error) {
	c := &child{cmd: exec.Command("cat")}
	if uid := s.uid(); int(uid) != os.Getuid() {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return c, c.cmd.Start()
}

// kill ends the processes on some nodes, or on all of them.
func (a *attempt) kill(on ...string) {
	for n, c := range a.children {
		if len(on) == 0 || slices.Contains(on, n) {
			c.end.Do(func() {
				_ = c.in.Close()
				_ = c.cmd.Process.Kill()
				_ = c.cmd.Wait()
			})
		}
	}
}

func (s *localSite) peer(c *child) core.Peer {
	return core.Peer{UID: s.uid(), GID: s.uid(), PID: int32(c.cmd.Process.Pid)} //nolint:gosec // a pid
}

func (s *localSite) hook(node, phase, job string, peer core.Peer) core.HookReply {
	uid := s.uid()
	text, err := json.Marshal(local.Call{Job: job, UID: &uid})
	if err != nil {
		s.w.Error(err)
	}
	return s.w.hook(node, core.HookCall{Scheduler: localName, Phase: phase, Stdin: text, Peer: peer})
}

// cleanUp is what a node's agent does when a process is over. One that was told twice, by two lives of the table, is cleaned up after twice.
func (s *localSite) cleanUp(node string, e local.Entry) {
	s.hook(node, local.PhaseCleanUp, e.Job, core.Peer{})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.wants {
		if w.now == nil || w.now.job != e.Job {
			continue
		}
		select {
		case <-w.now.cleaned[node]:
		default:
			close(w.now.cleaned[node])
		}
	}
}

func (s *localSite) submit() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprint(len(s.wants) + 1)
	s.wants[id] = &want{state: waits}
	return id
}

// begin starts a job's processes and makes them known.
func (s *localSite) begin() (*attempt, error) {
	a := &attempt{children: map[string]*child{}, cleaned: map[string]chan struct{}{}}
	for i, n := range names {
		c, err := s.spawn()
		if err != nil {
			return a, err
		}
		a.children[n] = c
		var e local.Entry
		if i == 0 {
			e, err = s.table(n).Begin(s.w.Context(), s.peer(c), local.Wish{}, names...)
			a.job = e.Job
		} else if first, ok := s.table(names[0]).Get(a.job); ok {
			_, err = s.table(n).Join(first, s.peer(c).PID)
		} else {
			err = fmt.Errorf("job %s is over", a.job)
		}
		if err != nil {
			return a, err
		}
		a.cleaned[n] = make(chan struct{})
	}
	return a, nil
}

func (s *localSite) start(id string) bool {
	s.mu.Lock()
	want := s.wants[id]
	state := want.state
	s.mu.Unlock()
	if state != waits {
		return state == runs
	}
	a, err := s.begin()
	if err != nil {
		s.w.Logf("local: weft run %s: %v", id, err)
		a.kill()
		return false
	}
	s.mu.Lock()
	want.now, want.state = a, runs
	s.mu.Unlock()
	replies := make([]core.HookReply, len(names))
	var all sync.WaitGroup
	for i, n := range names {
		all.Go(func() { replies[i] = s.hook(n, local.PhasePrepare, a.job, s.peer(a.children[n])) })
	}
	all.Wait()
	for _, r := range replies {
		if r.Exit == 0 {
			continue
		}
		s.w.Logf("local: weft run %s: %s", id, r.Stderr)
		next := waits
		if strings.Contains(string(r.Stderr), deniedText) {
			next = over
		}
		s.end(id, next)()
		return false
	}
	return s.state(id) == runs
}

// vni is what a process on a node gets to know once it execs its command.
func (s *localSite) vni(id, node string) string {
	s.mu.Lock()
	a := s.wants[id].now
	s.mu.Unlock()
	if a == nil {
		return ""
	}
	r := s.hook(node, local.PhaseEnvironment, a.job, s.peer(a.children[node]))
	var answer local.Answer
	if r.Exit != 0 || json.Unmarshal(r.Stdout, &answer) != nil {
		return ""
	}
	for _, v := range answer.Set {
		if v.Name == "SLINGSHOT_VNIS" {
			return v.Value
		}
	}
	return ""
}

// end ends a job's processes; what it returns waits for the clean-ups on the nodes that are there.
func (s *localSite) end(id, next string) func() {
	s.mu.Lock()
	w := s.wants[id]
	a := w.now
	if w.state != over {
		w.state = next
	}
	there := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(s.gone, n) })
	s.mu.Unlock()
	if a == nil {
		return func() {}
	}
	a.kill()
	return func() {
		for _, n := range there {
			select {
			case <-a.cleaned[n]:
			case <-s.w.Context().Done():
			}
		}
	}
}

func (s *localSite) finish(id string)        { s.end(id, over)() }
func (s *localSite) cancel(id string) func() { return s.end(id, over) }
func (s *localSite) requeue(string) bool     { return false }

// lose is the end of a node's processes, and so of the jobs that they are of.
func (s *localSite) lose(node string) {
	s.mu.Lock()
	s.gone = append(s.gone, node)
	var hit []string
	for id, w := range s.wants {
		if w.state == runs {
			hit = append(hit, id)
		}
	}
	s.mu.Unlock()
	for _, id := range hit {
		s.end(id, over)()
	}
}

func (s *localSite) mend(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = slices.DeleteFunc(s.gone, func(n string) bool { return n == node })
}

func (s *localSite) state(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wants[id].state
}

// drained is what Weft told its adapter, which has nobody to tell.
func (s *localSite) drained(node string) string {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for _, d := range s.w.drains {
		if why, ok := strings.CutPrefix(d, localName+" "+node+": "); ok {
			return why
		}
	}
	return ""
}
