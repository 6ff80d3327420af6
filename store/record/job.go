package record

import "github.com/weft-hpc/weft/core"

// The forms of core's words that records hold.

func run(c *coder, v *core.Run) {
	c.text(&v.Scheduler)
	c.own(&v.Job)
	whole(c, &v.Generation)
	whole(c, &v.UID)
	signed(c, &v.Submitted)
}

func job(c *coder, v *core.Job) {
	run(c, &v.Run)
	whole(c, &v.GID)
	c.text(&v.User)
	c.texts(&v.Groups)
	c.text(&v.Account)
	c.text(&v.Queue)
	c.own(&v.Name)
	list(c, &v.Placements, 3, func(c *coder, v *core.Placement) {
		c.own(&v.Hosts)
		signed(c, &v.Nodes)
		signed(c, &v.Cores)
	})
	request(c, &v.Request)
	c.boolean(&v.Gone)
}

func request(c *coder, v *core.Request) {
	c.boolean(&v.Off)
	signed(c, &v.VNIs)
	c.boolean(&v.JobVNI)
	c.boolean(&v.SingleNode)
	whole(c, &v.Classes)
	signed(c, &v.Depth)
	c.boolean(&v.Collectives)
	for i := range v.Limits {
		l := &v.Limits[i]
		optional(c, &l.PerCore, whole)
		optional(c, &l.Reserved, whole)
		optional(c, &l.Max, whole)
	}
	c.texts(&v.Warnings)
}

func limits(c *coder, v *core.Limits) {
	for i := range v {
		whole(c, &v[i].Max)
		whole(c, &v[i].Reserved)
	}
}

// fault leaves out the error's cause, which has no form outside its process; its words are in What.
func fault(c *coder, v *core.Error) {
	whole(c, &v.Code)
	c.text((*string)(&v.Reason))
	c.text(&v.What)
	c.text(&v.Remedy)
	list(c, &v.Short, 5, func(c *coder, v *core.Shortage) {
		c.text(&v.Device)
		whole(c, &v.Resource)
		whole(c, &v.Want)
		whole(c, &v.Have)
		c.boolean(&v.Pool)
	})
}
