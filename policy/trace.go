package policy

import "github.com/weft-hpc/weft/core/engine"

// Trace is how a decision came about, as plain data: what is shown as text and what is written as JSON are both made of it.
type Trace struct {
	Policy     string      `json:"policy"`         // hash
	Deny       *Denial     `json:"deny,omitempty"` // nil: granted
	Attributes []Attribute `json:"attributes"`     // of the decision, in a fixed order
	Shares     []Share     `json:"shares,omitempty"`
	Blocks     []Block     `json:"blocks"` // all rules, denies and quotas, in the order that they are read
	Warnings   []string    `json:"warnings,omitempty"`
	Trials     []string    `json:"trials,omitempty"` // what enforce = "dry_run" would have said

	Decision engine.Decision `json:"-"` // what Decide gives for the same facts
}

// Denial is why there is no grant.
type Denial struct {
	Reason string `json:"reason"`
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
	By     *Place `json:"by,omitempty"` // the block that refused; nil: none did; the request went beyond Attributes, or a limit could not be evaluated
}

// Place is a line of a policy file, and the block there.
type Place struct {
	Kind string `json:"kind"`           // top, rule, deny, quota, limits; "built in" when no file says it
	Name string `json:"name,omitempty"` // of the block
	File string `json:"file,omitempty"` // without its folder
	Line int    `json:"line,omitempty"`
}

// Attribute is one attribute of the decision: traffic_classes, limits, vnis, share, min_nics, floor, collectives, on_failure.
type Attribute struct {
	Name     string    `json:"name"`
	Value    string    `json:"value,omitempty"` // what the job gets; empty when it is denied
	Asked    string    `json:"asked,omitempty"` // what its user asked for
	Set      Setting   `json:"set"`
	Replaced []Setting `json:"replaced,omitempty"` // what Set replaced, newest first
}

// Setting is an attribute as it is written somewhere.
type Setting struct {
	Place
	Text string `json:"text"` // of the file
}

// Share is what the nodes with this many cores get on each NIC.
type Share struct {
	Hosts     []string   `json:"hosts"` // hostlists
	Nodes     int        `json:"nodes"`
	Cores     int        `json:"cores"`           // of the job on each of them
	Depth     int        `json:"depth,omitempty"` // that stood in for Cores
	Resources []Resource `json:"resources"`
}

// Resource is a limit of one NIC resource.
type Resource struct {
	Name     string `json:"name"`
	Reserved uint16 `json:"reserved"`
	Max      uint16 `json:"max"`
	Floor    uint16 `json:"floor,omitempty"`
	Asked    bool   `json:"asked,omitempty"` // the user asked for it
	Set      Place  `json:"set"`
}

// Outcome of a block.
type Outcome string

// The outcomes.
const (
	Matched   Outcome = "matched"
	Unmatched Outcome = "not matched"
	Failed    Outcome = "failed"
)

// Block is a rule, a deny or a quota, and what came of it.
type Block struct {
	Place
	Enforce string     `json:"enforce,omitempty"` // deny, warn, dry_run; of denies and quotas
	Outcome Outcome    `json:"outcome"`
	Why     string     `json:"why"`               // in one line, from Lists and When
	Ended   bool       `json:"ended,omitempty"`   // it refused the job
	Unasked bool       `json:"unasked,omitempty"` // an earlier deny had ended it; Outcome is what would have come of it
	Sets    []string   `json:"sets,omitempty"`    // what it set, if only until a later rule replaced it
	Lists   []List     `json:"lists,omitempty"`   // of its match
	When    *Condition `json:"when,omitempty"`
	Bounds  []Bound    `json:"bounds,omitempty"` // a quota's that holds for the job
}

// List is one list of a match.
type List struct {
	Name string   `json:"name"` // users, groups, accounts, queues, schedulers, nodes
	Hit  bool     `json:"hit"`
	Job  []string `json:"job"`  // what the job has
	Some []string `json:"some"` // the first of the list; of nodes the hostlist
	More int      `json:"more,omitempty"`
}

// Bound is what a quota says of the job. What is in use the engine knows, not policy.
type Bound struct {
	Unit    string `json:"unit"` // vnis, addresses
	Subject string `json:"subject"`
	Most    int    `json:"most"`
}

// Condition is an expression and what it gave. It has Parts where it is made of others by && || ! or ( ), and Reads where it is not.
type Condition struct {
	Text   string      `json:"text"`
	Line   int         `json:"line"`
	Column int         `json:"column"` // in characters, from 1
	Value  string      `json:"value,omitempty"`
	Error  string      `json:"error,omitempty"` // instead of Value
	Join   string      `json:"join,omitempty"`  // && || ! ( : how Parts make it
	Parts  []Condition `json:"parts,omitempty"`
	Reads  []Seen      `json:"reads,omitempty"`
}

// Seen is a variable that a condition looked at.
type Seen struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
