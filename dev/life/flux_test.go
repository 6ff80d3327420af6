package life

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people/peopletest"
	"github.com/weft-hpc/weft/plugins/flux"
	"github.com/weft-hpc/weft/plugins/flux/broker/brokertest"
)

// fluxSite is a Flux instance: prolog and epilog on all nodes at once, an epilog for a prolog that still runs, and no job that comes back.
type fluxSite struct {
	adapter
	w      *world
	broker *brokertest.Broker
	lives  []*flux.Plugin

	jobs sync.Mutex
	next uint64
	are  map[string]string // states
	gone []string          // nodes
}

const fluxUser = 1300

func newFlux(w *world) site {
	b, err := brokertest.New(w.TempDir())
	if err != nil {
		w.Fatal(err)
	}
	b.Hosts(names...)
	s := &fluxSite{w: w, broker: b, are: map[string]string{}, next: 1}
	s.die()
	return s
}

func (s *fluxSite) name() string { return "flux" }
func (s *fluxSite) uid() uint32  { return fluxUser }

func (s *fluxSite) die() {
	p := flux.NewWith("flux", peopletest.One(fluxUser).Run)
	if err := p.Configure(s.w.Context(), core.Values{"uri": s.broker.URI(), "every": time.Second}); err != nil {
		s.w.Fatal(err)
	}
	s.lives = append(s.lives, p)
	s.replace(&process{hooks: p, scheduler: p})
}

func (s *fluxSite) close() {
	for _, p := range s.lives {
		_ = p.Configure(context.Background(), core.Values{}) // lets go of its connection
	}
	s.broker.Crash()
}

func (s *fluxSite) submit() string {
	s.jobs.Lock()
	defer s.jobs.Unlock()
	id := s.next
	s.next++
	s.broker.Submit(id, fluxUser, nil)
	s.are[fmt.Sprint(id)] = waits
	return fmt.Sprint(id)
}

func number(job string) uint64 {
	n, _ := strconv.ParseUint(job, 10, 64)
	return n
}

func (s *fluxSite) state(job string) string {
	s.jobs.Lock()
	defer s.jobs.Unlock()
	return s.are[job]
}

func (s *fluxSite) become(job, state string) (was string) {
	s.jobs.Lock()
	defer s.jobs.Unlock()
	was = s.are[job]
	if was != over {
		s.are[job] = state
	}
	return was
}

func (s *fluxSite) there() []string {
	s.jobs.Lock()
	defer s.jobs.Unlock()
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(s.gone, n) })
}

func (s *fluxSite) call(phase, job string) core.HookCall {
	call := core.HookCall{Scheduler: "flux", Phase: phase, Env: map[string]string{"FLUX_JOB_ID": job, "FLUX_JOB_USERID": fmt.Sprint(fluxUser)}}
	if phase == flux.PhaseShell {
		call.Peer.UID = fluxUser
	}
	return call
}

func (s *fluxSite) hook(node, phase, job string) core.HookReply {
	return s.w.hook(node, s.call(phase, job))
}

// alloc gives a job that waits its nodes: all, or these.
func (s *fluxSite) alloc(job string, nodes ...string) {
	if nodes == nil {
		nodes = names
	}
	if s.become(job, runs) == waits {
		s.broker.Alloc(number(job), []any{brokertest.Lite(fmt.Sprintf("0-%d", len(nodes)-1), "0-3")}, nodes...)
	}
}

func (s *fluxSite) start(job string) bool {
	if s.state(job) == over {
		return false
	}
	s.alloc(job)
	exits := make([]int, len(names))
	var all sync.WaitGroup
	for i, n := range names {
		all.Go(func() { exits[i] = s.hook(n, flux.PhaseProlog, job).Exit })
	}
	all.Wait()
	again := false
	for i, exit := range exits {
		switch exit {
		case 0:
		case flux.ExitAgain:
			again = true
		default:
			s.broker.Drain(i, "prolog failed for job "+job)
		}
	}
	if slices.Contains(exits, flux.ExitFailed) {
		s.end(job, "prolog")()
		return false
	}
	if again {
		return false // its scriptlet waits and tries again
	}
	for _, n := range names {
		if s.state(job) == runs && s.hook(n, flux.PhaseShell, job).Exit != 0 {
			s.end(job, "exec")()
		}
	}
	return s.state(job) == runs
}

func (s *fluxSite) vni(job, node string) string {
	r := s.hook(node, flux.PhaseShell, job)
	return exported(r.Stdout)
}

// exported is the VNI among lines of a shell.
func exported(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "export SLINGSHOT_VNIS="); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// end ends a job for a reason of Flux's, or by itself.
func (s *fluxSite) end(job, exception string) (wait func()) {
	was := s.become(job, over)
	if was == over {
		return func() {}
	}
	if exception != "" {
		s.broker.Post(number(job), "exception", map[string]any{"type": exception, "severity": 0})
	}
	return func() {
		var all sync.WaitGroup
		if was == runs {
			for _, n := range s.there() {
				all.Go(func() {
					if r := s.hook(n, flux.PhaseEpilog, job); r.Exit != 0 {
						s.broker.Drain(slices.Index(names, n), "epilog failed: "+string(r.Stderr))
					}
				})
			}
		}
		all.Wait()
		s.broker.End(number(job))
	}
}

func (s *fluxSite) finish(job string)        { s.end(job, "")() }
func (s *fluxSite) cancel(job string) func() { return s.end(job, "cancel") }
func (s *fluxSite) requeue(string) bool      { return false }

func (s *fluxSite) lose(node string) {
	s.jobs.Lock()
	s.gone = append(s.gone, node)
	var hit []string
	for id, state := range s.are {
		if state == runs {
			hit = append(hit, id)
		}
	}
	s.jobs.Unlock()
	for _, id := range hit {
		s.end(id, "node-failure")()
	}
}

func (s *fluxSite) mend(node string) {
	s.jobs.Lock()
	defer s.jobs.Unlock()
	s.gone = slices.DeleteFunc(s.gone, func(n string) bool { return n == node })
}

// drain is flux resource drain.
func (s *fluxSite) drain(node, why string) { s.broker.Drain(slices.Index(names, node), why) }

// undrain is flux resource undrain.
func (s *fluxSite) undrain(node string) { s.broker.Undrain(slices.Index(names, node)) }

func (s *fluxSite) drained(node string) string {
	why, _ := s.broker.Drained(slices.Index(names, node))
	return why
}
