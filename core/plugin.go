package core

import "context"

// NICDriver creates, reads and removes CXI services on the NICs of one node. One call is a batch over all of them.
// Implementations are safe for concurrent use and obey the context's deadline. Never add a method here: add an optional
// interface.
type NICDriver interface {
	// Devices lists the NICs with their free resources.
	Devices(ctx context.Context) ([]Device, error)
	// Services reads every service from every NIC, the system's too. It never answers from memory.
	Services(ctx context.Context) ([]Service, error)
	// Create returns one Created for each spec, in order, read back from the NIC. It does not roll back. It returns an
	// existing service that equals its spec and creates no second one. Weft compares what it returns with Services before
	// it starts a job. The error is for a call that failed as a whole.
	Create(ctx context.Context, specs []ServiceSpec) ([]Created, error)
	// Destroy returns one error for each service, in order. The error is nil when the service is gone, also when it was
	// gone before. It is Busy, at once, while an application uses the service. It is Conflict when VNIs or owner differ
	// from those on the NIC.
	Destroy(ctx context.Context, services []Service) ([]error, error)
}

// FabricBackend reserves multicast addresses at a fabric manager. Every call is idempotent by Key.
type FabricBackend interface {
	Reserve(ctx context.Context, key Key, addresses int) (Collective, error)
	ReleaseStep(ctx context.Context, key Key, step string) error
	Release(ctx context.Context, key Key) error
	// Collectives lists all reservations, for the sweep of orphans.
	Collectives(ctx context.Context) (Fabric, error)
}

// Hooks translates between a scheduler's hooks and Weft. It has no effect and no state.
type Hooks interface {
	Parse(ctx context.Context, call HookCall) (Intent, error)
	Render(ctx context.Context, call HookCall, outcome Outcome) (HookReply, error)
}

// Scheduler is the part of an adapter that calls its scheduler. It runs on the server, or with an agent on the
// scheduler's host. A method may return Unsupported.
type Scheduler interface {
	// Describe returns the facts about a job; Weft calls it once for each job. The Run comes from the scheduler, never
	// from the hook. It returns Job.Gone, or NotFound, for a generation that has ended or is unknown. A note is of
	// Hooks.Parse; it is empty where Weft asks by itself.
	Describe(ctx context.Context, key Key, note []byte, from Peer) (Job, error)
	// Watch calls tell when it asks, then with the complete answer, then with changes, until ctx ends. An error of tell
	// ends it.
	Watch(ctx context.Context, tell func(Jobs) error) error
	// Fail ends a job whose failure has scope job or system, and shows the reason to its user.
	Fail(ctx context.Context, key Key, reason string) error
	// Drain takes a node out of service.
	Drain(ctx context.Context, node, reason string) error
}

// Configurable is a plugin that has its own block in config.hcl.
type Configurable interface {
	Schema() Schema
	Configure(ctx context.Context, values Values) error
}

// Checker is a plugin that can look for faults.
type Checker interface {
	Check(ctx context.Context) ([]Finding, error)
}

// Finding is one result of a Checker.
type Finding struct {
	Severity Severity
	What     string
	Evidence string
	Remedy   string   // the command or setting that fixes it
	NICs     []string // that have it, sorted; none where it is of no NIC, or of a plugin that does not say
}

// Severity of a Finding.
type Severity uint8

// Severities, worst last.
const (
	Good Severity = iota
	Notice
	Warning
	Critical
)

// Authority is the server for an agent: rpc's client, or the server itself in dev and in tests.
type Authority interface {
	// Reserve joins node to the job's reservation; the first call makes the reservation. It is idempotent by (Key, node)
	// and durable when it returns.
	Reserve(ctx context.Context, node string, ask Intent, peer Peer) (Grant, error)
	// Attend reports to the server and passes its orders to told, until ctx ends or the connection breaks. The client of
	// rpc makes one call of told at a time and none after it returns; told may wait. The server itself decides nothing
	// while a call of told lasts, makes several at once, and may make more shortly after it returns: there told must
	// return at once.
	Attend(ctx context.Context, node string, first Report, next <-chan Report, told func(Orders)) error
}

// Succession is an Authority that is one of several servers.
type Succession interface {
	// Await returns once another server leads than the one that showed seen: its head has a higher epoch, or is of another
	// store. Until then it waits, or until ctx ends.
	Await(ctx context.Context, node string, seen Head) (Head, error)
}
