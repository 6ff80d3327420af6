package local

import (
	"errors"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people"
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
	o       Options
	people  *people.Database
	closing chan struct{}
	group   sync.WaitGroup

	saving sync.Mutex // the file
	saved  uint64

	mu      sync.Mutex // what follows
	perUser int
	next    uint64
	changed uint64 // raised with whatever the file must learn
	jobs    map[string]*job
	ended   map[string]Entry       // over, but Gone has not returned
	watches map[chan struct{}]bool // each wakes a Watch
	closed  bool
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
		o: o, people: people.New(nil), closing: make(chan struct{}), perUser: PerUser, next: 1,
		jobs: map[string]*job{}, ended: map[string]Entry{}, watches: map[chan struct{}]bool{},
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
			return nil, errors.Join(err, t.Close())
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
			return core.Errorf(core.InternalFault, "job %s: whether its process lives: %w", e.Job, err).WithRemedy("raise the agent's limit of open files, if that is what it lacks")
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

// save writes the file unless it holds change number need already: of many who wait, the first writes for all.
func (t *Table) save(need uint64) error {
	t.saving.Lock()
	defer t.saving.Unlock()
	if t.saved >= need || t.o.File == "" {
		return nil
	}
	t.mu.Lock()
	now := t.changed
	f := saved{Version: fileVersion, Boot: t.o.boot, Next: t.next, Jobs: make([]Entry, 0, len(t.jobs)+len(t.ended))}
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
