package node

import (
	"fmt"

	"github.com/weft-hpc/weft/core"
)

// ordered obeys the server. What an order names is final, so one that comes late does no harm; but a server that has been deposed, or whose store has been
// replaced since, is not obeyed.
func (m *Machine) ordered(o core.Orders) {
	if o.Head.Store != "" && o.Head.Store == m.seen.Store && o.Head.Epoch < m.seen.Epoch {
		m.say(true, core.Run{}, fmt.Sprintf("orders of epoch %d were ignored: epoch %d has been seen; a server that was replaced still runs", o.Head.Epoch, m.seen.Epoch))
		return
	}
	m.see(o.Head)
	if o.Head.Store != "" {
		m.session.store = o.Head.Store
	}
	if o.Drain != nil {
		m.session.drain = o.Drain
		if o.Drain.Reason == "" && !m.fault.untold {
			m.fault = fault{}
		}
	}
	for _, c := range o.Clean {
		m.orderClean(c)
	}
	m.vouch(o.Vouch)
	for _, id := range o.Over {
		m.forgetStep(id)
	}
	for _, run := range o.Forget {
		if r := m.find(run); r != nil && r.State == Clean {
			m.write(Delete{r.Name()})
			m.drop(r)
		}
	}
}

// orderClean removes a run and confirms it, even where nothing is held.
func (m *Machine) orderClean(c core.Clean) {
	r := m.find(c.Run)
	if r == nil {
		m.bury(c.Run)
		m.check(c)
		return
	}
	if r.State == Clean {
		m.changed(r)
		return
	}
	r.origin = ""
	m.cancel(r, core.JobEnded, "the server says that the job is gone")
}
