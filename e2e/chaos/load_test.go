package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/liartest"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// load is the clients of a site.
type load struct {
	*site

	mu    sync.Mutex
	users uint32
	jobs  map[uint32]string // by user: each job has its own, so that a service tells whose it is
	begun map[string]int    // by node
	count map[string]int
	why   error // of the newest job that was refused
	looks int
	reads int
}

const firstUser = 30_000

func newLoad(s *site) *load {
	return &load{site: s, jobs: map[uint32]string{}, begun: map[string]int{}, count: map[string]int{}}
}

// work starts and ends jobs, one after the other, until ctx ends.
func (l *load) work(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil && l.told.failure() == nil {
		pause(ctx, random, 60*time.Millisecond)
		hosts := slices.Clone(l.nodes)
		random.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		l.one(ctx, random, hosts[:1+random.IntN(1+random.IntN(len(hosts)))])
	}
}

// pause lets the system work for a random while.
func pause(ctx context.Context, random *rand.Rand, most time.Duration) {
	select {
	case <-time.After(time.Duration(random.Int64N(int64(most)))):
	case <-ctx.Done():
	}
}

// one is the life of a job.
func (l *load) one(ctx context.Context, random *rand.Rand, hosts []string) {
	job, hooks := l.submit(hosts)
	if random.IntN(6) == 0 { // one comes twice
		hooks = append(hooks, hooks[0])
	}
	vnis, errs := l.call(hooks)
	l.mu.Lock()
	if len(errs) > 0 {
		l.count["refused: "+reason(errs[0])]++
		l.why = errs[0]
	} else {
		l.count["ready"]++
		for _, h := range hosts {
			l.begun[h]++
		}
	}
	l.mu.Unlock()
	if len(errs) == 0 {
		l.alike(job, vnis)
		l.stands(ctx, job, hosts, vnis[0])
		pause(ctx, random, 400*time.Millisecond)
		l.stands(ctx, job, hosts, vnis[0])
	}
	var ends []schedulertest.Hook
	l.liar.Do(func(m *schedulertest.Model) {
		l.told.end(job.JobID.String())
		ends = m.End(job)
	})
	_, _ = l.call(schedulertest.Muddle(ends, random)) // the scheduler's answer does the work of a hook that is lost
	if random.IntN(12) == 0 {                         // a prolog comes late
		_, _ = l.call(hooks[:1])
	}
}

// submit starts a job on hosts, in the scheduler's book.
func (l *load) submit(hosts []string) (job *schedulertest.Job, hooks []schedulertest.Hook) {
	l.mu.Lock()
	l.users++
	user := firstUser + l.users
	l.mu.Unlock()
	l.liar.Do(func(m *schedulertest.Model) {
		job = m.Submit(int64(1_000_000+user), user, core.Request{})
		hooks = m.Start(job, hosts)
		l.told.begin(job.JobID.String())
	})
	l.mu.Lock()
	l.jobs[user] = job.JobID.String()
	l.mu.Unlock()
	return job, hooks
}

// call runs hooks at the same time, and notes each VNI in an answer.
func (l *load) call(hooks []schedulertest.Hook) (vnis []core.VNI, errs []error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, h := range hooks {
		all.Go(func() {
			began := l.told.now()
			text, err := liartest.Call(context.Background(), l.agentSocket(h.Node), h)
			var v core.VNI
			if err == nil && h.Action == core.Prepare {
				if v, err = core.ParseVNI(text); err != nil {
					l.told.fail("environment: job %v on %s has VNIs %q: %w", h.Run, h.Node, text, err)
				} else {
					l.told.tell(h.Run.JobID.String(), v, began)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("%w (after %s)", err, (l.told.now()-began).Round(ms)))
			} else if h.Action == core.Prepare {
				vnis = append(vnis, v)
			}
		})
	}
	all.Wait()
	return vnis, errs
}

// reason is a word for a hook's failure.
func reason(err error) string {
	if e, ok := errors.AsType[*core.Error](err); ok {
		return string(e.Reason)
	}
	_, text, _ := strings.Cut(err.Error(), ": ")
	word, _, _ := strings.Cut(text, ":")
	return word
}

// alike sees that all nodes of a job have one VNI.
func (l *load) alike(job *schedulertest.Job, vnis []core.VNI) {
	for _, v := range vnis {
		if v != vnis[0] {
			l.told.fail("environment: job %v has VNIs %v", job.Run, vnis)
		}
	}
}

// stands sees that a job that goes on has its services on all NICs.
func (l *load) stands(ctx context.Context, job *schedulertest.Job, hosts []string, v core.VNI) {
	for _, host := range hosts {
		all, err := l.services(ctx, host)
		have := 0
		for _, s := range all {
			if s.Owner == core.UID(job.UID) && slices.Contains(s.VNIs, v) {
				have++
			}
		}
		lives := false
		l.liar.Do(func(m *schedulertest.Model) { lives = m.Lives(job.Run, host) })
		if ctx.Err() == nil && lives && (err != nil || have != nics) {
			l.told.fail("services: job %v goes on with VNI %d, and %d NICs of %s have its service: %v, %w",
				job.Run, v, have, host, all, err)
		}
	}
}

// look reads all NICs again and again.
func (l *load) look(ctx context.Context) {
	for ctx.Err() == nil && l.told.failure() == nil {
		began := l.told.now()
		owners := map[core.VNI]map[string]string{} // by VNI and job: where
		for _, node := range slices.Concat(l.nodes, l.copies) {
			each := l.told.now()
			all, err := l.services(ctx, node)
			if err != nil && ctx.Err() == nil {
				l.told.fail("reading: the NICs of %s: %w", node, err)
				return
			}
			for _, s := range all {
				job := l.owner(s.Owner)
				for _, v := range s.VNIs {
					l.told.see(job, v, each)
					if owners[v] == nil {
						owners[v] = map[string]string{}
					}
					owners[v][job] += " " + node
				}
			}
		}
		// No VNI goes from a job to another within its quarantine. So both jobs have it at once.
		for v, jobs := range owners {
			if len(jobs) > 1 && l.told.now()-began < quarantine/2 {
				l.told.fail("NICs: VNI %d is on services of several jobs at once: %v", v, jobs)
			}
		}
		l.mu.Lock()
		l.looks++
		l.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// owner is the job of a service.
func (l *load) owner(o core.Owner) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for user, job := range l.jobs {
		if core.UID(user) == o {
			return job
		}
	}
	return fmt.Sprint(o)
}

// ask reads the server's list of VNIs again and again. A list that it makes while it does not know all nodes counts for
// nothing.
func (l *load) ask(ctx context.Context, name string) {
	for ctx.Err() == nil && l.told.failure() == nil {
		pause := time.After(30 * time.Millisecond)
		if owners, began, ok := l.list(ctx, name); ok {
			l.told.list(owners, began)
			l.mu.Lock()
			l.reads++
			l.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-pause:
		}
	}
}

func (l *load) list(ctx context.Context, name string) (owners map[core.VNI]string, began time.Duration, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if !l.sure(ctx, name) {
		return nil, 0, false
	}
	began = l.told.now()
	rows, err := hook.List[server.VNIRow](ctx, l.socket(name), "vnis", nil)
	if err != nil {
		return nil, 0, false
	}
	var twice []string
	owners = map[core.VNI]string{}
	for _, v := range l.told.vnis {
		owners[v] = ""
	}
	for _, r := range rows {
		// A job whose end the server knows has the VNI no longer, and a store that comes back can name it once more.
		if r.Job == "" || r.State != engine.Active.String() {
			for v := r.VNI; v <= max(r.VNI, r.Last); v++ {
				delete(owners, v)
			}
			continue
		}
		if other := owners[r.VNI]; other != "" {
			twice = append(twice, fmt.Sprintf("VNI %d twice, for %s and %s", r.VNI, other, r.Job))
		}
		owners[r.VNI] = r.Job
	}
	if !l.sure(ctx, name) {
		return nil, 0, false
	}
	if len(twice) > 0 {
		l.told.fail("list: the server holds %v", twice)
	}
	return owners, began, true
}

// sure tells whether a server leads and knows all that it must.
func (l *load) sure(ctx context.Context, name string) bool {
	st, err := l.status(ctx, name)
	return err == nil && l.whole(st)
}

// whole tells whether a server says so of itself.
func (s *site) whole(st status) bool {
	leads := st.Servers.Leads || s.episode.servers == 0
	return leads && !st.Recovering && st.Rests == "" && st.Failure == "" && st.Awaited == 0
}

// started counts the jobs that began on each node.
func (l *load) started() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.begun)
}
