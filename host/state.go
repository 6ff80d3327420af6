package host

import (
	"time"

	"github.com/weft-hpc/weft/core"
)

// Kind says what a plugin must serve.
type Kind string

// The kinds of plugins, as config.hcl names their blocks.
const (
	Driver    Kind = "driver"    // core.NICDriver
	Fabric    Kind = "fabric"    // core.FabricBackend
	Scheduler Kind = "scheduler" // core.Hooks, core.Scheduler or both
)

// away is the reason of a call that no plugin answers.
func (k Kind) away() core.Reason {
	if k == Driver {
		return core.DriverAway
	}
	return core.PluginAway
}

// State of a plugin.
type State uint8

// The states. A plugin is used in Ready and Degraded; calls wait in Starting and Backoff, and fail at once in Failed and Stopped.
const (
	Starting State = iota + 1
	Ready
	Degraded // it has missed a health check, or a call has not returned in time
	Backoff  // it ended, and is started again
	Failed   // it ended too often and starts again slowly, or what is wrong needs an administrator, and it waits for Restart
	Stopped
)

func (s State) String() string {
	return [...]string{"unknown", "starting", "ready", "degraded", "backoff", "failed", "stopped"}[min(int(s), 6)]
}

// Status is how a plugin is, for `weft plugin list`, metrics and the log.
type Status struct {
	Kind    Kind
	Name    string
	State   State
	Since   time.Time // when it came into State
	Program string    // path; empty in the daemon
	PID     int       // 0: there is no process
	Version string    // the plugin's own
	Starts  int       // lives begun since the daemon's start
	Deaths  int       // lives that ended by themselves or failed to begin, since the daemon's start
	Limit   string    // what bounds its process; empty: there is none
	Why     string    // what went wrong last; empty: nothing since it became ready
}

// Limits are a host's bounds. Zero values are replaced by those of DefaultLimits.
type Limits struct {
	Start       time.Duration // from exec to the handshake
	Configure   time.Duration // each of info, schema and configure
	Call        time.Duration // a call that comes without a deadline
	Grace       time.Duration // what a Create or Destroy gets beyond its caller's deadline before its process is killed
	Patience    time.Duration // how long a call waits for a plugin that starts anew
	Calls       int           // in flight in a plugin in the daemon, those that ignore their deadline included
	HealthEvery time.Duration
	Health      time.Duration // one health check
	Misses      int           // in a row, and the process is killed
	Drain       time.Duration // calls in flight at a stop
	Kill        time.Duration // from being told to end to SIGKILL, and again to giving it up
	Backoff     time.Duration // before the first restart; doubled for each further one within Window
	BackoffMost time.Duration
	Deaths      int // within Window, and the plugin has Failed: it starts again each Window/Deaths
	Window      time.Duration
}

// DefaultLimits suit a compute node.
var DefaultLimits = Limits{
	Start: 10 * time.Second, Configure: 10 * time.Second, Call: 60 * time.Second, Grace: 2 * time.Second, Patience: 3 * time.Second, Calls: 256,
	HealthEvery: 30 * time.Second, Health: 2 * time.Second, Misses: 2, Drain: 10 * time.Second, Kill: 3 * time.Second,
	Backoff: 200 * time.Millisecond, BackoffMost: 2 * time.Minute, Deaths: 5, Window: 10 * time.Minute,
}
