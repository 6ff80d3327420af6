package rpc

import (
	"github.com/weft-hpc/weft/core"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
)

func encodeGrant(g core.Grant) *corev1.Grant {
	p := &corev1.Grant{
		Run: encodeRun(g.Run), Gid: g.GID, Vnis: encodeVNIs(g.VNIs), Classes: uint32(g.Classes), Limits: encodeLimits(g.Limits), Floor: encodeCounts(g.Floor),
		MinNics: count(g.MinNICs), Inventory: every(g.Inventory, utf), Warnings: texts(g.Warnings), Head: encodeHead(g.Head),
	}
	p.Asked, p.Exact, p.Steps = g.Asked, g.Exact, count(g.Steps)
	if g.Drawn != nil {
		p.Drawn = &corev1.Drawn{Vni: uint32(g.Drawn.VNI), Warning: text(g.Drawn.Warning)}
	}
	if g.Request != nil {
		p.Request = packRequest(*g.Request)
	}
	if g.Share != (core.Share{}) {
		p.Share = &corev1.Share{Cores: count(g.Share.Cores), Total: count(g.Share.Total)}
	}
	if g.Collective != nil {
		p.Collective = encodeCollective(*g.Collective)
	}
	return p
}

func (d *decoder) grant(p *corev1.Grant) core.Grant {
	g := core.Grant{
		Run: d.run(p.GetRun()), GID: d.uid(p.GetGid()), VNIs: d.vnis(p.GetVnis(), core.MaxVNIs), Classes: d.classes(p.GetClasses(), core.AllClasses),
		Limits: d.wanted(p.GetLimits()), Floor: d.counts(p.GetFloor()), MinNICs: d.count("NICs", p.GetMinNics()),
		Inventory: each(d, "NICs", p.GetInventory(), maxDevices, d.device), Warnings: each(d, "warnings", p.GetWarnings(), maxTexts, text),
		Head: d.head(p.GetHead()), Asked: p.GetAsked(), Exact: p.GetExact(),
		Share: core.Share{Cores: d.count("cores", p.GetShare().GetCores()), Total: d.count("cores", p.GetShare().GetTotal())},
	}
	if g.Steps = d.count("VNIs of steps", p.GetSteps()); g.Steps > len(g.VNIs) {
		d.fail("job %s: steps draw from %d VNIs, and it has %d", g.Key, g.Steps, len(g.VNIs))
	}
	if p.GetDrawn() != nil {
		g.Drawn = &core.Drawn{VNI: d.optionalVNI(p.GetDrawn().GetVni()), Warning: text(p.GetDrawn().GetWarning())}
	}
	if p.Request != nil {
		g.Request = new(d.packedRequest(p.GetRequest()))
	}
	if p.GetCollective() != nil {
		c := d.collective(p.GetCollective())
		g.Collective = &c
	}
	return g
}

func encodeCollective(c core.Collective) *corev1.Collective {
	return &corev1.Collective{
		JobId: utf(c.JobID), Token: utf(c.Token), Url: utf(c.URL), Addresses: count(c.Addresses), MinNodes: count(c.MinNodes),
	}
}

// collective never shows the token in what it complains of.
func (d *decoder) collective(p *corev1.Collective) core.Collective {
	return core.Collective{
		JobID: d.word("collective's job id", p.GetJobId()), Token: d.fit("token", p.GetToken(), maxURL), URL: d.fit("URL", p.GetUrl(), maxURL),
		Addresses: d.count("addresses", p.GetAddresses()), MinNodes: d.count("nodes", p.GetMinNodes()),
	}
}
