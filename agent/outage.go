package agent

import (
	"log/slog"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// How often an outage is spoken of: while a hook waits the server is tried every second, and a line for each would bury why it is away.
const (
	outageRepeat = time.Minute
	outageChange = 5 * time.Second // where there is another reason than the line before gave
)

// outage is the time without a session, as the log tells of it. Times are the agent's running time.
type outage struct {
	log *slog.Logger

	mu      sync.Mutex
	had     bool          // a session, ever
	up      bool          // there is one
	since   time.Duration // without one
	said    time.Duration // when the newest line was
	reason  core.Reason   // that it gave; empty: this outage has had none yet
	leftOut int           // attempts since
	last    string        // why the newest one failed
}

// why is why the last session ended, or why none could begin.
func (o *outage) why() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// ended says that an attempt failed, or that the session that there was is over.
func (o *outage) ended(now time.Duration, err error, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.up {
		o.up, o.since, o.reason, o.leftOut = false, now, "", 0
	}
	e := core.AsError(err)
	if e == nil {
		e = core.Errorf(core.ServerAway, "server: it ended the session")
	}
	o.last = e.Line()
	if o.reason != "" && now < o.said+outageRepeat && (e.Reason == o.reason || now < o.said+outageChange) {
		o.leftOut++
		return
	}
	attrs := []any{core.LogReason, string(e.Reason), core.LogError, e.Line(), core.LogWait, wait}
	if o.leftOut > 0 {
		attrs = append(attrs, core.LogLeftOut, o.leftOut)
	}
	o.said, o.reason, o.leftOut = now, e.Reason, 0
	o.log.Warn("no session with the server; running jobs do not notice, new ones wait", attrs...)
}

// connected reports whether there is a session.
func (o *outage) connected() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.up
}

// over says that the server has answered the first report of a session.
func (o *outage) over(now time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.up {
		return
	}
	if !o.had {
		o.log.Info("connected to the server")
	} else {
		o.log.Info("connected to the server again", core.LogTook, (now - o.since).Round(time.Millisecond))
	}
	o.had, o.up = true, true
}
