package local

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/weft-hpc/weft/core"
)

// MaxJobs bounds the jobs of one node: each holds a descriptor, and four times as many services as a NIC has.
const MaxJobs = 4096

// PerUser is how many jobs a user may have on a node where jobs_per_user says nothing.
const PerUser = 16

// Options of a Table.
type Options struct {
	Node  string      // the node's name in Weft
	File  string      // where the table is kept, in the node's run directory; "": in memory only
	Cores int         // of the node; 0: as many as this process may use
	Gone  func(Entry) // a job's process is over; may be called from several goroutines, again after a restart, and must not call Close; may be nil
	Log   *slog.Logger

	boot string // tests put their own here
}

// Entry is one job of a node.
type Entry struct {
	Job   string `json:"job"` // NODE.N
	PID   int32  `json:"pid"`
	Start uint64 `json:"start"` // of the process, in ticks of 1/100 s since boot
	Note
}

// Table holds the jobs of one node whose processes live. It is safe for concurrent use.
type Table struct {
	o         Options
	directory directory
	closing   chan struct{}
	group     sync.WaitGroup

	saving sync.Mutex // the file
	saved  uint64

	mu       sync.Mutex // what follows
	perUser  int
	next     uint64
	changed  uint64 // raised with whatever the file must learn
	jobs     map[string]*job
	ended    map[string]Entry // over, but Gone has not returned
	watchers map[*watcher]bool
	closed   bool
}

// job is an Entry with its pidfd.
type job struct {
	Entry
	process *process
	durable bool // told to its caller; until then it counts, and is not shown
}

// Open reads the table of a node. Jobs whose process is over, or was another boot's, are told to Gone.
func Open(o Options) (*Table, error) {
	if err := core.CheckName("node", o.Node, core.MaxNodeName); err != nil {
		return nil, err
	}
	if o.Cores <= 0 {
		o.Cores = runtime.NumCPU()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.boot == "" {
		var err error
		if o.boot, err = bootID(); err != nil {
			return nil, core.Errorf(core.InternalFault, "node %s: its boot id: %w", o.Node, err)
		}
	}
	t := &Table{
		o: o, directory: newDirectory(), closing: make(chan struct{}), perUser: PerUser, next: 1,
		jobs: map[string]*job{}, ended: map[string]Entry{}, watchers: map[*watcher]bool{},
	}
	if o.File == "" {
		return t, nil
	}
	f, err := load(o.File)
	if err != nil {
		return nil, err
	}
	t.next = f.Next
	for _, e := range f.Jobs {
		if err := t.resume(e, f.Boot); err != nil {
			t.Close()
			return nil, err
		}
	}
	// Only now that the table is whole may the end of a job write the file.
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range t.jobs {
		t.group.Go(func() { t.watch(j) })
	}
	for _, e := range t.ended {
		t.group.Go(func() { t.tell(e) })
	}
	return t, nil
}

// resume takes up a job of an earlier life of this agent.
func (t *Table) resume(e Entry, boot string) error {
	if boot == t.o.boot {
		p, err := hold(int(e.PID))
		if err != nil && !errors.Is(err, errDead) {
			return core.Errorf(core.InternalFault, "job %s: whether its process lives: %w", e.Job, err).WithMend("raise the agent's limit of open files, if that is what it lacks")
		}
		if err == nil && p.start == e.Start {
			t.jobs[e.Job] = &job{Entry: e, process: p, durable: true}
			return nil
		}
		if err == nil {
			p.Close()
		}
	}
	t.ended[e.Job] = e
	return nil
}

// SetPerUser sets how many jobs a user who is not root may have on the node.
func (t *Table) SetPerUser(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.perUser = n
}

// Begin makes the caller's process a job and gives it an id that no job of this boot had. It is durable when it returns. hosts are the job's nodes, this
// one first; none means this one alone, and more exist in `weft dev` only.
func (t *Table) Begin(ctx context.Context, peer core.Peer, wish Wish, hosts ...string) (Entry, error) {
	if _, err := ParseOptions(wish.Options); err != nil {
		return Entry{}, err
	}
	if len(hosts) == 0 {
		hosts = []string{t.o.Node}
	}
	p, err := t.caller(peer)
	if err != nil {
		return Entry{}, err
	}
	e, err := t.entry(ctx, peer, p, wish, hosts)
	if err == nil {
		e, err = t.add(e, p, !peer.Root())
	}
	if err != nil {
		p.Close()
		return Entry{}, err
	}
	return e, nil
}

// Join makes pid this node's process of a job that began on another node, and lives there until every Join's has ended: in `weft dev`, a child.
func (t *Table) Join(e Entry, pid int32) (Entry, error) {
	if _, _, err := splitJob(e.Job); err != nil {
		return Entry{}, err
	}
	if !slices.Contains(e.Hosts, t.o.Node) {
		return Entry{}, core.Errorf(core.NotPlaced, "job %s: node %s is none of its nodes", e.Job, t.o.Node)
	}
	p, err := hold(int(pid))
	if err != nil {
		return Entry{}, core.Errorf(core.Cancelled, "job %s: its process on node %s: %w", e.Job, t.o.Node, err)
	}
	e.PID, e.Start = pid, p.start
	if e, err = t.add(e, p, false); err != nil {
		p.Close()
	}
	return e, err
}

// caller holds the process that calls.
func (t *Table) caller(peer core.Peer) (*process, error) {
	p, err := hold(int(peer.PID))
	if errors.Is(err, errDead) {
		return nil, core.Errorf(core.Cancelled, "caller: pid %d: %w", peer.PID, errDead)
	}
	if err != nil {
		return nil, core.Errorf(core.InternalFault, "caller: %w", err)
	}
	if !slices.Contains(p.uids[:2], peer.UID) {
		p.Close()
		return nil, core.Errorf(core.NotAllowed, "caller: uid %d called, but pid %d is another's", peer.UID, peer.PID).
			WithMend("the process that begins a job must be the one that connects")
	}
	return p, nil
}

func (t *Table) entry(ctx context.Context, peer core.Peer, p *process, wish Wish, hosts []string) (Entry, error) {
	for _, h := range hosts {
		if err := core.CheckName("node", h, core.MaxNodeName); err != nil {
			return Entry{}, err
		}
	}
	if hosts[0] != t.o.Node {
		return Entry{}, core.Errorf(core.BadCall, "job: its first node is %s and it begins on %s", hosts[0], t.o.Node)
	}
	id, err := t.directory.of(ctx, peer, p.owner, wish.User)
	if err != nil {
		return Entry{}, err
	}
	at, err := began(p.start)
	if err != nil {
		return Entry{}, core.Errorf(core.InternalFault, "job: when it began: %w", err)
	}
	e := Entry{PID: peer.PID, Start: p.start, Note: Note{
		UID: id.uid, GID: id.gid, User: id.user, Groups: id.groups, Hosts: hosts, Cores: t.o.Cores, Submitted: at, Options: wish.Options,
	}}
	_, err = e.Encode()
	return e, err
}

// add takes in a job, under a new id where it has none, and makes it durable.
func (t *Table) add(e Entry, p *process, bounded bool) (Entry, error) {
	j := &job{Entry: e, process: p}
	need, err := t.admit(j, bounded)
	if err != nil {
		return Entry{}, err
	}
	if err := t.save(need); err != nil {
		t.mu.Lock()
		delete(t.jobs, j.Job)
		t.mu.Unlock()
		return Entry{}, core.Errorf(core.StoreFailed, "job on node %s: the table of jobs cannot be written: %w", t.o.Node, err).
			WithMend("free space in the agent's run directory, or mend its disk")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return Entry{}, stopping(t.o.Node)
	}
	j.durable = true
	t.notify(j.Entry)
	t.group.Go(func() { t.watch(j) })
	return j.Entry, nil
}

// admit gives a job its number, if there is room for it; it answers which change the file must hold.
func (t *Table) admit(j *job, bounded bool) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := 0
	for _, o := range t.jobs {
		if o.UID == j.UID {
			mine++
		}
	}
	switch {
	case t.closed:
		return 0, stopping(t.o.Node)
	case bounded && mine >= t.perUser:
		return 0, core.Errorf(core.JobLimit, "user %s: %d jobs run on node %s and jobs_per_user allows %d", j.User, mine, t.o.Node, t.perUser)
	case len(t.jobs) >= MaxJobs:
		return 0, core.Errorf(core.Overloaded, "node %s: it has %d local jobs and there may be no more", t.o.Node, len(t.jobs))
	}
	if j.Job == "" {
		j.Job = jobName(t.o.Node, t.next)
		t.next++
	}
	if t.jobs[j.Job] != nil {
		return 0, core.Errorf(core.BadCall, "job %s: node %s has it already", j.Job, t.o.Node)
	}
	t.jobs[j.Job] = j
	t.changed++
	return t.changed, nil
}

func stopping(node string) error {
	return core.Errorf(core.ServerAway, "node %s: its agent is stopping", node).WithMend("try again when it is back")
}

// save writes the file unless it holds change number need already: of many who wait, the first writes for all.
func (t *Table) save(need uint64) error {
	t.saving.Lock()
	defer t.saving.Unlock()
	if t.saved >= need || t.o.File == "" {
		return nil
	}
	t.mu.Lock()
	now := t.changed
	f := file{Version: fileVersion, Boot: t.o.boot, Next: t.next, Jobs: make([]Entry, 0, len(t.jobs)+len(t.ended))}
	for _, j := range t.jobs {
		f.Jobs = append(f.Jobs, j.Entry)
	}
	f.Jobs = slices.AppendSeq(f.Jobs, maps.Values(t.ended))
	t.mu.Unlock()
	slices.SortFunc(f.Jobs, byJob)
	if err := save(t.o.File, f); err != nil {
		return err
	}
	t.saved = now
	return nil
}

func byJob(a, b Entry) int { return strings.Compare(a.Job, b.Job) }

// Get is a job whose process lives here.
func (t *Table) Get(id string) (Entry, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := t.jobs[id]
	if j == nil || !j.durable {
		return Entry{}, false
	}
	return j.Entry, true
}

// Jobs are the jobs whose processes live here, by id: what an agent's records must be of, after a restart.
func (t *Table) Jobs() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Entry
	for _, j := range t.jobs {
		if j.durable {
			all = append(all, j.Entry)
		}
	}
	slices.SortFunc(all, byJob)
	return all
}

// Close ends the watching, not the jobs: the next Open finds them.
func (t *Table) Close() error {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.closing)
	}
	for _, j := range t.jobs {
		j.process.Close()
	}
	t.mu.Unlock()
	t.group.Wait()
	return nil
}
