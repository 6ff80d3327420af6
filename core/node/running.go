package node

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// listed is how old a prepare must be for a list of jobs to speak of it. A scheduler makes its list before it starts the hook that brings it, and the hook's own
// alarm (PBS: 30 s) is the longest that may lie between the two.
const listed = int64(time.Minute)

// running takes the list of the jobs that a scheduler has on this node. What two lists in turn lack is cleaned up here, since its clean-up hook was lost; that
// says nothing of the job elsewhere.
func (m *Machine) running(h Hook) {
	if !h.Peer.Root() {
		m.refuse(h, core.Errorf(core.NotAllowed, "hook %v: uid %d may not tell which jobs there are", h.Ask.Action, h.Peer.UID))
		return
	}
	alive := make(map[core.JobID]bool, len(h.Ask.Alive))
	for _, k := range h.Ask.Alive {
		alive[k.JobID] = true
	}
	o := core.Outcome{Action: h.Ask.Action, Key: h.Ask.Key}
	began := h.Ask.Began
	for _, r := range slices.Clone(m.runs) {
		switch {
		case r.Key.Scheduler != h.Ask.Key.Scheduler || r.State != Making && r.State != Ready:
		case alive[r.Key.JobID]:
			r.unlisted = 0
		case r.Began == 0 || began-r.Began < listed: // also a list that covers nothing, which has no time
		case r.unlisted == 0:
			r.unlisted = began
		case began > r.unlisted:
			why := fmt.Sprintf("two lists of scheduler %s's jobs on this node lack it", r.Key.Scheduler)
			o.Warnings = append(o.Warnings, fmt.Sprintf("job %s: it is cleaned up: %s", r.Key.Job, why))
			r.origin = h.Ask.Call
			m.cancel(r, core.Cancelled, why)
		}
	}
	m.reply(h.Call, o)
}
