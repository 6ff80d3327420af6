package rpc

import (
	"github.com/weft-hpc/weft/core"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
)

func encodeKey(k core.Key) *corev1.Key {
	return &corev1.Key{Scheduler: utf(k.Scheduler), Job: utf(k.Job), Generation: k.Generation}
}

// encodeAnyKey leaves out the key of what is about no job.
func encodeAnyKey(k core.Key) *corev1.Key {
	if k == (core.Key{}) {
		return nil
	}
	return encodeKey(k)
}

func (d *decoder) key(p *corev1.Key) core.Key {
	return core.Key{JobID: d.jobID(p.GetScheduler(), p.GetJob()), Generation: p.GetGeneration()}
}

func (d *decoder) anyKey(p *corev1.Key) core.Key {
	if p == nil {
		return core.Key{}
	}
	return d.key(p)
}

func (d *decoder) jobID(scheduler, job string) core.JobID {
	d.check(core.CheckName("scheduler", scheduler, core.MaxScheduler))
	d.check(core.CheckJobID(job))
	return core.JobID{Scheduler: scheduler, Job: job}
}

func encodeJobID(j core.JobID) *corev1.JobID {
	return &corev1.JobID{Scheduler: utf(j.Scheduler), Job: utf(j.Job)}
}

func encodeRun(r core.Run) *corev1.Run {
	return &corev1.Run{Key: encodeKey(r.Key), Uid: r.UID, Submitted: r.Submitted}
}

func (d *decoder) run(p *corev1.Run) core.Run {
	return core.Run{
		Key:         d.key(p.GetKey()),
		Fingerprint: core.Fingerprint{UID: d.uid(p.GetUid()), Submitted: p.GetSubmitted()},
	}
}

func (d *decoder) uid(v uint32) uint32 {
	if v == core.NoUID {
		d.fail("uid %d: it is nobody", v)
	}
	return v
}

func encodeHead(h core.Head) *corev1.Head {
	if h == (core.Head{}) {
		return nil
	}
	return &corev1.Head{Store: utf(h.Store), Incarnation: h.Incarnation, Epoch: h.Epoch, Revision: h.Revision}
}

func (d *decoder) head(p *corev1.Head) core.Head {
	return core.Head{
		Store: d.word("store", p.GetStore()), Incarnation: p.GetIncarnation(), Epoch: p.GetEpoch(), Revision: p.GetRevision(),
	}
}

func encodePeer(p core.Peer) *corev1.Peer {
	return &corev1.Peer{Uid: p.UID, Gid: p.GID, Pid: p.PID, Node: utf(p.Node)}
}

// peer of a message. An absent one is nobody: were it zero, it would be root.
func (d *decoder) peer(p *corev1.Peer) core.Peer {
	if p == nil {
		d.fail("caller: the message does not say who it is")
		return core.Peer{UID: core.NoUID, GID: core.NoUID}
	}
	return core.Peer{UID: p.GetUid(), GID: p.GetGid(), PID: p.GetPid(), Node: d.anyName("node", p.GetNode(), core.MaxNodeName)}
}
