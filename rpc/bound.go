package rpc

import "google.golang.org/grpc"

// Bounds of one message, in bytes. A plugin is the daemon's own child; a node is not trusted with the server's memory.
const (
	MaxPlugin    = 64 << 20 // between a daemon and its plugin, either way
	MaxAuthority = 4 << 20  // between an agent and the server, either way
)

// Bounds of what is sent in parts, in bytes of its messages together.
const (
	maxWatched   = 256 << 20 // an answer of a scheduler's adapter: a million jobs
	maxForwarded = 32 << 20  // the same, forwarded by a node
	partSize     = 512 << 10 // where a part ends
)

// Bounds of lists.
const (
	maxJobs       = 1 << 20  // that a scheduler knows
	maxPart       = 64 << 10 // jobs in one part
	maxServices   = 4096     // of one node's NICs
	maxDevices    = 256      // NICs of one node
	maxHeld       = 4096     // runs of one node
	maxRuns       = 64 << 10 // that orders, an ask or a sweep name
	maxOnNIC      = 64 << 10 // VNIs of a service that is not ours
	maxGroups     = 64 << 10 // of a user: NGROUPS_MAX
	maxPlacements = 64 << 10
	maxTexts      = 1024 // warnings, findings, complaints
	maxComplaints = 128  // a status's details are headers, 16 MiB of them at most
	maxItems      = 4096 // arguments, variables, fields, values
	maxDepth      = 16   // blocks in blocks
	maxPhases     = 64   // of a scheduler's hooks
	maxAbilities  = 64   // of a plugin
	maxTold       = 64   // schedulers that orders tell of
	maxNames      = 256  // of variables that a phase reads
)

// Bounds of texts, in bytes.
const (
	maxDevice  = 64
	maxWord    = 256       // a user's name, a step, a boot id
	maxText    = 16 << 10  // for people: cut where it is longer
	maxMessage = 512       // a gRPC status's own, beside its details
	maxURL     = 4096      // and a token
	maxHosts   = 1 << 20   // a hostlist
	maxValue   = 128 << 10 // an argument or variable: the kernel's MAX_ARG_STRLEN
)

// What may be on its way to or from a plugin in one call and in all of them, in bytes. Left to itself gRPC measures the line with a ping for each message
// that comes alone, which makes a short call twice the work on both sides.
const (
	callWindow   = 1 << 20
	pluginWindow = 4 << 20
)

// pluginWorkers are goroutines that wait for calls of a plugin, since the stack of a new one grows several times in a
// call. Each stream that lasts takes one, and a call that finds none has a new one.
const pluginWorkers = 8

// PluginOptions are the bounds of a gRPC server that serves plugins' services.
func PluginOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.NumStreamWorkers(pluginWorkers),
		grpc.MaxRecvMsgSize(MaxPlugin), grpc.MaxSendMsgSize(MaxPlugin),
		grpc.StaticStreamWindowSize(callWindow), grpc.StaticConnWindowSize(pluginWindow),
	}
}

// PluginDial is how a connection to a plugin is made.
func PluginDial() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithStaticStreamWindowSize(callWindow), grpc.WithStaticConnWindowSize(pluginWindow)}
}

// AuthorityOptions are the bounds of a gRPC server that serves Authority to agents.
func AuthorityOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(MaxAuthority), grpc.MaxSendMsgSize(MaxAuthority)}
}

// The clients' bounds go with every call, whatever the connection was made with.
var (
	pluginBound    = []grpc.CallOption{grpc.MaxCallRecvMsgSize(MaxPlugin), grpc.MaxCallSendMsgSize(MaxPlugin)}
	authorityBound = []grpc.CallOption{grpc.MaxCallRecvMsgSize(MaxAuthority), grpc.MaxCallSendMsgSize(MaxAuthority)}
)
