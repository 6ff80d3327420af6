package chaos

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/dev/gatetest"
	"github.com/weft-hpc/weft/dev/schedulertest"
)

// fault is one of a schedule.
type fault struct {
	kind
	target string
	at     time.Duration
	span   time.Duration
}

func (f fault) String() string {
	return fmt.Sprintf("%s %s at %s for %s", f.name, f.target, f.at.Round(time.Millisecond), f.span.Round(time.Millisecond))
}

// kind is a way to do harm. Two faults that use one thing of one target never overlap.
type kind struct {
	name        string
	uses        string
	targets     func(*site) []string
	least, most time.Duration
	begin, end  func(s *site, target string)
}

func none(*site, string) {}

func anyHost(s *site) []string   { return slices.Concat(s.servers, s.nodes) }
func anyServer(s *site) []string { return s.servers }
func anyNode(s *site) []string   { return s.nodes }
func anyGate(s *site) []string {
	return slices.DeleteFunc(slices.Clone(s.nodes), func(n string) bool { return s.gates[n] == nil })
}

var kinds = []kind{
	{"kill", "process", anyHost, 10 * time.Millisecond, 2 * time.Second,
		func(s *site, h string) { s.daemons[h].kill() }, func(s *site, h string) { s.daemons[h].start() }},
	{"restart", "process", anyServer, time.Millisecond, 100 * time.Millisecond,
		func(s *site, h string) { s.daemons[h].kill() }, func(s *site, h string) { s.daemons[h].start() }},
	{"pause", "process", anyHost, 200 * time.Millisecond, 4 * time.Second,
		func(s *site, h string) { s.daemons[h].signal(syscall.SIGSTOP) }, func(s *site, h string) { s.daemons[h].signal(syscall.SIGCONT) }},
	{"lost", "process", anyServer, 300 * time.Millisecond, 2 * time.Second, (*site).copyStore, (*site).lose},
	{"reboot", "process", anyNode, 100 * time.Millisecond, time.Second, (*site).halt, (*site).boot},
	{"cut", "link", anyHost, 100 * time.Millisecond, 4 * time.Second,
		func(s *site, h string) { s.hosts[h].plug(false) }, func(s *site, h string) { s.hosts[h].plug(true) }},
	{"deaf", "link", anyHost, 100 * time.Millisecond, 4 * time.Second,
		func(s *site, h string) { s.deafen(h, true) }, func(s *site, h string) { s.deafen(h, false) }},
	{"mute", "link", anyHost, 100 * time.Millisecond, 4 * time.Second,
		func(s *site, h string) { s.mute(h, true) }, func(s *site, h string) { s.mute(h, false) }},
	weather("delay", gatetest.Weather{Delay: 100 * time.Millisecond}),
	weather("drip", gatetest.Weather{Piece: 1}),
	weather("stall", gatetest.Weather{Up: true, Down: true}),
	weather("stall up", gatetest.Weather{Up: true}),
	weather("stall down", gatetest.Weather{Down: true}),
	weather("snap", gatetest.Weather{Cut: 3000}),
	{"full", "disk", anyHost, 200 * time.Millisecond, 2 * time.Second, (*site).fill, (*site).empty},
	{"silence", "scheduler", func(*site) []string { return []string{"scheduler"} }, 200 * time.Millisecond, 3 * time.Second,
		func(s *site, _ string) { s.liar.Hush(true) }, func(s *site, _ string) { s.liar.Hush(false) }},
}

func weather(name string, w gatetest.Weather) kind {
	return kind{name, "gate", anyGate, 200 * time.Millisecond, 4 * time.Second,
		func(s *site, n string) { s.gates[n].Set(w) }, func(s *site, n string) { s.gates[n].Open(false) }}
}

// draw makes a schedule of faults that begin within a time.
func (s *site) draw(random *rand.Rand, within time.Duration) []fault {
	const gap = 500 * time.Millisecond
	var out []fault
	for at := time.Duration(0); at < within; at += time.Duration(random.Int64N(int64(gap))) {
		k := kinds[random.IntN(len(kinds))]
		targets := k.targets(s)
		if len(targets) == 0 {
			continue
		}
		f := fault{k, targets[random.IntN(len(targets))], at, k.least + time.Duration(random.Int64N(int64(k.most-k.least)))}
		if !slices.ContainsFunc(out, f.meets) {
			out = append(out, f)
		}
	}
	return out
}

// meets tells whether two faults use one thing at once.
func (f fault) meets(g fault) bool {
	return f.uses == g.uses && f.target == g.target && f.at <= g.at+g.span && g.at <= f.at+f.span
}

// strike runs a schedule to its end, or to the first failure. All faults are over then.
func (s *site) strike(schedule []fault) {
	type moment struct {
		at time.Duration
		do func(*site, string)
		fault
	}
	var moments []moment
	for _, f := range schedule {
		moments = append(moments, moment{f.at, f.begin, f}, moment{f.at + f.span, f.end, f})
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	began, open := time.Now(), map[string]moment{}
	for _, m := range moments {
		if s.told.failure() != nil {
			break
		}
		<-time.After(time.Until(began.Add(m.at)))
		m.do(s, m.target)
		if key := m.uses + m.target; open[key].do == nil {
			open[key] = m
		} else {
			delete(open, key)
		}
	}
	for _, m := range open {
		m.end(s, m.target)
	}
}

// show is a schedule, one fault a line.
func show(schedule []fault) string {
	var out strings.Builder
	for _, f := range schedule {
		fmt.Fprintf(&out, "  %s\n", f)
	}
	return out.String()
}

// copyStore takes a copy of a server's store as a power cut now would leave it.
func (s *site) copyStore(name string) {
	s.daemons[name].signal(syscall.SIGSTOP)
	defer s.daemons[name].signal(syscall.SIGCONT)
	text, err := os.ReadFile(s.path(name, "disk", "server.db"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Error(err)
	}
	s.copies[name] = text
}

// lose ends a server and puts the copy in the store's place.
func (s *site) lose(name string) {
	d := s.daemons[name]
	d.kill()
	if text := s.copies[name]; len(text) > 0 {
		if err := os.WriteFile(s.path(name, "disk", "server.db"), text, 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
			s.t.Error(err)
		}
	}
	d.start()
}

// halt stops a node in the middle of its work: its jobs end with it.
func (s *site) halt(node string) {
	s.liar.Do(func(m *schedulertest.Model) {
		for _, j := range m.Jobs() {
			if m.Lives(j.Run, node) {
				s.told.end(j.JobID.String())
			}
		}
		m.Lose(node, false)
	})
	s.daemons[node].kill()
}

// boot starts the node again, with nothing in its memory. Its NICs forget their services when the driver finds another
// boot.
func (s *site) boot(node string) {
	s.boots[node]++
	old, err := os.ReadDir(s.path(node, "disk"))
	for _, f := range old {
		if f.Name() != ballast {
			err = errors.Join(err, os.RemoveAll(s.path(node, "disk", f.Name())))
		}
	}
	if err != nil {
		s.t.Error(err)
	}
	s.daemons[node].start()
}

// peers are the addresses that a host talks to.
func (s *site) peers(name string) (out []*host) {
	names := s.servers
	if slices.Contains(s.servers, name) {
		names = s.nodes
	}
	for _, n := range names {
		out = append(out, s.hosts[n])
	}
	return out
}

// mute loses all packets that a host sends, or ends that.
func (s *site) mute(name string, lost bool) {
	h := s.hosts[name]
	s.lan.lose(h.space(), s.lan.own(), lost)
	for _, p := range s.peers(name) {
		s.lan.lose(h.space(), p.address, lost)
	}
}

// deafen loses all packets to a host, or ends that.
func (s *site) deafen(name string, lost bool) {
	h := s.hosts[name]
	s.lan.lose("", h.address, lost)
	for _, p := range s.peers(name) {
		s.lan.lose(p.space(), h.address, lost)
	}
}

// ballast is the file that fills a disk.
const ballast = "ballast"

func (s *site) fill(name string) {
	f, err := os.Create(s.path(name, "disk", ballast))
	if err != nil {
		s.t.Error(err)
		return
	}
	defer f.Close()
	for piece := make([]byte, 64<<10); len(piece) > 0; {
		if _, err := f.Write(piece); err != nil {
			piece = piece[:len(piece)/2]
		}
	}
}

func (s *site) empty(name string) {
	if err := os.Remove(s.path(name, "disk", ballast)); err != nil {
		s.t.Error(err)
	}
}
