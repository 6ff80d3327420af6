package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/weft-hpc/weft/dev/gatetest"
	"github.com/weft-hpc/weft/dev/schedulertest"
)

// fault is one of a schedule.
type fault struct {
	kind
	target string
	at     time.Duration
	span   time.Duration
	on     string // the host that was struck
}

func (f fault) String() string {
	target := f.target
	if target == leads {
		target += " " + f.on
	}
	return fmt.Sprintf("%s %s at %s for %s", f.name, target, f.at.Round(ms), f.span.Round(ms))
}

// kind is a way to do harm. Two faults that use one thing of one target never overlap.
type kind struct {
	weight      int // how often, compared with others
	name        string
	uses        string
	targets     func(*site) []string
	least, most time.Duration
	begin, end  func(s *site, target string)
}

// leads is the target that stands for the server that leads when the fault begins.
const leads = "leader"

func anyHost(s *site) []string    { return slices.Concat(s.servers, s.nodes, s.members) }
func anyDisk(s *site) []string    { return slices.Concat(s.servers, s.nodes) }
func anyServer(s *site) []string  { return s.servers }
func anyNode(s *site) []string    { return s.nodes }
func theScheduler(*site) []string { return []string{"scheduler"} }
func anyGate(s *site) []string {
	return slices.DeleteFunc(slices.Clone(s.nodes), func(n string) bool { return s.gates[n] == nil })
}

// theLeader is a target where there are several servers, and theEtcd where it has several members.
func theLeader(s *site) []string { return slices.Repeat([]string{leads}, min(1, s.episode.servers)) }
func theEtcd(s *site) []string   { return slices.Repeat([]string{"etcd"}, s.episode.members/3) }

// oneStore is the server that shares its store with no other.
func oneStore(s *site) []string { return s.servers[:1-min(1, s.episode.servers)] }

const ms = time.Millisecond

var kinds = []kind{
	{4, "kill", "process", anyHost, 10 * ms, 2000 * ms, (*site).kill, (*site).start},
	{3, "restart", "process", anyServer, 1 * ms, 100 * ms, (*site).kill, (*site).start},
	{4, "pause", "process", anyHost, 200 * ms, 4000 * ms, (*site).pause, (*site).resume},
	{1, "lost", "process", oneStore, 300 * ms, 2000 * ms, (*site).copyStore, (*site).lose},
	{2, "reboot", "process", anyNode, 100 * ms, 1000 * ms, (*site).halt, (*site).again},
	{2, "cut", "link", anyHost, 100 * ms, 4000 * ms, (*site).unplug, (*site).plug},
	{2, "deaf", "link", anyHost, 100 * ms, 4000 * ms, with(true, (*site).deafen), with(false, (*site).deafen)},
	{2, "mute", "link", anyHost, 100 * ms, 4000 * ms, with(true, (*site).mute), with(false, (*site).mute)},
	{2, "kill", "process", theLeader, 10 * ms, 2000 * ms, (*site).kill, (*site).start},
	{3, "pause", "process", theLeader, 2200 * ms, 5000 * ms, (*site).pause, (*site).resume},
	{2, "etcd cut", "link", theLeader, 500 * ms, 5000 * ms, with(true, (*site).cutEtcd), with(false, (*site).cutEtcd)},
	{2, "etcd deaf", "link", theLeader, 500 * ms, 5000 * ms, with(true, (*site).deafEtcd), with(false, (*site).deafEtcd)},
	{2, "etcd mute", "link", theLeader, 500 * ms, 5000 * ms, with(true, (*site).muteEtcd), with(false, (*site).muteEtcd)},
	{2, "agents cut", "link", theLeader, 500 * ms, 5000 * ms, with(true, (*site).cutNodes), with(false, (*site).cutNodes)},
	{1, "no quorum", "etcd", theEtcd, 500 * ms, 5000 * ms, (*site).pauseTwo, (*site).resumeTwo},
	{1, "restore", "etcd", theEtcd, 300 * ms, 2000 * ms, (*site).copyEtcd, (*site).restoreEtcd},
	{1, "no space", "etcd", theEtcd, 300 * ms, 3000 * ms, (*site).fillEtcd, (*site).emptyEtcd},
	weather("delay", gatetest.Weather{Delay: 100 * ms}),
	weather("drip", gatetest.Weather{Piece: 1}),
	weather("stall", gatetest.Weather{Up: true, Down: true}),
	weather("stall up", gatetest.Weather{Up: true}),
	weather("stall down", gatetest.Weather{Down: true}),
	weather("snap", gatetest.Weather{Cut: 3000}),
	{2, "full", "disk", anyDisk, 200 * ms, 2000 * ms, (*site).fill, (*site).empty},
	{1, "sync fails", "disk", anySpecial, 200 * ms, 2000 * ms, (*site).failSync, (*site).mendSync},
	{1, "clock ahead", "clock", anySpecial, 500 * ms, 5000 * ms, (*site).ahead, (*site).setClock},
	{1, "clock behind", "clock", anySpecial, 500 * ms, 5000 * ms, (*site).behind, (*site).setClock},
	{1, "copy", "copy", anyCopied, 500 * ms, 3000 * ms, (*site).startCopy, (*site).stopCopy},
	{1, "silence", "scheduler", theScheduler, 200 * ms, 3000 * ms, with(true, (*site).hush), with(false, (*site).hush)},
}

func with(on bool, f func(*site, string, bool)) func(*site, string) {
	return func(s *site, target string) { f(s, target, on) }
}

func weather(name string, w gatetest.Weather) kind {
	return kind{
		1, name, "gate", anyGate, 200 * ms, 4000 * ms,
		func(s *site, n string) {
			for _, g := range s.gates[n] {
				g.Set(w)
			}
		},
		func(s *site, n string) {
			for _, g := range s.gates[n] {
				g.Open(false)
			}
		},
	}
}

// calm is before the first fault.
const calm = 300 * time.Millisecond

// draw makes a schedule of faults that begin within a time.
func (s *site) draw(random *rand.Rand, within time.Duration) []fault {
	const gap = time.Second
	var often []kind
	for _, k := range kinds {
		if len(s.only) > 0 && !slices.Contains(s.only, k.name) {
			continue
		}
		often = append(often, slices.Repeat([]kind{k}, k.weight)...)
	}
	var out []fault
	for at := calm; at < within; at += time.Duration(random.Int64N(int64(gap))) {
		k := often[random.IntN(len(often))]
		targets := k.targets(s)
		if len(targets) == 0 {
			continue
		}
		span := k.least + time.Duration(random.Int64N(int64(k.most-k.least)))
		f := fault{kind: k, target: targets[random.IntN(len(targets))], at: at, span: span}
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

// strike runs a schedule to its end, or to the first failure. All faults are over then. A fault of the leader is left
// out where another has it already.
func (s *site) strike(schedule []fault) {
	type moment struct {
		at   time.Duration
		ends bool
		*fault
	}
	var moments []moment
	for i := range schedule {
		f := &schedule[i]
		moments = append(moments, moment{f.at, false, f}, moment{f.at + f.span, true, f})
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	began, open := time.Now(), map[string]*fault{}
	for _, m := range moments {
		if s.told.failure() != nil {
			break
		}
		<-time.After(time.Until(began.Add(m.at)))
		switch on := m.uses + " " + m.on; {
		case !m.ends:
			if m.on = m.target; m.target == leads {
				m.on = s.leader(context.Background())
			}
			if on = m.uses + " " + m.on; open[on] == nil {
				open[on] = m.fault
				m.begin(s, m.on)
			}
		case open[on] == m.fault:
			delete(open, on)
			m.end(s, m.on)
		}
	}
	for _, f := range open {
		f.end(s, f.on)
	}
	if len(s.members) > 0 { // a member may have been away when this was tried
		err := until("etcd has no alarm", func(context.Context) (bool, string) {
			err := s.alarm(pb.AlarmRequest_DEACTIVATE)
			return err == nil, fmt.Sprint(err)
		})
		if err != nil {
			s.t.Error(err)
		}
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

func (s *site) kill(name string)   { s.daemons[name].kill() }
func (s *site) start(name string)  { s.daemons[name].start() }
func (s *site) pause(name string)  { s.daemons[name].signal(syscall.SIGSTOP) }
func (s *site) resume(name string) { s.daemons[name].signal(syscall.SIGCONT) }
func (s *site) plug(name string)   { s.hosts[name].plug(true) }
func (s *site) unplug(name string) { s.hosts[name].plug(false) }

func (s *site) hush(_ string, on bool) { s.liar.Hush(on) }

// older is the file of a store's copy, next to the store.
const older = "older"

// copyStore takes a copy of a server's store as a power cut now would leave it. A full disk has no room for one.
func (s *site) copyStore(name string) {
	s.pause(name)
	defer s.resume(name)
	text, err := os.ReadFile(s.path(name, "disk", "server.db"))
	if err == nil {
		err = os.WriteFile(s.path(name, "disk", older), text, 0o600)
	}
	if err != nil {
		_ = os.Remove(s.path(name, "disk", older))
	}
}

// lose ends a server and puts the copy in the store's place.
func (s *site) lose(name string) {
	s.kill(name)
	err := os.Rename(s.path(name, "disk", older), s.path(name, "disk", "server.db"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Error(err)
	}
	s.start(name)
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
	s.kill(node)
	s.hosts[node].crash()
}

// again starts the node again, with nothing in its memory. Its NICs forget their services when the driver finds another
// boot.
func (s *site) again(node string) {
	s.boots[node]++
	s.configure(node)
	old, err := os.ReadDir(s.path(node, "disk"))
	for _, f := range old {
		if f.Name() != ballast {
			err = errors.Join(err, os.RemoveAll(s.path(node, "disk", f.Name())))
		}
	}
	if err != nil {
		s.t.Error(err)
	}
	s.start(node)
}

// peers are the hosts that a host talks to.
func (s *site) peers(name string) []string {
	switch {
	case slices.Contains(s.servers, name):
		return slices.Concat(s.nodes, s.copies, s.members)
	case slices.Contains(s.members, name):
		others := slices.DeleteFunc(slices.Clone(s.members), func(m string) bool { return m == name })
		return slices.Concat(s.servers, others)
	}
	return s.servers
}

// mute loses all packets that a host sends, or ends that.
func (s *site) mute(name string, lost bool) {
	s.lan.lose(s.hosts[name].space(), s.lan.own(), lost)
	s.loseFrom(name, s.peers(name), lost)
}

// deafen loses all packets to a host, or ends that.
func (s *site) deafen(name string, lost bool) {
	s.lan.lose("", s.hosts[name].address, lost)
	s.loseTo(name, s.peers(name), lost)
}

func (s *site) loseFrom(name string, to []string, lost bool) {
	for _, p := range to {
		s.lan.lose(s.hosts[name].space(), s.hosts[p].address, lost)
	}
}

func (s *site) loseTo(name string, from []string, lost bool) {
	for _, p := range from {
		s.lan.lose(s.hosts[p].space(), s.hosts[name].address, lost)
	}
}

func (s *site) muteEtcd(name string, lost bool) { s.loseFrom(name, s.members, lost) }
func (s *site) deafEtcd(name string, lost bool) { s.loseTo(name, s.members, lost) }

func (s *site) cutEtcd(name string, lost bool) {
	s.muteEtcd(name, lost)
	s.deafEtcd(name, lost)
}

// cutNodes keeps a server from all agents, whether they come directly or through the test's proxies.
func (s *site) cutNodes(name string, lost bool) {
	s.loseFrom(name, s.nodes, lost)
	s.loseTo(name, s.nodes, lost)
	s.lan.lose(s.hosts[name].space(), s.lan.own(), lost)
	s.lan.lose("", s.hosts[name].address, lost)
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
