package local

import (
	"context"
	"errors"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

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
			WithRemedy("the process that begins a job must be the one that connects")
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
	id, err := t.identify(ctx, peer, p.owner, wish.User)
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
			WithRemedy(file.Remedy(t.o.File, err))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return Entry{}, stopping(t.o.Node)
	}
	j.durable = true
	t.notify()
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
	return core.Errorf(core.ServerAway, "node %s: its agent is stopping", node).WithRemedy("try again when it is back")
}
