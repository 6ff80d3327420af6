package core

import "context"

// Option is one thing that a user can ask of the network, as the users of one scheduler write it.
type Option struct {
	Names   []string // without a value, 1 to 8; the first is the usual one, the others mean the same
	Value   string   // the form of its value, for people: 1..4, CLASS:CLASS; empty where it needs none
	Example string   // the option with a value that ParseRequest takes
	Help    string   // what it does, in one sentence; of an idle one, why it has no effect
	Idle    bool     // ParseRequest takes it and warns that it has no effect
}

// RequestParser is implemented by Hooks that read a user's options without a job. `weft policy explain`
// and shell completion ask it. It has no effect, keeps no state and asks no scheduler.
type RequestParser interface {
	// Options lists what a user can ask for, at most 256 options.
	Options(ctx context.Context) ([]Option, error)
	// ParseRequest reads options as a user gives them to the scheduler's own command. Describe has the same Request for a
	// job with these options. BadRequest names an option that it does not know, or a value that is out of range.
	ParseRequest(ctx context.Context, given []string) (Request, error)
}
