package rpc

import (
	"time"

	"github.com/weft-hpc/weft/core"
	authorityv1 "github.com/weft-hpc/weft/rpc/proto/weft/authority/v1"
)

// maxCursor bounds a place in a node's list, in bytes.
const maxCursor = 1024

func encodeNodeAsk(a core.NodeAsk) *authorityv1.NodeAsk {
	return &authorityv1.NodeAsk{
		Id: a.ID, Verb: utf(a.Verb), Within: int64(a.Within), Room: int64(a.Room), Cursor: utf(a.Cursor),
	}
}

func (d *decoder) nodeAsk(p *authorityv1.NodeAsk) core.NodeAsk {
	if r := p.GetRoom(); r < 0 || r > core.MaxNodeReply {
		d.fail("ask: a room of %d bytes is not 0 to %d", r, core.MaxNodeReply)
	}
	return core.NodeAsk{
		ID: p.GetId(), Verb: d.word("verb", p.GetVerb()), Within: time.Duration(p.GetWithin()), Room: int(p.GetRoom()),
		Cursor: d.fit("cursor", p.GetCursor(), maxCursor),
	}
}

func encodeNodeReply(r *core.NodeReply) *authorityv1.NodeReply {
	p := &authorityv1.NodeReply{Id: r.ID, Body: r.Body, Next: utf(r.Next)}
	if r.Err != nil {
		p.Error = encodeError(r.Err)
	}
	return p
}

func (d *decoder) nodeReply(p *authorityv1.NodeReply) *core.NodeReply {
	if p == nil {
		return nil
	}
	return &core.NodeReply{
		ID: p.GetId(), Body: d.bytes("body", p.GetBody(), core.MaxNodeReply), Next: d.fit("cursor", p.GetNext(), maxCursor),
		Err: local.fault(p.GetError()),
	}
}
