package core

import (
	"context"
	"time"
)

// HookPhase is what weft-hook must know of one phase of a scheduler's hooks before it calls: an adapter's data, so that weft-hook knows no scheduler.
type HookPhase struct {
	Name      string        // the scheduler's own word, as HookCall.Phase has it
	Action    Action        // what Parse makes of it
	Root      bool          // its hook runs as root and calls at root's socket; else it runs as the job's user and calls at the users'
	Variables []string      // what Parse reads of the hook's environment; the rest of it is not sent
	Job       []string      // variables that may hold the job's id; the first that is set does. Empty: only Parse can tell
	Step      []string      // Environment: the same for the step's id; one that is not set means that there is none
	Stdin     int           // bytes of standard input that Parse reads at most; 0: it is not read
	Limit     time.Duration // from exec to exit; below the scheduler's own
}

// Phased is implemented by Hooks that weft-hook may call for.
type Phased interface {
	Phases(ctx context.Context) ([]HookPhase, error)
}
