package hook

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
)

// MostAway is the longest time that a hook waits for an agent that does not listen.
const MostAway = 15 * time.Second

// Away is how long a hook whose phase has a limit waits for an agent that does not listen; the rest of the limit is for
// its answer. An agent restarts when it crashes or is upgraded, and a hook that fails meanwhile drains its node or
// ends its job. So this outlasts RestartSec= of deploy/systemd/weft-agent.service and the agent's start, for each
// phase of each scheduler with its default limit: TestAgentRestart of cmd/weft compares them. A limit below a second
// is that of a hook that stops its scheduler's server, and waits for no restart.
func Away(limit time.Duration) time.Duration {
	if limit < time.Second {
		return limit / 4
	}
	return min(MostAway, limit-limit/4)
}

// The first pause between two tries, and the longest.
const (
	firstPause = 20 * time.Millisecond
	mostPause  = 500 * time.Millisecond
)

// Again makes a call, and makes it again while its error is core.ServerAway: its agent restarts. It gives up after
// Away(limit) without an agent. The time begins again after a call that an agent took and then left.
func Again(ctx context.Context, limit time.Duration, call func() error) error {
	seen := time.Now()
	for wait := firstPause; ; wait = min(2*wait, mostPause) {
		began := time.Now()
		err := call()
		if e := core.AsError(err); e == nil || e.Reason != core.ServerAway {
			return err
		}
		if ended := time.Now(); ended.Sub(began) > mostPause {
			seen, wait = ended, firstPause
		}
		if Away(limit) < time.Since(seen)+wait {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}
