package server

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/poll"
)

// nodeCall names the calls to one scheduler about one node.
type nodeCall struct{ scheduler, node string }

// nodeTold is the newest of them.
type nodeTold struct {
	over  chan struct{}
	err   error         // once over is closed: why the scheduler did not take it; nil: it did
	ended time.Duration // and when that was
}

// tellNode makes a call about a node to a scheduler, or to every scheduler where the call names none. An earlier call
// about the node comes first, with all its tries: the newest word must be the last. The machine repeats a call to one
// scheduler whose list does not show its effect.
func (s *Server) tellNode(in engine.Input, c core.SchedulerCall) {
	list, _ := in.(engine.Drained)
	for name := range s.schedulers {
		mode, observed := s.needs.Config.Observe[name]
		if c.Scheduler != "" && c.Scheduler != name || observed && !mode.On(c.Node) {
			continue
		}
		of, told := nodeCall{name, c.Node}, &nodeTold{over: make(chan struct{})}
		var before <-chan struct{}
		if t := s.nodeCalls[of]; t != nil {
			if c.Scheduler != "" && !t.missed(list.Asked) {
				continue
			}
			before = t.over
		}
		this := c
		this.Scheduler = name
		over := func(err error) {
			told.err, told.ended = err, s.now().Uptime
			close(told.over)
		}
		if s.tellScheduler(this, before, make(chan struct{}), over) {
			s.nodeCalls[of] = told
		}
	}
}

// missed reports whether a list without the effect of the call proves that the scheduler missed it. The server has
// asked for the list at asked. A needless second call comes late, and undoes the resume of a person. A second call is
// needless, too, where the scheduler has answered that it lacks the node, or cannot do such a thing.
func (t *nodeTold) missed(asked time.Duration) bool {
	select {
	case <-t.over:
		return !unsupported(t.err) && t.ended < asked
	default:
		return false
	}
}

// mirror keeps Weft's drains and a scheduler's equal.
func (s *Server) mirror(ctx context.Context, name string) {
	for poll.Pause(ctx, s.limits.Mirror) {
		_, _ = s.shown(ctx, name) // the machine learns that there was no answer
	}
}

// shown asks a scheduler which nodes it has drained, and tells the machine. Unsupported: it cannot tell.
func (s *Server) shown(ctx context.Context, name string) (map[string]core.Drain, error) {
	asked := s.now().Uptime
	reply, err := s.drained(ctx, name)
	if unsupported(err) {
		return nil, err
	}
	var shown map[string]core.Drain
	var hooks map[string]bool
	if err == nil {
		shown, hooks, err = byNode(reply.Drained)
	}
	in := engine.Drained{Scheduler: name, Asked: asked, Shown: shown, Hooks: hooks}
	if gone := s.insist(ctx, work{in: in}); gone != nil {
		return nil, gone
	}
	return shown, err
}

func (s *Server) drained(ctx context.Context, name string) (core.SchedulerReply, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Describe)
	defer cancel()
	return s.schedulers[name].Call(ctx, core.SchedulerCall{Scheduler: name, Verb: core.CallDrained})
}

// byNode bounds the nodes of all elements together: the list may come from a node, where the scheduler plugin runs.
func byNode(list []core.Drained) (shown map[string]core.Drain, hooks map[string]bool, err error) {
	shown, hooks = map[string]core.Drain{}, map[string]bool{}
	room := maxNamed
	for _, d := range list {
		hosts, err := hostlist.Parse(d.Hosts)
		if err != nil {
			return nil, nil, core.Errorf(core.SchedulerAway, "drained nodes: %w", err)
		}
		names, err := hosts.ExpandMax(room)
		if err != nil {
			return nil, nil, core.Errorf(core.SchedulerAway, "drained nodes: %w", err)
		}
		room -= len(names)
		d.Reason = cmp.Or(d.Reason, "no reason given")
		for _, n := range names {
			shown[n] = d.Drain
			if d.Hook {
				hooks[n] = true
			}
		}
	}
	return shown, hooks, nil
}

// Told is the effect of a drain or a resume in a scheduler, as its own list of drained nodes shows it afterwards.
type Told struct {
	Scheduler string `json:"scheduler"`
	Nodes     string `json:"nodes"`          // hostlist
	Done      bool   `json:"done"`           // the scheduler shows what was wanted
	Kept      bool   `json:"kept,omitempty"` // of a drain: it shows another's, which was there before and stays
	Why       string `json:"why,omitempty"`
}

// told waits until the calls to every scheduler are over, and asks each for its list. It leaves out a scheduler that
// has none of the nodes, or no such list. The store has those lists afterwards, so a server that starts later can tell
// a person's resume from a drain that a scheduler missed.
func (s *Server) told(ctx context.Context, names []string, drain bool) (all []Told, err error) {
	patience, cancel := context.WithTimeout(ctx, s.limits.Describe)
	defer cancel()
	var calls map[nodeCall]*nodeTold
	if err := s.Look(ctx, func(*engine.Machine) { calls = maps.Clone(s.nodeCalls) }); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var asked sync.WaitGroup
	for scheduler := range s.schedulers {
		asked.Go(func() {
			failed := map[string]error{}
			for _, n := range names {
				if t := calls[nodeCall{scheduler, n}]; t != nil {
					failed[n] = t.wait(patience)
				}
			}
			shown, err := s.shown(ctx, scheduler)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, judge(scheduler, names, drain, failed, shown, err)...)
		})
	}
	asked.Wait()
	slices.SortFunc(all, func(a, b Told) int {
		return cmp.Or(cmp.Compare(a.Scheduler, b.Scheduler), hostlist.Compare(a.Nodes, b.Nodes))
	})
	return all, s.Look(ctx, func(*engine.Machine) {}) // behind the commit of the lists
}

// judge compares a scheduler's list with a drain or a resume, with one element for all nodes that have the same effect.
func judge(
	scheduler string, names []string, drain bool, failed map[string]error, shown map[string]core.Drain, err error,
) (all []Told) {
	if unsupported(err) {
		return nil
	}
	nodes := map[Told][]string{}
	for _, n := range names {
		d, is := shown[n]
		t := Told{Scheduler: scheduler, Done: err == nil && is == drain}
		switch why := failed[n]; {
		case err != nil:
			t.Why = "it does not answer: " + core.AsError(err).What
		case is && drain && !strings.HasPrefix(d.Reason, core.DrainPrefix):
			t.Kept, t.Why = true, "drained already, not by Weft: "+d.String()
		case is:
			t.Why = "drained: " + d.String()
		case unsupported(why): // it has no such node
			continue
		case why != nil && drain:
			t.Why = core.AsError(why).What
		}
		nodes[t] = append(nodes[t], n)
	}
	for t, on := range nodes {
		t.Nodes = hostlist.Fold(on)
		all = append(all, t)
	}
	return all
}

func unsupported(err error) bool { return err != nil && core.AsError(err).Code == core.Unsupported }

// wait gives why the scheduler did not take it.
func (t *nodeTold) wait(ctx context.Context) error {
	select {
	case <-t.over:
		return t.err
	case <-ctx.Done():
		return core.Errorf(core.SchedulerAway, "the scheduler has not answered yet; Weft goes on to tell it")
	}
}
