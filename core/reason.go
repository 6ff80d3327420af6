package core

// Class says whom a failure belongs to. Only ClassNode ever takes a node out of service: a refused user must never cost a site a node.
type Class uint8

// The classes of failure.
const (
	ClassNone   Class = iota // not a job's failure: an operator's call, a programmer's mistake
	ClassJob                 // the job asked for what it cannot have
	ClassSystem              // Weft cannot serve now; the job may come again
	ClassNode                // this node is at fault
)

func (c Class) String() string { return [...]string{"none", "job", "system", "node"}[min(int(c), 3)] }

// Reason is why, in one stable word.
type Reason string

// The reasons. docs/errors.md explains each; metrics count by them.
const (
	PolicyDenied Reason = "policy-denied"
	PolicyFault  Reason = "policy-fault"
	BadRequest   Reason = "bad-request"
	OverQuota    Reason = "over-quota"
	BelowFloor   Reason = "below-floor"
	JobLimit     Reason = "job-limit"
	JobUnknown   Reason = "job-unknown"
	JobEnded     Reason = "job-ended"
	NotPlaced    Reason = "not-placed"
	NoRecord     Reason = "no-record"

	PoolEmpty     Reason = "pool-empty"
	ServerAway    Reason = "server-away"
	Recovering    Reason = "recovering"
	StoreFailed   Reason = "store-failed"
	SchedulerAway Reason = "scheduler-away"
	Overloaded    Reason = "overloaded"
	TimedOut      Reason = "timed-out"
	NodeAway      Reason = "node-away"
	NodeDrained   Reason = "node-drained"
	Cancelled     Reason = "cancelled"

	NICMissing  Reason = "nic-missing"
	NICFailed   Reason = "nic-failed"
	NICShort    Reason = "nic-short"
	NICConflict Reason = "nic-conflict"
	ServiceBusy Reason = "service-busy"
	ServiceLeft Reason = "service-left"
	DriverAway  Reason = "driver-away"

	BadCall       Reason = "bad-call"
	NotAllowed    Reason = "not-allowed"
	NotThere      Reason = "not-there"
	NotSupported  Reason = "not-supported"
	BadConfig     Reason = "bad-config"
	BadVersion    Reason = "bad-version"
	StoreLocked   Reason = "store-locked"
	StoreCorrupt  Reason = "store-corrupt"
	StoreNewer    Reason = "store-newer"
	InternalFault Reason = "internal"
)

// About is what is known of a Reason in general.
type About struct {
	Reason Reason
	Code   Code
	Class  Class
	Mean   string // what it means
	Mend   string // what to do about it, where that is the same every time
}

var reasons = []About{
	{PolicyDenied, Denied, ClassJob, "a deny of the site's policy matched the job", "ask for less, or ask the site's administrators to change the policy"},
	{PolicyFault, Denied, ClassJob, "a rule of the policy could not be evaluated for the job, so it is denied", "administrators: mend the rule that is named"},
	{BadRequest, Invalid, ClassJob, "the job's network options are not understood", "correct the option that is named"},
	{OverQuota, Denied, ClassJob, "the job's user, account, queue or scheduler already holds all that its quota allows", "wait for other jobs to end"},
	{BelowFloor, Exhausted, ClassJob, "the NICs have less left than the floor that policy sets", "ask for less, or for nodes of the job's own"},
	{JobLimit, Denied, ClassJob, "the user has as many jobs on this node as the local scheduler allows", "wait for one of them to end"},
	{JobUnknown, NotFound, ClassJob, "the scheduler does not know this job", ""},
	{JobEnded, Conflict, ClassJob, "this run of the job is over; a late prepare of it gets nothing", ""},
	{NotPlaced, Denied, ClassJob, "the scheduler has not placed the job on this node", ""},
	{NoRecord, NotFound, ClassJob, "this node holds nothing for the job, so a task of it would run without isolation", "start the job again; if it recurs, see the agent's log for the job's prepare"},
	{PoolEmpty, Exhausted, ClassSystem, "every VNI of the pool is in use, held or in quarantine", "see `weft vnis` for who holds them; enlarge the pool in config.hcl"},
	{ServerAway, Unavailable, ClassSystem, "the Weft server cannot be reached", "see `weft status` on the server's host"},
	{Recovering, Unavailable, ClassSystem, "the server's store is new, imported or older than what nodes have seen; it grants nothing until every node has reported", "see `weft nodes` for those that are missing; `weft recover --without NODES` goes on without them"},
	{StoreFailed, Unavailable, ClassSystem, "the server cannot write its store", "see the server's log; free disk space or mend the disk"},
	{SchedulerAway, Unavailable, ClassSystem, "the scheduler does not answer questions about its jobs", "see whether the scheduler's controller runs"},
	{Overloaded, Unavailable, ClassSystem, "more calls are waiting than the bound allows", "try again in a moment"},
	{TimedOut, Timeout, ClassSystem, "the work did not end within its time limit", "try again; if it recurs, see `weft status`"},
	{NodeAway, Unavailable, ClassSystem, "the node's agent has not reported to the server since one of them started", "see whether the agent runs and reaches the server"},
	{NodeDrained, Unavailable, ClassSystem, "the node is drained in Weft", "`weft resume NODE` when it is mended"},
	{Cancelled, Unavailable, ClassSystem, "a clean-up or the caller's end cancelled the prepare", ""},
	{NICMissing, Unavailable, ClassNode, "the node has fewer NICs than its accepted inventory or than policy's min_nics", "mend the NIC, or `weft node accept` if this is how the node is now"},
	{NICFailed, Unavailable, ClassNode, "a NIC did not make, read or remove a service", "see the kernel's log on the node"},
	{NICShort, Exhausted, ClassNode, "a NIC has too little left of a resource, even after the request was fitted", "see `weft services` on the node for who holds it"},
	{NICConflict, Conflict, ClassNode, "a service on the NIC is not the one that was made, or holds a VNI of this job", "`weft services` shows it; `weft clean` removes orphans"},
	{ServiceBusy, Busy, ClassNode, "an application still uses the service, or its queues have not drained", "end the application that holds it; the node goes on trying"},
	{ServiceLeft, Busy, ClassNode, "a service could not be removed", "see `weft services` on the node"},
	{DriverAway, Unavailable, ClassNode, "the NIC driver plugin does not answer", "see the agent's log"},
	{BadCall, Invalid, ClassNone, "the call itself is wrong", ""},
	{NotAllowed, Denied, ClassNone, "the caller may not do this", ""},
	{NotThere, NotFound, ClassNone, "there is no such thing", ""},
	{NotSupported, Unsupported, ClassNone, "this plugin or this release cannot do it", ""},
	{BadConfig, Invalid, ClassNone, "config.hcl or a policy file is wrong", ""},
	{BadVersion, Unsupported, ClassNone, "the two sides speak different versions", "upgrade in the order server, agents, hooks"},
	{StoreLocked, Conflict, ClassNone, "another process has the store open", ""},
	{StoreCorrupt, Corrupt, ClassNone, "the store's file is damaged", "restore it with `weft store import` from an export, or move it away: the nodes' records bring live reservations back"},
	{StoreNewer, Unsupported, ClassNone, "the store was written by a newer release", "use that release, or export with it and import here"},
	{InternalFault, Internal, ClassSystem, "Weft is at fault", "report it with the log's lines of this call"},
}

var byReason = func() map[Reason]*About {
	m := make(map[Reason]*About, len(reasons))
	for i := range reasons {
		m[reasons[i].Reason] = &reasons[i]
	}
	return m
}()

// Reasons lists every Reason, for docs/errors.md.
func Reasons() []About { return append([]About(nil), reasons...) }

// Code of the reason; Internal for one that is not known.
func (r Reason) Code() Code {
	if a := byReason[r]; a != nil {
		return a.Code
	}
	return Internal
}

// Class of the reason; ClassSystem for one that is not known, which never drains a node.
func (r Reason) Class() Class {
	if a := byReason[r]; a != nil {
		return a.Class
	}
	return ClassSystem
}

// Mend is what to do about it in general.
func (r Reason) Mend() string {
	if a := byReason[r]; a != nil {
		return a.Mend
	}
	return ""
}
