package core

import (
	"context"
	"time"
)

// HookPhase describes one phase of a scheduler's hooks to weft-hook, which knows no scheduler itself.
// The adapter provides it.
type HookPhase struct {
	Name   string // the scheduler's own word, as in HookCall.Phase
	Action Action // the Action that Parse returns
	// Root says that the hook runs as root and connects to root's socket.
	// Otherwise it runs as the job's user and connects to the users' socket.
	Root      bool
	Variables []string // environment variables that Parse reads; weft-hook sends no other
	Job       []string // variables that may hold the job's id; the first that is set counts. Empty: only Parse knows
	Step      []string // Environment: variables that may hold the step's id; none set means no step
	// First are variables that are 0 in the job's first task, to which an Environment tells the job's warnings. All but
	// the first of them may be unset there. Empty: the adapter tells no task.
	First []string
	// Asks are variables by which a step's user asks for the step alone. A task whose step has one calls the agent.
	Asks  []string
	Stdin int           // how many bytes of standard input Parse reads at most; 0: none
	Limit time.Duration // from exec to exit; below the scheduler's own
}

// Phased is implemented by Hooks that weft-hook may call for.
type Phased interface {
	Phases(ctx context.Context) ([]HookPhase, error)
}
