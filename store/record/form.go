package record

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// The forms of engine's records, each in the order of its fields.

func meta(c *coder, r *engine.Meta) {
	head(c, &r.Head)
	whole(c, &r.Serial)
	c.time(&r.Recovering)
	c.texts(&r.Without)
	list(c, &r.Cursors, 2, func(c *coder, v *engine.Cursor) {
		c.text(&v.Pool)
		whole(c, &v.VNI)
	})
	fact(c, 1, &r.Head.Incarnation, whole)
	fact(c, 2, &r.Past, func(c *coder, v *[]engine.Past) {
		list(c, v, 3, func(c *coder, v *engine.Past) {
			whole(c, &v.Incarnation)
			whole(c, &v.Epoch)
			whole(c, &v.Revision)
		})
	})
	fact(c, 3, &r.Unwitnessed, (*coder).boolean)
	fact(c, 4, &r.New, (*coder).boolean)
}

func head(c *coder, v *core.Head) {
	c.text(&v.Store)
	whole(c, &v.Epoch)
	whole(c, &v.Revision)
}

func text(c *coder, r *engine.Text) {
	c.text(&r.Hash)
	c.own(&r.Text)
}

func node(c *coder, r *engine.Node) {
	c.text(&r.Name)
	c.text(&r.Boot)
	c.texts(&r.Retired)
	c.texts(&r.Inventory)
	c.text(&r.Drained)
	fact(c, 1, &r.From, (*coder).text)
	fact(c, 2, &r.Twin, func(c *coder, v *engine.Twin) {
		c.time(&v.Since)
		host(c, &v.Here)
		host(c, &v.There)
	})
	fact(c, 3, &r.Fault, (*coder).text)
	fact(c, 4, &r.Hardware, (*coder).text)
	fact(c, 5, &r.DrainedBy, (*coder).text)
	fact(c, 6, &r.DrainedAt, (*coder).time)
	fact(c, 7, &r.Words, whole)
	fact(c, 8, &r.Agreed, (*coder).texts)
	fact(c, 9, &r.Beyond, (*coder).texts)
}

func host(c *coder, v *engine.Host) {
	c.text(&v.From)
	c.text(&v.Boot)
	c.text(&v.Agent)
}

func reservation(c *coder, r *engine.Reservation) {
	whole(c, &r.Serial)
	job(c, &r.Job)
	list(c, &r.VNIs, 3, func(c *coder, v *engine.Taken) {
		whole(c, &v.VNI)
		c.text(&v.Pool)
		c.text(&v.Name)
	})
	decision(c, &r.Grant)
	c.time(&r.Made)
	join(c, &r.First)
	c.boolean(&r.Adopted)
	c.boolean(&r.Unknown)
	fact(c, 1, &r.Job.Placements, totals)
	fact(c, 2, &r.Grant.Greedy, (*coder).boolean)
	fact(c, 3, &r.Job.Request.Exact, (*coder).boolean)
	fact(c, 4, &r.Job.QOS, toldText)
	fact(c, 5, &r.Job.Reservation, toldText)
	fact(c, 6, &r.Job.TimeLimit, func(c *coder, v **int64) { optional(c, v, signed) })
	fact(c, 7, &r.Job.Constraints, toldText)
	fact(c, 8, &r.Grant.Now, signed)
	fact(c, 9, &r.Grant.Steps, whole)
	fact(c, 10, &r.Grant.Beyond, whole)
}

func toldText(c *coder, v **string) { optional(c, v, (*coder).own) }

// totals are the Total of each placement.
func totals(c *coder, v *[]core.Placement) {
	for i := range *v {
		signed(c, &(*v)[i].Total)
	}
}

func phase(c *coder, r *engine.Transition) {
	whole(c, &r.Serial)
	whole(c, &r.State)
	c.time(&r.Since)
	c.text(&r.Why)
	fact(c, 1, &r.By, (*coder).text)
	fact(c, 2, &r.Steps, func(c *coder, v *[]engine.Draw) {
		list(c, v, 5, func(c *coder, v *engine.Draw) {
			c.own(&v.Step)
			whole(c, &v.VNI)
			signed(c, &v.Nodes)
			list(c, &v.Jobs, 1, (*coder).own)
			c.boolean(&v.Refused)
		})
	})
}

func join(c *coder, r *engine.Join) {
	whole(c, &r.Serial)
	c.text(&r.Node)
	c.text(&r.Boot)
	c.boolean(&r.Clean)
}

func tombstone(c *coder, r *engine.Tombstone) {
	whole(c, &r.Serial)
	run(c, &r.Run)
}

func decision(c *coder, v *engine.Decision) {
	optional(c, &v.Deny, fault)
	list(c, &v.VNIs, 2, func(c *coder, v *engine.Wanted) {
		c.text(&v.Name)
		c.text(&v.Pool)
	})
	whole(c, &v.Classes)
	list(c, &v.Limits, 2*int(core.NumResources), limits)
	for i := range v.Floor {
		whole(c, &v.Floor[i])
	}
	signed(c, &v.MinNICs)
	signed(c, &v.Collectives)
	c.boolean(&v.Degrade)
	list(c, &v.Quotas, 5, quota)
	c.texts(&v.Warnings)
	c.texts(&v.Trials)
	c.texts(&v.Rules)
	c.text(&v.Policy)
}

func quota(c *coder, v *engine.Quota) {
	c.text(&v.Name)
	c.text(&v.Subject)
	whole(c, &v.Unit)
	signed(c, &v.Most)
	whole(c, &v.Enforce)
}
