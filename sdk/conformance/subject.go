package conformance

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Subject is the plugin that is to be verified.
type Subject struct {
	Name string
	// Open makes one more instance of it, not configured yet: a value, or a process. Instances stand beside each other on the same NICs, scheduler or fabric
	// manager.
	Open func(ctx context.Context) (*Instance, error)
}

// Instance is one life of a plugin. What it has no half for is nil; a half that is there may still answer Unsupported.
type Instance struct {
	NIC       core.NICDriver
	Fabric    core.FabricBackend
	Hooks     core.Hooks
	Phased    core.Phased
	Parser    core.RequestParser
	Scheduler core.SchedulerClient
	Checker   core.Checker

	Schema    func(ctx context.Context) (core.Schema, error) // nil: it has no block
	Configure func(ctx context.Context, values core.Values) error
	Process   *Process // nil: it is a value in this process
	Close     func()   // nil: there is nothing to end
}

// Process is what can be done to a plugin's program beside its calls. The package host/probe starts one as a daemon does.
type Process struct {
	Handshake string // the line that it printed
	Folder    string // PLUGIN_UNIX_SOCKET_DIR
	Info      func(ctx context.Context) (Info, error)
	Health    func(ctx context.Context) error
	Drain     func(ctx context.Context) error
	Large     func(ctx context.Context, bytes int) error // asks for Info with a message of that size
	Signal    func(os.Signal) error
	Hang      func()          // ends its standard input
	Done      <-chan struct{} // closed when it is dead
	Logged    func() string   // what it has written so far
}

// Info is what a plugin says of itself.
type Info struct {
	Name, Kind, Version string
	Services            []string
	Abilities           []core.Ability
}

// TestVNIs are for NICs that belong to a test alone.
var TestVNIs = []core.VNI{65530, 65531, 65532, 65533, 65534}

// Site is where the suite runs: what it may touch and what it is given. The zero value makes no service.
type Site struct {
	// VNIs are what services of the suite may name: those of no pool, no job and no service, five of them for every case. Without any, no service is made.
	VNIs []core.VNI
	// Values are the plugin's block; what it does not name has the default of the plugin's schema.
	Values core.Values
	// Block, when set, makes the block's values of the plugin's schema instead of Values.
	Block func(core.Schema) (core.Values, error)
	// InMemory says that a driver's NICs, or a backend's fabric, exist in each instance's memory alone, so that no second one can see them.
	InMemory bool
	// Expendable says that nothing on this machine matters: the suite then tries to remove the system's services, which a wrong driver would do.
	Expendable bool
	// Hold is an application of the service's owner: it holds the service in use until release is called. nil: no case about services in use.
	Hold func(ctx context.Context, s core.Service) (release func(), err error)
	// Calls are hook calls as the adapter's scheduler makes them, which Parse must understand.
	Calls []core.HookCall
	// Job is a job that the scheduler runs now; nil: none that the suite may know of.
	Job *Job
	// Patience is how long one case may take; 0: 30 s.
	Patience time.Duration
	// Logged, of a value, is what it has logged so far; nil: nobody can tell.
	Logged func() string
}

// Job is a job for a scheduler's cases.
type Job struct {
	core.Run
	Note   []byte    // what the adapter's Parse leaves of it
	From   core.Peer // who asks about it; the zero value is root
	Doomed bool      // the suite may end it
}

// Value is a Subject of values: open makes one, as a plugin's main does. Instances must see the same NICs, or Site.InMemory says that they do not.
func Value(open func() any) Subject {
	v := open()
	return Subject{Name: fmt.Sprintf("%T", v), Open: func(context.Context) (*Instance, error) { return InstanceOf(open()), nil }}
}

// InstanceOf is a value's halves.
func InstanceOf(v any) *Instance {
	i := &Instance{}
	i.NIC, _ = v.(core.NICDriver)
	i.Fabric, _ = v.(core.FabricBackend)
	i.Hooks, _ = v.(core.Hooks)
	i.Phased, _ = v.(core.Phased)
	i.Parser, _ = v.(core.RequestParser)
	if s, ok := v.(core.Scheduler); ok {
		i.Scheduler = core.Dispatcher{Of: s}
	}
	i.Checker, _ = v.(core.Checker)
	if c, ok := v.(core.Configurable); ok {
		i.Schema = func(context.Context) (core.Schema, error) { return c.Schema(), nil }
		i.Configure = c.Configure
	}
	return i
}
