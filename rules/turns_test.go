package rules

import (
	"regexp"
	"testing"
)

// turn is a turn of phrase that stops a reader, as a pattern over one sentence, in an example and in plain English.
type turn struct {
	match  *regexp.Regexp
	before string
	after  string
}

var turns = []turn{
	// A clause where a noun belongs.
	{
		regexp.MustCompile(`^What [^?]*$`),
		"What no record explains is left alone.",
		"Weft leaves services without a record alone.",
	},
	{
		regexp.MustCompile(`^Who(ever)? [^?]*$`),
		"Who waits gets an answer soon.",
		"A caller that waits gets an answer soon.",
	},
	{
		regexp.MustCompile(`[:;] what\b`),
		"It removes its services; what cannot be removed is shown.",
		"It removes its services and shows those that remain.",
	},
	{
		regexp.MustCompile(`\b(is|are) what\b`),
		"Share is what a node gets on each NIC.",
		"Share is the limit of a node on each NIC.",
	},
	{
		regexp.MustCompile(`\b(of|to|for|by|from|with|in|on|about|against) what\b`),
		"It keeps a list of what it made.",
		"It keeps a list of the services that it made.",
	},
	{
		regexp.MustCompile(`\b(of|to|for|by|from|with) who\b`),
		"Lines are variables for who obeys one line each.",
		"Lines are variables for readers of one line each.",
	},
	{
		regexp.MustCompile(`\bwhat (came|comes|becomes|became) of\b`),
		"The file says what became of the job.",
		"The file says how the job ended.",
	},
	{
		regexp.MustCompile(`\b[Ww]ho(ever|mever|soever)\b`),
		"The token opens the service, whoever has it.",
		"The token opens the service for anyone who has it.",
	},
	{
		regexp.MustCompile(`\bhowever (many|much|often|long|soon|late|strange|old|small|large)\b`),
		"The answer is the same, however often it is asked for.",
		"The answer is the same each time.",
	},

	// The words turned about.
	{
		regexp.MustCompile(`^Of `),
		"Of changes only the last counts.",
		"Only the last change counts.",
	},
	{
		regexp.MustCompile(`\b([Nn]or|[Nn]either|[Ss]o) (is|are|does|do|can|may|has|was) (a|an|the|it|they|its)\b`),
		"A job cannot change it, nor does the node.",
		"Neither the job nor the node can change it.",
	},
	{
		regexp.MustCompile(`\b[Oo]nly (then|now|so) (is|are|does|do|can|may|has) `),
		"Only then is the VNI free.",
		"The VNI is free only then.",
	},
	{
		regexp.MustCompile(`\bof (its|their|his|our|your) own\b`),
		"Root has a socket of its own.",
		"Root has its own socket.",
	},
	{
		regexp.MustCompile(`\bof (the|an?|each|every|another) [\w-]+'s own\b`),
		"It is a fault of the node's own.",
		"It is the node's own fault.",
	},
	{
		regexp.MustCompile(`\b(has|have|had|holds?|keeps?|knows?|left) of (it|the|an?|its|them|each|every)\b`),
		"It removes all that the node holds of the job.",
		"It removes everything that the node holds for the job.",
	},
	{
		regexp.MustCompile(`\bthe one before\b`),
		"It replaces the one before.",
		"It replaces the previous file.",
	},
	{
		regexp.MustCompile(`\bof before\b`),
		"It clears the faults of before.",
		"It clears earlier faults.",
	},

	// The doer is missing.
	{
		regexp.MustCompile(`\b(is|are|was|were|be|been) told\b`),
		"The node is told that the job ended.",
		"The server tells the node that the job ended.",
	},
	{
		regexp.MustCompile(`\b(is|are|was|were|be|been) asked\b`),
		"The scheduler is asked for its jobs.",
		"Weft asks the scheduler for its jobs.",
	},
	{
		regexp.MustCompile(`\b(is|are|was|were|be|been) said\b`),
		"The reason is said once.",
		"Weft reports the reason once.",
	},
	{
		regexp.MustCompile(`\b(is|are) (not )?to (be|have|go|say|do|take|get)\b`),
		"The service is to go.",
		"Weft must remove the service.",
	},

	// A negative where a plain word stands.
	{
		regexp.MustCompile(`\b[Nn]obody\b`),
		"The VNI is nobody else's.",
		"The VNI belongs to no other job.",
	},
	{
		regexp.MustCompile(`\b([Ss]ome|[Aa]ny)body\b`),
		"Somebody has taken the name.",
		"Another process has taken the name.",
	},
	{
		regexp.MustCompile(`\bnowhere\b`),
		"A caller's claim is believed nowhere.",
		"Weft never trusts a caller's claim.",
	},
	{
		regexp.MustCompile(`\bso that (no|none|nothing)\b`),
		"The list is cut so that no file grows without end.",
		"The list is cut to a fixed length.",
	},
	{
		regexp.MustCompile(`\b(it|that|this|which|%s|%d|X|name|file|value) (is|was) no (?:[a-z]*[a-qs-z])\b`),
		"The path is a folder, and it is no socket.",
		"The path is a folder, not a socket.",
	},
	{
		regexp.MustCompile(`\b(it|that|which|%s) (is|are) none\b`),
		"The number is no VNI, or it is none of the pool.",
		"The number is not a VNI of the pool.",
	},
	{
		regexp.MustCompile(`\b(nothing|none|nobody) but\b`),
		"The client reads nothing but its socket.",
		"The client reads only its socket.",
	},
	{
		regexp.MustCompile(`\bfor want of\b`),
		"The NIC refuses the service for want of counters.",
		"The NIC has too few counters for the service.",
	},
	{
		regexp.MustCompile(`[;,] else\b`),
		"Root may see it; else it stays hidden.",
		"Only root may see it.",
	},

	// Words that are rare, or that mean something else to most.
	{
		regexp.MustCompile(`\bin (the|its|their|his) stead\b`),
		"It puts a file in the stead of the old one.",
		"It replaces the old file.",
	},
	{
		regexp.MustCompile(`\bbeside\b`),
		"The lock lies beside the store.",
		"The lock lies next to the store.",
	},
	{
		regexp.MustCompile(`\banew\b`),
		"The agent reads its NICs anew.",
		"The agent reads its NICs again.",
	},
	{
		regexp.MustCompile(`\b(the|its|each|their) begin\b`),
		"It asks at the begin of each session.",
		"It asks at the beginning of each session.",
	},
	{
		regexp.MustCompile(`\b(lest|whence|thence|hence|withal|albeit|whilst|upon|forth|for ever)\b`),
		"The VNI would be held for ever.",
		"The VNI would never be free again.",
	},
	{
		regexp.MustCompile(`\ball the same\b`),
		"The hook fails all the same.",
		"The hook still fails.",
	},
	{
		regexp.MustCompile(`\b([Mm]ends?|[Mm]ended|[Mm]ending)\b`),
		"The administrator mends the rule.",
		"The administrator fixes the rule.",
	},
	{
		regexp.MustCompile(`\bheed(s|ed|ing|ful)?\b`),
		"The call does not heed its deadline.",
		"The call ignores its deadline.",
	},

	// A picture that only its author sees.
	{
		regexp.MustCompile(`\b(desks?|doors?|shades?|dress(es|ed)?)\b`),
		"The server refuses the user at the door.",
		"The server refuses the user before it reads the call.",
	},
	{
		regexp.MustCompile(`\bstands? (twice|there|in|beside|at|here|on|before|after|behind)\b`),
		"The reason stands in the record.",
		"The record has the reason.",
	},
	{
		regexp.MustCompile(`\bheld? against\b`),
		"The answer is held against the store.",
		"Weft compares the answer with the store.",
	},
	{
		regexp.MustCompile(`\b(tells?|hears?|told|heard) of\b`),
		"The server tells of each reload.",
		"The server reports each reload.",
	},
	{
		regexp.MustCompile(`\b(go|goes|going|gone|went) by (when|where|without|a|the|what)\b`),
		"The hook goes by when the agent is away.",
		"The hook lets the job run without Weft when the agent is away.",
	},
	{
		regexp.MustCompile(`\b(rested|resting|VNIs? rests?|it rests|to rest)\b`),
		"The VNI rests for a minute.",
		"The VNI is in quarantine for a minute.",
	},
	{
		regexp.MustCompile(`\b(scheduler|adapter|plugin|node)'?s'? (other )?hal(f|ves)\b`),
		"The scheduler's half runs on the node.",
		"The scheduler plugin runs on the node.",
	},
}

func TestTurns(t *testing.T) {
	for _, turn := range turns {
		if !turn.match.MatchString(turn.before) {
			t.Errorf("%v does not find %q", turn.match, turn.before)
		}
		for _, other := range turns {
			if found := other.match.FindString(turn.after); found != "" {
				t.Errorf("the plain form %q has %q", turn.after, found)
			}
		}
	}
}
