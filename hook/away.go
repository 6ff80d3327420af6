package hook

import "time"

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
