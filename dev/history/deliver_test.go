package history

import (
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/node"
)

type what uint8

const (
	aHook what = iota
	aCall
	aDescription
	aReply
	anOp
	aReport
	anOrder
	aDetach
	aBreak
	aConnect
	aQuestion
	anAnswer
	aChange
)

// pending is one thing that could go on.
type pending struct {
	what what
	b    *box
	at   int
	s    *session
}

// deliver lets one thing that is under way go on; which one is chance, so that everything overtakes everything but within a session. It reports false
// when nothing is.
func (w *world) deliver() bool {
	p := w.pending[:0]
	for i := range w.hooks {
		p = append(p, pending{what: aHook, at: i})
	}
	for i := range w.toServer {
		p = append(p, pending{what: aCall, at: i})
	}
	for i, c := range w.replies {
		if c.b.deaf {
			continue
		}
		p = append(p, pending{what: aReply, at: i})
	}
	for _, b := range w.boxes {
		if !b.agent.up {
			continue
		}
		for i, o := range b.agent.ops {
			if b.hung && o.kind == looking {
				continue
			}
			p = append(p, pending{what: anOp, b: b, at: i})
		}
		switch l := b.agent.link; {
		case l == nil && w.srv.up && !b.cut && (b.of == nil || w.odds(100)):
			p = append(p, pending{what: aConnect, b: b})
		case l == nil:
		case len(l.down) > 0 && !b.deaf:
			p = append(p, pending{what: anOrder, s: l})
		case !l.serverUp:
			p = append(p, pending{what: aBreak, s: l})
		}
	}
	if w.srv.up {
		for i := range w.describing {
			p = append(p, pending{what: aDescription, at: i})
		}
		for _, l := range w.srv.sessions {
			switch {
			case len(l.up) > 0:
				p = append(p, pending{what: aReport, s: l})
			case !l.agentUp:
				p = append(p, pending{what: aDetach, s: l})
			}
		}
		if len(w.srv.watch.changes) > 0 && w.truthful() {
			p = append(p, pending{what: aChange})
		}
		switch {
		case w.srv.watch.asked:
			p = append(p, pending{what: anAnswer})
		case w.odds(200):
			p = append(p, pending{what: aQuestion})
		}
	}
	w.pending = p
	if len(p) == 0 {
		return false
	}
	w.goOn(p[w.rng.IntN(len(p))])
	return true
}

func (w *world) goOn(p pending) {
	switch p.what {
	case aHook:
		w.runHook(p.at)
	case aCall:
		w.carry(p.at)
	case aDescription:
		c := w.describing[p.at]
		w.describing = slices.Delete(w.describing, p.at, p.at+1)
		w.described(c)
	case aReply:
		w.replied(p.at)
	case anOp:
		p.b.proceed(p.b.agent.ops[p.at])
	case aReport:
		r := p.s.up[0]
		p.s.up = p.s.up[1:]
		if w.trace != nil {
			w.say("server hears %s/%d: report %d boot %s full=%v held %s unknown %d epilogs %v", p.s.b.name, p.s.id, r.Number, r.Boot, r.Full, heldText(r.Held), len(r.Unknown), r.Epilogs)
		}
		p.s.b.tell(r)
		w.srv.input(engine.Report{Node: p.s.b.name, Session: p.s.id, Report: r})
		if w.chance(20) { // a stream does not double its frames, but a server may be told twice all the same
			if w.srv.up && p.s.serverUp {
				w.srv.input(engine.Report{Node: p.s.b.name, Session: p.s.id, Report: r})
			}
		}
	case anOrder:
		o := p.s.down[0]
		p.s.down = p.s.down[1:]
		if p.s.b.mute {
			o.Vouch = nil
		}
		p.s.b.input(node.Ordered{Orders: o})
	case aDetach:
		w.detach(p.s)
	case aBreak:
		w.unlink(p.s)
	case aConnect:
		w.connect(p.b)
	case aQuestion:
		w.ask()
	case anAnswer:
		w.answer()
	case aChange:
		c := &w.srv.watch.changes
		i := w.rng.IntN(len(*c))
		in := engine.Answer{Scheduler: label, From: w.half, Began: w.srv.moment().Uptime, Jobs: (*c)[i]}
		if !w.chance(100) { // else it comes again
			*c = slices.Delete(*c, i, i+1)
		}
		w.say("scheduler tells: %v is final", in.Jobs.Jobs[0].Run)
		w.srv.input(in)
	}
}

// tell marks the foreign services that the server is now told of. It need not hold those of a node beyond the bound.
func (b *box) tell(r core.Report) {
	for _, s := range r.Unknown {
		if b.name == dataServer && b.w.reloaded && allServed(s.VNIs) {
			b.w.fail("R7: %s tells of the data service's own %s/%d as unknown", b.name, s.Device, s.ID)
		}
		if o := b.nic(s.Device).find(s.ID); o != nil && o.service.Same(s) {
			o.reported = !crowded(r.Unknown)
		}
	}
}

func heldText(held []core.Held) string {
	s := ""
	for _, h := range held {
		s += h.Run.String() + ":" + h.State.String() + " "
	}
	return s
}

// carry brings a Reserve to the server, or loses it, or brings it twice.
func (w *world) carry(i int) {
	c := w.toServer[i]
	again := w.chance(60)
	if !again {
		w.toServer = slices.Delete(w.toServer, i, i+1)
	}
	switch {
	case w.chance(40):
		w.say("the call of %s for %v is lost", c.b.name, c.ask.Key)
		return
	case !w.srv.up:
		c.err = core.Errorf(core.ServerAway, "server: nobody listens")
		w.replies = append(w.replies, c)
		return
	}
	if again {
		twin := *c
		w.calls++
		twin.id = w.calls
		c = &twin
	}
	w.srv.calls = append(w.srv.calls, c)
	w.say("server hears: %s reserves for %v uid %d", c.b.name, c.ask.Key, c.ask.UID)
	w.srv.input(engine.Reserve{Call: c.id, Node: c.b.name, Ask: c.ask, Peer: c.peer})
}

// described gives the server what the scheduler said.
func (w *world) described(c *call) {
	if c.srvProc != w.srv.proc { // who asked is dead
		return
	}
	said := c.early
	if said == nil {
		said = w.describe(c)
	}
	c.early = nil
	w.srv.input(engine.Reserve{Call: c.id, Node: c.b.name, Ask: c.ask, Peer: c.peer, Said: said})
}

// replied brings an answer of the server to the agent that asked, if that still lives.
func (w *world) replied(i int) {
	c := w.replies[i]
	if !w.chance(50) { // else it comes again
		w.replies = slices.Delete(w.replies, i, i+1)
	}
	switch {
	case w.chance(30):
		w.say("the answer to %s for %v is lost", c.b.name, c.ask.Key)
		return
	case !c.b.agent.up || c.b.agent.proc != c.proc:
		return
	}
	c.b.agent.asks = slices.DeleteFunc(c.b.agent.asks, func(a asked) bool { return a.attempt == c.attempt })
	c.b.input(node.Reserved{Attempt: c.attempt, Grant: c.grant, Err: c.err})
}

// connect begins a session.
func (w *world) connect(b *box) {
	if !b.agent.up || !w.srv.up || b.agent.link != nil || !w.admit(b) {
		return
	}
	w.srv.number++
	l := &session{id: w.srv.number, b: b, agentUp: true, serverUp: true}
	b.agent.link = l
	w.srv.sessions = append(w.srv.sessions, l)
	w.say("%s: session %d begins", b.name, l.id)
	b.input(node.Linked{Up: true})
}

// unlink is the agent noticing the end of its session. Reports that are on their way may still arrive, or not.
func (w *world) unlink(l *session) {
	b := l.b
	l.agentUp, l.down = false, nil
	if keep := w.rng.IntN(len(l.up) + 1); keep < len(l.up) && w.odds(700) {
		l.up = l.up[:keep]
	}
	b.agent.link = nil
	w.say("%s: session %d breaks", b.name, l.id)
	b.input(node.Linked{Up: false})
}

// detach is the server noticing the end of a session.
func (w *world) detach(l *session) {
	l.serverUp = false
	w.srv.sessions = slices.DeleteFunc(w.srv.sessions, func(o *session) bool { return o == l })
	w.say("server: %s/%d is detached", l.b.name, l.id)
	w.srv.input(engine.Detach{Node: l.b.name, Session: l.id})
}

// ask begins a question to the scheduler.
func (w *world) ask() {
	s := w.srv
	l, ok := w.teller()
	if !ok {
		return
	}
	s.watch.asked, s.watch.early, s.watch.began, s.watch.by = true, nil, s.moment().Uptime, l
	w.say("server asks the scheduler")
	if w.odds(400) {
		a := w.sched.Answer(w.lie(), w.rng)
		s.watch.early = &a
	}
}

// answer ends it: with an answer, which may be doubled, or with silence.
func (w *world) answer() {
	s := w.srv
	s.watch.asked = false
	by := s.watch.by
	if w.chance(60) || by != nil && !by.serverUp {
		w.say("the scheduler stays silent")
		return
	}
	if w.chance(60) {
		w.say("the scheduler hides jobs from its asker")
		s.watch.early = nil
		s.input(engine.Answer{Scheduler: label, From: w.half, Began: s.watch.began, Jobs: core.Jobs{Blind: "it hides jobs"}})
		return
	}
	var a core.Jobs
	if s.watch.early != nil {
		a = *s.watch.early
	} else {
		a = w.sched.Answer(w.lie(), w.rng)
	}
	s.watch.early = nil
	if by != nil && by.b.of != nil {
		a = w.alien(a.Jobs)
	}
	if w.trace != nil {
		text := fmt.Sprintf("hidden %d; ", w.hidden)
		for _, j := range a.Jobs {
			text += j.Run.String() + ":" + j.State.String() + " "
		}
		w.say("scheduler answers: %s", text)
	}
	if hidden := w.hidden; hidden != 0 && !w.calm { // the asker may not see the jobs of this user
		a.Jobs = slices.DeleteFunc(slices.Clone(a.Jobs), func(s core.JobStatus) bool { return s.UID == hidden })
	}
	s.input(engine.Answer{Scheduler: label, From: w.half, Began: s.watch.began, Jobs: a})
	if s.up && w.chance(30) {
		s.input(engine.Answer{Scheduler: label, From: w.half, Began: s.watch.began, Jobs: a})
	}
}
