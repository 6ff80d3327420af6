package core

import "context"

// NICDriver makes, reads and removes CXI services on the NICs of one node. One call is a batch over all of them. Implementations are safe for concurrent
// use and obey the context's deadline. Never add a method here: add an optional interface.
type NICDriver interface {
	// Devices lists the NICs with what they have left now.
	Devices(ctx context.Context) ([]Device, error)
	// Services reads every service from every NIC, the system's too; nothing of it is remembered.
	Services(ctx context.Context) ([]Service, error)
	// Create answers one Created a spec, in order. There is no roll-back; a service equal to its spec that exists already is returned, not doubled; each
	// is read back from the NIC. The error is for a call that failed as a whole.
	Create(ctx context.Context, specs []ServiceSpec) ([]Created, error)
	// Destroy answers one error a service, in order: nil when it is gone, also when it already was; Busy at once while an application uses it; Conflict
	// when VNIs or owner are not those on the NIC.
	Destroy(ctx context.Context, services []Service) ([]error, error)
}

// FabricBackend reserves multicast addresses at a fabric manager. Every call is idempotent by Key.
type FabricBackend interface {
	Reserve(ctx context.Context, key Key, addresses int) (Collective, error)
	ReleaseStep(ctx context.Context, key Key, step string) error
	Release(ctx context.Context, key Key) error
	// Collectives is the truth, for the sweep of orphans.
	Collectives(ctx context.Context) (Fabric, error)
}

// Hooks is an adapter's half beside the hook: pure translation, with no effect and no state.
type Hooks interface {
	Parse(ctx context.Context, call HookCall) (Intent, error)
	Render(ctx context.Context, call HookCall, outcome Outcome) (HookReply, error)
}

// Scheduler is an adapter's other half, on the server or on an agent of a scheduler's host. A method may answer Unsupported.
type Scheduler interface {
	// Describe tells the facts of a job, once a job. Its Run must be the scheduler's truth, not the hook's claim. Job.Gone, or NotFound, when that
	// generation is over or unknown.
	Describe(ctx context.Context, key Key, note []byte, from Peer) (Job, error)
	// Watch tells that it asks, then the complete answer, then changes, for as long as ctx lives. An error of tell ends it.
	Watch(ctx context.Context, tell func(Jobs) error) error
	// Fail ends a job whose failure is of scope job or system, with the reason where its user sees it.
	Fail(ctx context.Context, key Key, reason string) error
	// Drain takes a node out of service.
	Drain(ctx context.Context, node, reason string) error
}

// Configurable is implemented by a plugin that has a block of its own in config.hcl.
type Configurable interface {
	Schema() Schema
	Configure(ctx context.Context, values Values) error
}

// Checker is implemented by a plugin that can look for trouble by itself.
type Checker interface {
	Check(ctx context.Context) ([]Finding, error)
}

// Finding is one result of a Checker.
type Finding struct {
	Severity Severity
	What     string
	Evidence string
	Remedy   string // the command or setting that mends it
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

// Authority is the server as an agent sees it: rpc's client, or the value itself in dev and in tests.
type Authority interface {
	// Reserve joins node to the job's reservation, made by the first that asks. Idempotent by (Key, node); durable when it returns.
	Reserve(ctx context.Context, node string, ask Intent, peer Peer) (Grant, error)
	// Attend reports to the server and is told its orders, until ctx ends or the connection breaks. told must not block for long.
	Attend(ctx context.Context, node string, first Report, next <-chan Report, told func(Orders)) error
}
