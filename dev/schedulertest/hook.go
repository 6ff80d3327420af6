package schedulertest

import (
	"math/rand/v2"

	"github.com/weft-hpc/weft/core"
)

// Hook is one run of a Prolog (core.Prepare) or an Epilog (core.CleanUp) on a node.
type Hook struct {
	Node   string
	Action core.Action
	Key    core.Key // with the count that the hook's environment shows
	UID    uint32
	Run    core.Run // which run it is really for; a hook does not know
}

func (j *Job) hooks(a core.Action, run core.Run, shown uint32, hosts []string) []Hook {
	out := make([]Hook, len(hosts))
	for i, h := range hosts {
		k := run.Key
		k.Generation = shown
		out[i] = Hook{Node: h, Action: a, Key: k, UID: run.UID, Run: run}
	}
	return out
}

// Muddle does to hooks what schedulers and nodes do: some come twice, some never. Late ones, and an Epilog before its Prolog has ended, are a matter of
// when the caller runs them.
func Muddle(hooks []Hook, r *rand.Rand) []Hook {
	out := make([]Hook, 0, len(hooks)+1)
	for _, h := range hooks {
		switch r.IntN(12) {
		case 0:
			out = append(out, h, h)
		case 1: // slurmd was killed, or the hook's time was over before it began
		default:
			out = append(out, h)
		}
	}
	return out
}
